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

struct RelocationRule {
  std::int64_t first = 0;           // clusters before this one may be empty
  std::vector<double> on_centroid;  // (k) largest D of rows that lie on this centroid
};

/// Empty clusters, in ascending index, each take the row with the largest D to its centroid (ties: lowest row) whose
/// cluster keeps at least one other row, unless it lies there. Changes labels held by `points`, and `counts` (k).
Relocation relocate_empty_clusters(Points& points, std::vector<std::int64_t>& counts, const RelocationRule& rule);

/// The largest D, (k), that rounding of each of the centroids (k, d) may give to rows that are equal to the mean.
/// Moving such rows would lower nothing, and never end.
std::vector<double> distances_on_centroids(const DataPlan& plan, MatrixView<const double> centroids);

/// Sums of k clusters without rows.
ClusterSums empty_sums(const DataPlan& plan, std::int64_t clusters);

/// What the rows of each cluster weigh, (k): the counts where rows are not weighted. sums, counts: of the same labels.
std::vector<double> cluster_weights(const ClusterSums& sums, const std::vector<std::int64_t>& counts,
                                    const Weights& weights);

/// Means of the sums; a cluster without rows keeps its centroid of `before`. sums, weights (k): of the same labels.
Matrix<double> centroids_of(const ClusterSums& sums, const std::vector<double>& weights, const ColumnScales& scales,
                            MatrixView<const double> before);

/// Sum over clusters of D(after, before), in ascending order.
double squared_shift(MatrixView<const double> after, MatrixView<const double> before);

/// The objective once the centroids are the means of their rows, without looking at a row: what the clusters' means
/// explain of the spread (the inertia of all rows around plan.mean) is subtracted from it, in ascending order.
double objective_of(MatrixView<const double> centroids, const std::vector<double>& weights, const DataPlan& plan,
                    double spread);

/// One cluster's share of what the means explain, from D(its centroid, plan.mean).
KITH_BOTH inline double weighted_distance(double weight, double distance) { return weight * distance; }
KITH_BOTH inline double remaining_objective(double spread, double between) {
  return spread > between ? spread - between : 0.0;
}

/// What the rounding of means to their grid may add to the inertia: weight x sum_j (grid + last place of the mean)^2.
double means_rounding(const DataPlan& plan);

/// How far objective_of() may be from the inertia of the same labels around the same centroids: what an error e of
/// all means does to sum count |mean - centre|^2, at most 2 |e| sqrt(n spread) + n |e|^2; k + d / 32 + 8 additions; and
/// the last place of subnormal terms.
double objective_rounding(const DataPlan& plan, double spread, std::int64_t clusters);

}  // namespace kith
