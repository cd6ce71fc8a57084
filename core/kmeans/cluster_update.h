// The two steps of Lloyd's iteration that follow an assignment: relocate empty clusters and update the centroids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/backend.h"

namespace kith {

struct Relocation {
  std::int64_t filled = 0;    // empty clusters that received a row
  std::int64_t unfilled = 0;  // empty clusters that stayed empty, since every row that may move lies on its centroid
};

struct RelocationRule {
  std::int64_t first = 0;           // number of frozen clusters, which come first and may stay empty
  std::vector<double> on_centroid;  // (k) largest D of rows that lie on this centroid
};

/// A row that an empty cluster takes.
struct Relabelling {
  std::int64_t row = 0;
  std::int32_t label = 0;  // its new one
};

/// The number of rows that a relocation chooses among: `empty` of them, and one that each of k clusters keeps.
inline std::int64_t far_rows(std::int64_t empty, std::int64_t clusters) { return empty + clusters; }

/// The rows that empty clusters take, in ascending order: each the row with the largest D to its centroid (ties: lowest
/// row) among rows whose cluster keeps at least one other row, unless that row lies on its centroid. far: the
/// far_rows() farthest rows, farthest first. Changes `counts` (k).
std::vector<Relabelling> choose_relocated(std::span<const FarRow> far, std::vector<std::int64_t>& counts,
                                          const RelocationRule& rule);

/// Relocates rows by their kept distances. Changes the labels held by `points` and `counts` (k).
Relocation relocate_empty_clusters(Points& points, std::vector<std::int64_t>& counts, const RelocationRule& rule);

/// (k) The largest D that rounding of each of the centroids (k, d) can give to rows that equal the mean. Relocating
/// such rows would not lower the objective and could cycle.
std::vector<double> distances_on_centroids(const DataPlan& plan, MatrixView<const double> centroids);
/// The same for directions: scaling to length 1 rounds the row and its centroid, and doubles the error of a mean at
/// most.
std::vector<double> distances_on_directions(const DataPlan& plan, MatrixView<const double> centroids);

/// Sums of k clusters without rows.
ClusterSums empty_sums(const DataPlan& plan, std::int64_t clusters);

/// (k) The total weight of each cluster; the counts if rows are not weighted. sums, counts: of the same labels.
std::vector<double> cluster_weights(const ClusterSums& sums, const std::vector<std::int64_t>& counts,
                                    const Weights& weights);

/// (k, d) The means; a cluster without rows keeps its centroid of `before` (k, d). sums, weights (k): of the same
/// labels.
Matrix<double> centroids_of(const ClusterSums& sums, const std::vector<double>& weights, const ColumnScales& scales,
                            MatrixView<const double> before);

/// Sum over clusters of D(after, before), in ascending order.
double squared_shift(MatrixView<const double> after, MatrixView<const double> before);

/// The objective for centroids that are the means of their rows, computed without reading rows: spread (the inertia of
/// all rows around plan.mean) minus the inertia between clusters, summed over clusters in ascending order.
double objective_of(MatrixView<const double> centroids, const std::vector<double>& weights, const DataPlan& plan,
                    double spread);

/// The contribution of one cluster to the inertia between clusters. distance: D(its centroid, plan.mean).
KITH_BOTH inline double weighted_distance(double weight, double distance) { return weight * distance; }
KITH_BOTH inline double remaining_objective(double spread, double between) {
  return spread > between ? spread - between : 0.0;
}

/// The increase of the inertia that rounding of the means can cause: weight x sum_j (grid + last place of the mean)^2.
double means_rounding(const DataPlan& plan);

/// A bound of the difference between objective_of() and the inertia of the same labels around the same centroids. An
/// error e of all means changes sum count |mean - centre|^2 by at most 2 |e| sqrt(n spread) + n |e|^2; the rounding of
/// k + d / 32 + 8 additions and the last place of subnormal terms are added.
double objective_rounding(const DataPlan& plan, double spread, std::int64_t clusters);

}  // namespace kith
