// Counted assignments and the inertia of labels, shared by all variants of k-means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/backend.h"

namespace kith {

/// Throws Error(internal) unless the counts add up to all rows.
void check_counts(const std::vector<std::int64_t>& counts, const DataPlan& plan);

/// Assigns all rows to centroids (k, d) and checks the counts.
Assignment assign(Points& points, const DataPlan& plan, MatrixView<const double> centroids);

/// The same, and updates the sums in the same pass over the rows.
Assignment assign_and_sum(Points& points, const DataPlan& plan, MatrixView<const double> centroids, ClusterSums& sums);

/// The inertia of labels: total and per cluster.
struct Inertia {
  std::vector<double> per_cluster;  // (k)
  double total = 0.0;
  double rounding = 0.0;  // bound of the error of `total` from the grid of the sums
};

/// An assignment and its inertia.
struct MeasuredAssignment {
  Assignment assignment;
  Inertia inertia;
};

/// assign() and measure() in one pass over the rows. sums: updated as well, unless null.
MeasuredAssignment assign_and_measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                                      ClusterSums* sums = nullptr);

/// The inertia of the labels of the last assignment, which was to these centroids (k, d).
Inertia measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids);

/// The inertia of any labels that the points hold. counts: (k) rows of each label.
Inertia measure_labels(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                       std::span<const std::int64_t> counts);

}  // namespace kith
