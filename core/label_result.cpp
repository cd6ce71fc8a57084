// The k-means result of given labels, and the rows nearest to centroids.
#include "core/label_result.h"

#include <algorithm>

#include "core/cluster_update.h"
#include "core/inertia.h"

namespace kith {

KMeansResult result_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                MatrixView<const double> before, const KMeansOptions& options) {
  const std::int64_t k = before.rows;
  KMeansResult result;
  result.counts.assign(static_cast<std::size_t>(k), 0);
  for (const std::int32_t label : labels) ++result.counts[static_cast<std::size_t>(label)];
  points.reset();
  points.set_labels(labels);
  ClusterSums sums = empty_sums(plan, k);
  points.update_sums(sums);
  result.centroids = centroids_of(sums, cluster_weights(sums, result.counts, plan.weights), plan.scales, before);
  if (options.metric == Metric::cosine) normalize_means(result.centroids.view(), before);
  std::copy_n(before.data, options.frozen.rows * plan.columns, result.centroids.data());
  Inertia measured = measure_labels(points, plan, result.centroids.view(), result.counts);
  result.inertia = measured.total;
  result.inertia_per_cluster = std::move(measured.per_cluster);
  result.empty_clusters = count_empty(result.counts, 0);
  result.labels.assign(labels.begin(), labels.end());
  if (options.keep_distances) {
    result.distances.resize(static_cast<std::size_t>(plan.rows));
    points.distances(result.distances);
  }
  find_nearest_rows(points, options, result);
  return result;
}

void find_nearest_rows(const Points& points, const KMeansOptions& options, KMeansResult& result) {
  const std::int64_t k = result.centroids.rows();
  NeighborLists nearest(k, 1);
  // Limit the memory of this last step: at most one byte for eight values of the points.
  constexpr std::int64_t kEnough = std::int64_t{64} << 20;
  const std::int64_t share = points.rows() * points.columns() / 8;
  points.search({.values = result.centroids.view(), .working_bytes = std::max(kEnough, share)}, nearest);
  result.frozen = options.frozen.rows;
  result.nearest_row.assign(nearest.index.data(), nearest.index.data() + k);
  if (!options.keep_medoids) return;
  result.medoids = Matrix<double>(k, points.columns());
  points.copy_rows(result.nearest_row, result.medoids.view());
}

}  // namespace kith
