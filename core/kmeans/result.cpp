// Counts, inertia, labels, means and nearest rows of clusters that no longer change.
#include "core/kmeans/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/kmeans/update.h"
#include "core/runtime/clock.h"

namespace kith {

IterationRecord record_of(const Assignment& assignment) {
  IterationRecord record;
  record.changed = assignment.changed;
  record.screened = assignment.screened;
  record.products = assignment.products;
  record.ambiguous = assignment.ambiguous;
  record.candidates = assignment.candidates;
  return record;
}

void report_warnings(const DataPlan& plan, Observer& observer) {
  for (const std::string& warning : plan.warnings) observer.warning(warning);
}

void describe_clusters(const DataPlan& plan, std::vector<std::int64_t> counts, Inertia inertia, KMeansResult& result) {
  check_counts(counts, plan);
  result.inertia = inertia.total;
  result.inertia_per_cluster = std::move(inertia.per_cluster);
  result.counts = std::move(counts);
  result.empty_clusters = std::count(result.counts.begin(), result.counts.end(), 0);
}

void describe_rows(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result) {
  result.labels.resize(plan.rows);
  points.labels(result.labels);
  find_nearest_rows(points, options, result);
  if (!options.keep_distances) return;
  result.distances.resize(plan.rows);
  points.distances(result.distances);
}

void restore_clusters(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result) {
  points.reset();
  ClusterSums sums = empty_sums(plan, plan.weights.given() ? result.centroids.rows() : 0);
  ClusterSums* weighted = plan.weights.given() ? &sums : nullptr;
  auto [assignment, inertia] = assign_and_measure(points, plan, result.centroids.view(), weighted);
  if (inertia.total != result.inertia) refuse_points("inertia");
  if (weighted != nullptr) result.weights = cluster_weights(sums, assignment.counts, plan.weights);
  describe_clusters(plan, std::move(assignment.counts), std::move(inertia), result);
  describe_rows(points, plan, options, result);
}

void refuse_points(const char* what) {
  throw Error(ExitCode::data,
              fmt::format("expected the {} of the checkpoint, found others: the points have changed, or the device or "
                          "the memory is faulty; begin a new run, without the checkpoint",
                          what));
}

KMeansResult assign_only(Points& points, const DataPlan& plan, MatrixView<const double> centroids, Observer& observer) {
  if (centroids.columns != plan.columns) {
    throw Error(ExitCode::usage, fmt::format("centroids have {} columns, the points have {}; expected the same number",
                                             centroids.columns, plan.columns));
  }
  observer.phase("assign", 1);
  points.reset();
  const auto begin = Clock::now();
  ClusterSums sums = empty_sums(plan, plan.weights.given() ? centroids.rows : 0);
  ClusterSums* weighted = plan.weights.given() ? &sums : nullptr;
  auto [assignment, inertia] = assign_and_measure(points, plan, centroids, weighted);
  report_warnings(plan, observer);
  KMeansResult result;
  result.history.push_back(record_of(assignment));
  result.history.back().inertia = inertia.total;
  result.history.back().seconds = seconds_since(begin);
  result.centroids = Matrix<double>(centroids.rows, centroids.columns);
  std::copy(centroids.data, centroids.data + centroids.size(), result.centroids.data());
  if (weighted != nullptr) result.weights = cluster_weights(sums, assignment.counts, plan.weights);
  describe_clusters(plan, std::move(assignment.counts), std::move(inertia), result);
  result.labels.resize(plan.rows);
  points.labels(result.labels);
  return result;
}

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

Matrix<double> means_of_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(clusters), 0);
  for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  const auto none = std::find(counts.begin(), counts.end(), 0);
  if (none != counts.end()) {
    throw Error(ExitCode::data,
                fmt::format("label {}: expected at least one row with this label, found none", none - counts.begin()));
  }
  points.reset();
  points.set_labels(labels);
  ClusterSums sums = empty_sums(plan, clusters);
  points.update_sums(sums);
  const Matrix<double> unused(clusters, plan.columns);  // centroids of clusters without rows
  return centroids_of(sums, cluster_weights(sums, counts, plan.weights), plan.scales, unused.view());
}

}  // namespace kith
