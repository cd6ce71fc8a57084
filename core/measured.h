// What is done to the rows in every kind of k-means: they are assigned and counted, and their inertia is measured.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"

namespace kith {

/// Throws Error(internal) unless the counts add up to all rows.
void check_counts(const std::vector<std::int64_t>& counts, const DataPlan& plan);

/// One assignment of all rows to centroids (k, d), counted.
Assignment assign(Points& points, const DataPlan& plan, MatrixView<const double> centroids);

/// The inertia of the labels that the points hold: total and per cluster.
struct Measured {
  std::vector<double> per_cluster;  // (k)
  double inertia = 0.0;
  double grid = 0.0;  // what rounding to the grid of the inertia sums may have taken
};
Measured measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids);

}  // namespace kith
