// cluster() and assign() of the C++ interface.
#include <kith/cluster.h>

#include <fmt/format.h>

#include <algorithm>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/start.h"
#include "library/held_data.h"

namespace kith {
namespace {

Init init_named(const std::string& name, const PointData& points) {
  if (name.empty()) return default_init(points.rows(), points.columns());
  std::string known;
  for (const auto& [rule, init] : kStartRules) {
    if (name == rule) return init;
    known += (known.empty() ? "" : ", ") + std::string(rule);
  }
  throw Error(ExitCode::usage, fmt::format("init: expected {}, found '{}'", known, name));
}

ClusterResult result_of(const KMeansResult& found, const Matrix<double>& centroids) {
  return {.centroids = copied(centroids),
          .labels = {found.labels.begin(), found.labels.end()},
          .counts = found.counts,
          .nearest_row = found.nearest_row,
          .inertia_per_cluster = found.inertia_per_cluster,
          .inertia = found.inertia,
          .iterations = found.iterations,
          .stopped_by = found.stopped_by};
}

}  // namespace

ClusterResult cluster(const PointData& points, std::int64_t clusters, const ClusterOptions& options) {
  const Metric metric = metric_named(options.metric, true);
  const Init init = init_named(options.init, points);
  if (options.runs < 1 || options.max_iterations < 1 || !(options.tolerance >= 0.0)) {
    throw Error(ExitCode::usage,
                fmt::format("cluster: expected runs and max_iterations of 1 or more and a tolerance of 0 or more, "
                            "found {}, {} and {}",
                            options.runs, options.max_iterations, options.tolerance));
  }
  Reporter reporter(options.run);
  const OpenPoints open = open_points(points, metric, options.run, reporter);
  const KMeansResult found = kmeans(*open.points, open.plan,
                                    {.clusters = clusters,
                                     .init = init,
                                     .runs = init == Init::first ? 1 : options.runs,
                                     .max_iterations = options.max_iterations,
                                     .tolerance = options.tolerance,
                                     .seed = options.seed,
                                     .metric = metric},
                                    reporter);
  return result_of(found, found.centroids);
}

ClusterResult assign(const PointData& points, const OwnedMatrix<double>& centroids, const AssignOptions& options) {
  const Metric metric = metric_named(options.metric, true);
  Matrix<double> given(centroids.rows, centroids.columns);
  if (std::ssize(centroids.values) != given.size() || given.size() == 0) {
    throw Error(ExitCode::usage, fmt::format("centroids: expected {} x {} values, found {}", centroids.rows,
                                             centroids.columns, centroids.values.size()));
  }
  require_finite_centroids(centroids.values, centroids.columns);
  std::copy(centroids.values.begin(), centroids.values.end(), given.data());
  if (metric == Metric::cosine) normalize_centroids(given.view(), "centroids");
  Reporter reporter(options.run);
  const OpenPoints open = open_points(points, metric, options.run, reporter);
  return result_of(assign_only(*open.points, open.plan, std::as_const(given).view(), reporter), given);
}

}  // namespace kith
