// What is done to the rows in every kind of k-means: they are assigned and counted, and their inertia is measured.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"

namespace kith {

/// Throws Error(internal) unless the counts add up to all rows.
void check_counts(const std::vector<std::int64_t>& counts, const DataPlan& plan);

/// One assignment of all rows to centroids (k, d), counted.
Assignment assign(Points& points, const DataPlan& plan, MatrixView<const double> centroids);

/// The inertia of labels: total and per cluster.
struct Inertia {
  std::vector<double> per_cluster;  // (k)
  double total = 0.0;
  double rounding = 0.0;  // what rounding to the grid of the inertia sums may have taken
};

/// Of the labels that an assignment to these centroids (k, d) left in the points.
Inertia measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids);

/// Of any labels that the points hold; counts: (k) rows of each.
Inertia measure_labels(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                       std::span<const std::int64_t> counts);

}  // namespace kith
