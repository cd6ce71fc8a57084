// The two steps of Lloyd's iteration that follow an assignment: give empty clusters a row, and move the centroids.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"

namespace kith {

struct Relocation {
  std::int64_t filled = 0;    // empty clusters that were given a row
  std::int64_t unfilled = 0;  // empty clusters left alone: every row that could go lies on its centroid
};

/// Empty clusters, in ascending index, each take the row with the largest D to its centroid (ties: lowest row) whose
/// cluster keeps at least one other row, unless that D is at most `on_centroid`. Changes labels held by `points`, and
/// `counts` (k).
Relocation relocate_empty_clusters(Points& points, std::vector<std::int64_t>& counts, double on_centroid);

/// Means of the sums; a cluster without rows keeps its centroid of `before`. sums, counts: of the same labels.
Matrix<double> centroids_of(const ClusterSums& sums, const std::vector<std::int64_t>& counts,
                            const ColumnScales& scales, MatrixView<const double> before);

/// Sum over clusters of D(after, before), in ascending order.
double squared_shift(MatrixView<const double> after, MatrixView<const double> before);

/// What the rounding of means to their grid may add to the objective: rows x sum_j (grid + last place of the mean)^2.
double objective_rounding(const DataPlan& plan);

}  // namespace kith
