// What a result of k-means says about clusters whose centroids no longer move, or about given labels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/update.h"
#include "core/numbers/metric.h"
#include "core/points/backend.h"
#include "core/points/matrix.h"

namespace kith {

/// What an assignment counted.
IterationRecord record_of(const Assignment& assignment);

/// Warns of values that lose their digits in the integer sums next to far larger ones.
void report_warnings(const DataPlan& plan, Observer& observer);

/// Counts (k) and inertia of the centroids of the result.
void describe_clusters(const DataPlan& plan, std::vector<std::int64_t> counts, Inertia inertia, KMeansResult& result);

/// Labels, distances and nearest rows, from the last assignment to the centroids of the result and its measurement.
void describe_rows(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result);

/// Completes the result of a finished run that a state holds, by an assignment to its centroids. Throws Error(data) if
/// the inertia is not that of the result.
void restore_clusters(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result);

/// Throws Error(data): a computation that continues did not reproduce `what` its state holds.
[[noreturn]] void refuse_points(const char* what);

/// The result of labels (n), each below before.rows: counts, means, inertia, and what the options request. Clusters
/// without rows and frozen clusters keep their centroids of `before` (k, d). The points hold the labels afterwards.
/// Iterations and stopping fields stay empty.
KMeansResult result_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                MatrixView<const double> before, const KMeansOptions& options);

/// The centroids (k, d) of that result. counts: (k) rows of each label.
Matrix<double> centroids_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                     const std::vector<std::int64_t>& counts, MatrixView<const double> before,
                                     const KMeansOptions& options);

/// Merges the row nearest to each centroid (k, d), over all rows, into the result. The points must have been assigned
/// to these centroids and measured. A general search may keep `search_bytes` of the host's memory.
void find_nearest_rows(const Points& points, MatrixView<const double> centroids, NearestRows& result,
                       std::int64_t search_bytes = std::numeric_limits<std::int64_t>::max());

/// Fills nearest_row and frozen, and medoids if requested, from the centroids of a result. The points must have been
/// assigned to these and measured.
void find_nearest_rows(const Points& points, const KMeansOptions& options, KMeansResult& result);

/// (k) The number of rows of each label, from 0 to k - 1.
std::vector<std::int64_t> label_counts(std::span<const std::int32_t> labels, std::int64_t clusters);

/// (k, d) The mean of the rows of each label, computed as in an iteration (docs/contract.md, Sums over rows). plan: of
/// the points. labels: (n) from 0 to k - 1. Throws Error(data) naming the first label that no row has.
Matrix<double> means_of_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters);

/// (k, d) the means of the rows of each cluster: its centroid, or for directions (cosine), where the centroid is the
/// mean scaled to length 1, the centroid times the length of the mean. That is 1 - inertia / (2 weight), since the
/// squared distance of two directions is 2 - 2 times their product. weights, inertia: (k) of the clusters.
Matrix<double> cluster_means(MatrixView<const double> centroids, Metric metric, std::span<const double> weights,
                             std::span<const double> inertia);

/// Calls visit(c, distances of all rows) for each centroid (k, d), in ascending order. block_values: distances at a
/// time, or those to one centroid.
template <class Visit>
void for_centroids(const Points& points, MatrixView<const double> centroids, std::int64_t block_values,
                   const Visit& visit) {
  const std::int64_t block = std::clamp<std::int64_t>(block_values / points.rows(), 1, centroids.rows);
  Matrix<double> distances(block, points.rows());
  for (std::int64_t first = 0; first < centroids.rows; first += block) {
    const MatrixView<const double> some = centroids.middle(first, std::min(block, centroids.rows - first));
    points.all_distances({some}, distances.view().middle(0, some.rows));
    for (std::int64_t c = 0; c < some.rows; ++c) visit(first + c, std::as_const(distances).row(c));
  }
}

}  // namespace kith
