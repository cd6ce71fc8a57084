// Counts, inertia, labels, means and nearest rows of clusters that no longer change.
#include "core/kmeans/result.h"

#include <fmt/format.h>

#include "core/numbers/maps.h"
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

void refuse_points(const char* what) {
  throw Error(ExitCode::data,
              fmt::format("expected the {} of the checkpoint, found others: the points have changed, or the device or "
                          "the memory is faulty; begin a new run, without the checkpoint",
                          what));
}

namespace {

/// Counts, weights and inertia of the result, from an assignment of all rows to its centroids.
Assignment describe_assignment(Points& points, const DataPlan& plan, KMeansResult& result) {
  points.reset();
  const bool weighted = plan.weights.given();
  ClusterSums sums = empty_sums(plan, weighted ? result.centroids.rows() : 0);
  auto [assignment, inertia] = assign_and_measure(points, plan, result.centroids.view(), weighted ? &sums : nullptr);
  if (weighted) result.weights = cluster_weights(sums, assignment.counts, plan.weights);
  describe_clusters(plan, assignment.counts, std::move(inertia), result);
  return std::move(assignment);
}

void describe_distances(const Points& points, const KMeansOptions& options, KMeansResult& result) {
  if (!options.keep_distances) return;
  result.distances.resize(static_cast<std::size_t>(points.rows()));
  points.distances(result.distances);
}

/// (k, d) The means of the rows of each label; a label without rows keeps its centroid of `before`.
Matrix<double> means_of(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                        const std::vector<std::int64_t>& counts, MatrixView<const double> before) {
  points.reset();
  points.set_labels(labels);
  ClusterSums sums = empty_sums(plan, before.rows);
  points.update_sums(sums);
  return centroids_of(sums, cluster_weights(sums, counts, plan.weights), plan.scales, before);
}

}  // namespace

void describe_rows(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result) {
  result.labels.resize(plan.rows);
  points.labels(result.labels);
  find_nearest_rows(points, options, result);
  describe_distances(points, options, result);
}

void restore_clusters(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result) {
  const double expected = result.inertia;
  describe_assignment(points, plan, result);
  if (result.inertia != expected) refuse_points("inertia");
  describe_rows(points, plan, options, result);
}

KMeansResult assign_only(Points& points, const DataPlan& plan, MatrixView<const double> centroids, Observer& observer) {
  if (centroids.columns != plan.columns) {
    throw Error(ExitCode::usage, fmt::format("centroids have {} columns, the points have {}; expected the same number",
                                             centroids.columns, plan.columns));
  }
  observer.phase("assign", 1);
  const auto begin = Clock::now();
  KMeansResult result;
  result.centroids = copied(centroids);
  IterationRecord record = record_of(describe_assignment(points, plan, result));
  report_warnings(plan, observer);
  record.inertia = result.inertia;
  record.seconds = seconds_since(begin);
  result.history.push_back(record);
  result.labels.resize(plan.rows);
  points.labels(result.labels);
  return result;
}

std::vector<std::int64_t> label_counts(std::span<const std::int32_t> labels, std::int64_t clusters) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(clusters), 0);
  for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

Matrix<double> means_of_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters) {
  const std::vector<std::int64_t> counts = label_counts(labels, clusters);
  const auto none = std::find(counts.begin(), counts.end(), 0);
  if (none != counts.end()) {
    throw Error(ExitCode::data,
                fmt::format("label {}: expected at least one row with this label, found none", none - counts.begin()));
  }
  const Matrix<double> unused(clusters, plan.columns);  // centroids of clusters without rows
  return means_of(points, plan, labels, counts, unused.view());
}

Matrix<double> centroids_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                     const std::vector<std::int64_t>& counts, MatrixView<const double> before,
                                     const KMeansOptions& options) {
  Matrix<double> centroids = means_of(points, plan, labels, counts, before);
  if (takes_directions(options.metric)) normalize_means(centroids.view(), before);
  std::copy_n(before.data, options.frozen.rows * plan.columns, centroids.data());
  return centroids;
}

KMeansResult result_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                MatrixView<const double> before, const KMeansOptions& options) {
  KMeansResult result;
  result.labels.assign(labels.begin(), labels.end());
  std::vector<std::int64_t> counts = label_counts(labels, before.rows);
  result.centroids = centroids_from_labels(points, plan, labels, counts, before, options);
  // The nearest rows follow from an assignment to these centroids, whose labels may be others.
  assign(points, plan, result.centroids.view());
  measure(points, plan, result.centroids.view());
  find_nearest_rows(points, options, result);
  points.set_labels(result.labels);
  Inertia inertia = measure_labels(points, plan, result.centroids.view(), counts);
  describe_clusters(plan, std::move(counts), std::move(inertia), result);
  describe_distances(points, options, result);
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

Matrix<double> cluster_means(MatrixView<const double> centroids, Metric metric, std::span<const double> weights,
                             std::span<const double> inertia) {
  Matrix<double> means = copied(centroids);
  for (std::size_t c = 0; takes_directions(metric) && c < weights.size(); ++c) {
    if (weights[c] > 0.0) array(means.row(static_cast<std::int64_t>(c))) *= 1.0 - inertia[c] / (2.0 * weights[c]);
  }
  return means;
}

}  // namespace kith
