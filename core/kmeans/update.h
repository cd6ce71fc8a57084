// The steps of Lloyd's iteration: counted assignments, the inertia of labels, empty clusters, and the update.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

/// relocate: an empty cluster takes a row (core/kmeans/update.h); keep: its centroid stays unchanged; drop: it
/// is removed and k decreases; error: the run ends.
enum class EmptyRule { relocate, keep, drop, error };
inline const char* name_of(EmptyRule rule) {
  constexpr const char* kNames[] = {"relocate", "keep", "drop", "error"};
  return kNames[static_cast<int>(rule)];
}

/// The number of clusters without rows among clusters first .. k - 1; clusters before `first` may be empty.
std::int64_t count_empty(const std::vector<std::int64_t>& counts, std::int64_t first);

/// Removes clusters without rows from centroids and counts and renumbers the rest, also in the labels that `points`
/// hold. Clears the sums, so the next update_sums() adds all rows. Returns the number of removed clusters.
std::int64_t drop_empty_clusters(Points& points, LloydState& state, std::int64_t first);

/// The warning about dropped clusters. iteration: from 1; 0: the last assignment.
std::string dropped_message(std::int64_t dropped, const LloydState& state, std::int64_t iteration);

/// Throws Error(data) with the number of empty clusters and the first one. iteration: from 1; 0: the last assignment.
[[noreturn]] void refuse_empty_clusters(const std::vector<std::int64_t>& counts, std::int64_t first,
                                        std::int64_t iteration);

}  // namespace kith
