// Counts, inertia, labels and nearest rows of clusters whose centroids no longer move.
#include "core/kmeans/finished_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/kmeans/cluster_update.h"
#include "core/kmeans/label_result.h"
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

}  // namespace kith
