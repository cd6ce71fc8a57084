// The k-means result of given labels, and the rows nearest to centroids.
#include "core/kmeans/label_result.h"

#include <algorithm>

#include "core/kmeans/cluster_update.h"
#include "core/kmeans/inertia.h"

namespace kith {

Matrix<double> centroids_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                     const std::vector<std::int64_t>& counts, MatrixView<const double> before,
                                     const KMeansOptions& options) {
  points.reset();
  points.set_labels(labels);
  ClusterSums sums = empty_sums(plan, before.rows);
  points.update_sums(sums);
  Matrix<double> centroids = centroids_of(sums, cluster_weights(sums, counts, plan.weights), plan.scales, before);
  if (options.metric == Metric::cosine) normalize_means(centroids.view(), before);
  std::copy_n(before.data, options.frozen.rows * plan.columns, centroids.data());
  return centroids;
}

KMeansResult result_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                MatrixView<const double> before, const KMeansOptions& options) {
  const std::int64_t k = before.rows;
  KMeansResult result;
  result.labels.assign(labels.begin(), labels.end());
  result.counts.assign(static_cast<std::size_t>(k), 0);
  for (const std::int32_t label : labels) ++result.counts[static_cast<std::size_t>(label)];
  result.centroids = centroids_from_labels(points, plan, labels, result.counts, before, options);
  // The nearest rows follow from an assignment to these centroids, whose labels may be others.
  assign(points, plan, result.centroids.view());
  measure(points, plan, result.centroids.view());
  find_nearest_rows(points, options, result);
  points.set_labels(result.labels);
  Inertia measured = measure_labels(points, plan, result.centroids.view(), result.counts);
  result.inertia = measured.total;
  result.inertia_per_cluster = std::move(measured.per_cluster);
  result.empty_clusters = count_empty(result.counts, 0);
  if (options.keep_distances) {
    result.distances.resize(static_cast<std::size_t>(plan.rows));
    points.distances(result.distances);
  }
  return result;
}

void find_nearest_rows(const Points& points, MatrixView<const double> centroids, NearestRows& result,
                       std::int64_t search_bytes) {
  if (points.nearest_rows({centroids}, result)) return;
  NeighborLists lists(centroids.rows, 1);
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    lists.distance(c, 0) = result.best[c].distance;
    lists.index(c, 0) = result.best[c].row;
  }
  // Limit the memory of this last step: at most one byte for eight values of the points.
  constexpr std::int64_t kEnough = std::int64_t{64} << 20;
  points.search({.values = centroids,
                 .working_bytes = std::max(kEnough, points.rows() * points.columns() / 8),
                 .host_bytes = std::min(search_bytes, Queries{}.host_bytes),
                 .cell_bytes = search_bytes},
                lists);
  for (std::int64_t c = 0; c < centroids.rows; ++c) result.best[c] = {lists.distance(c, 0), lists.index(c, 0)};
  result.candidates += lists.candidates;
  result.searched += centroids.rows;
}

void find_nearest_rows(const Points& points, const KMeansOptions& options, KMeansResult& result) {
  NearestRows nearest(result.centroids.rows());
  find_nearest_rows(points, result.centroids.view(), nearest, options.search_bytes);
  result.frozen = options.frozen.rows;
  result.nearest_row.clear();
  for (const Neighbor& neighbor : nearest.best) result.nearest_row.push_back(neighbor.row);
  if (!options.keep_medoids) return;
  result.medoids = Matrix<double>(result.centroids.rows(), points.columns());
  points.copy_rows(result.nearest_row, result.medoids.view());
}

}  // namespace kith
