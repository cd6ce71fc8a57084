// What options of the C++ interface may be, and the messages where they are not.
#include "library/held_points.h"

#include <fmt/ranges.h>

namespace kith {

Metric metric_named(const std::string& name, bool means) {
  std::vector<std::string> known;
  for (const Metric metric : kMetrics) {
    if (means && !has_means(metric)) continue;
    if (name == name_of(metric)) return metric;
    known.emplace_back(name_of(metric));
  }
  throw Error(ExitCode::usage, fmt::format("metric: expected {}, found '{}'", fmt::join(known, ", "), name));
}

Matrix<double> checked_centroids(const OwnedMatrix<double>& centroids, Metric metric) {
  Matrix<double> given(centroids.rows, centroids.columns);
  if (std::ssize(centroids.values) != given.size() || given.size() == 0) {
    throw Error(ExitCode::usage, fmt::format("centroids: expected {} x {} values, found {}", centroids.rows,
                                             centroids.columns, centroids.values.size()));
  }
  require_finite("centroids", std::span(centroids.values), centroids.columns);
  std::copy(centroids.values.begin(), centroids.values.end(), given.data());
  if (takes_directions(metric)) normalize_centroids(given.view(), "centroids");
  return given;
}

Init init_named(const std::string& name, const DataPlan& plan, std::int64_t clusters) {
  if (name.empty()) return default_init(plan.rows, plan.columns, clusters);
  std::string known;
  for (const auto& [rule, init] : kStartRules) {
    if (name == rule) return init;
    known += (known.empty() ? "" : ", ") + std::string(rule);
  }
  throw Error(ExitCode::usage, fmt::format("init: expected {}, found '{}'", known, name));
}

EmptyRule rule_named(const std::string& name) {
  for (const EmptyRule rule : {EmptyRule::relocate, EmptyRule::keep, EmptyRule::drop, EmptyRule::error}) {
    if (name == name_of(rule)) return rule;
  }
  throw Error(ExitCode::usage, fmt::format("empty_clusters: expected relocate, keep, drop or error, found '{}'", name));
}

void check_options(const ClusterOptions& options) {
  if (options.runs < 1 || options.max_iterations < 1 || !(options.tolerance >= 0.0)) {
    throw Error(ExitCode::usage,
                fmt::format("cluster: expected runs and max_iterations of 1 or more and a tolerance of 0 or more, "
                            "found {}, {} and {}",
                            options.runs, options.max_iterations, options.tolerance));
  }
  if (options.batch < 0 || options.epochs < 1) {
    throw Error(ExitCode::usage, fmt::format("cluster: expected a batch of 0 or more and epochs of 1 or more, found {} "
                                             "and {}",
                                             options.batch, options.epochs));
  }
  if (options.algorithm != "lloyd" && options.algorithm != "bisecting") {
    throw Error(ExitCode::usage, fmt::format("algorithm: expected lloyd or bisecting, found '{}'", options.algorithm));
  }
  const bool is_bisecting = options.algorithm == "bisecting";
  if (is_bisecting && (options.batch > 0 || options.centroids.rows > 0 || options.continued != nullptr)) {
    throw Error(ExitCode::usage,
                "algorithm bisecting: cannot be combined with a batch or with centroids to start "
                "from; leave one of them out");
  }
  if (!options.weights.empty() && (is_bisecting || options.batch > 0)) {
    throw Error(ExitCode::usage,
                "weights: cannot be combined with a batch or with algorithm bisecting; leave one of "
                "them out");
  }
}

void check_weights(std::span<const double> weights, std::int64_t rows) {
  if (weights.empty()) return;
  if (std::ssize(weights) != rows) {
    throw Error(ExitCode::usage, fmt::format("weights: expected {} weights, one for each row, found {}; give every row "
                                             "a weight, 0 for rows to ignore",
                                             rows, weights.size()));
  }
  checked_weights(weights, "weights");
}

}  // namespace kith
