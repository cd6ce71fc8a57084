// The C++ interface: points borrowed or read, checked, scaled and held by a backend, and what is computed with them.
#include <kith/kith.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/start.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "core/numbers/metric.h"
#include "core/points/backend.h"
#include "core/points/data_plan.h"
#include "core/points/observer.h"
#include "data/source.h"
#include "library/held_points.h"

namespace kith {

namespace {

/// Throws Error(data) about the first value that is not finite. what: "points", "centroids".
template <class T>
void require_finite(const char* what, std::span<const T> values, std::int64_t columns) {
  const auto wrong = std::find_if_not(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
  if (wrong == values.end()) return;
  const std::int64_t at = wrong - values.begin();
  throw Error(
      ExitCode::data,
      fmt::format("{}: expected finite values, found {} in row {}, column {} (counted from 1); drop or replace it",
                  what, static_cast<double>(*wrong), at / columns + 1, at % columns + 1),
      Cause::value);
}

template <class T>
std::shared_ptr<const PointData::Held> borrowed(std::span<const T> values, std::int64_t columns) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (columns < 1 || count == 0 || count % columns != 0) {
    throw Error(ExitCode::usage, fmt::format("points: expected a multiple of the number of columns, found {} values "
                                             "and {} columns; give rows x columns values",
                                             count, columns));
  }
  if constexpr (std::is_floating_point_v<T>) require_finite("points", values, columns);
  auto held = std::make_shared<PointData::Held>();
  held->view = MatrixView<const T>{values.data(), count / columns, columns};
  return held;
}

/// The backend that RunOptions name, or the best that works.
std::unique_ptr<Backend> open_backend(const RunOptions& options) {
  constexpr int kMostThreads = 4096;  // as --threads
  if (options.threads < 0 || options.threads > kMostThreads) {
    throw Error(ExitCode::usage,
                fmt::format("threads: expected a number from 0 to {}, found {}", kMostThreads, options.threads));
  }
  std::string reasons;
  for (const BackendEntry& entry : backends()) {
    if (options.backend != "auto" && options.backend != entry.name) continue;
    std::string reason;
    if (is_usable(entry.name, &reason, options)) {
      BackendOptions wanted;
      wanted.threads = options.threads;
      wanted.device = entry.has_gpus ? options.device : 0;
      return entry.open(wanted, {});
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", entry.name, reason);
  }
  if (!reasons.empty()) throw Error(ExitCode::device, reasons);
  throw Error(ExitCode::usage, fmt::format("backend: expected auto, cuda or cpu, found '{}'", options.backend));
}

/// Passes reports on, and throws Error(time_limit) when the caller cancels.
class Reporter final : public Observer {
 public:
  explicit Reporter(const RunOptions& options) : options_(options) {}
  void phase(const std::string& name, std::int64_t steps) override {
    report_ = {name, 0, steps};
    report();
  }
  void progress(std::int64_t done) override {
    report_.done = done;
    report();
  }
  void iteration(const IterationRecord&) override { progress(report_.done + 1); }
  void warning(const std::string& message) override {
    if (options_.on_warning) options_.on_warning(message);
  }

 private:
  void report() {
    if (options_.cancelled && options_.cancelled()) {
      throw Error(ExitCode::time_limit, "cancelled by the caller in the phase " + report_.phase);
    }
    if (options_.on_progress) options_.on_progress(report_);
  }

  const RunOptions& options_;
  ProgressReport report_;
};

/// Points in a backend, with their plan.
struct OpenPoints {
  Matrix<double> directions;  // of the points, for cosine
  PointsView view;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Points> points;
  DataPlan plan;
};

/// Throws Error(usage) for an unknown name; `means`: only metrics that k-means supports.
Metric metric_named(const std::string& name, bool means) {
  std::vector<std::string> known;
  for (const Metric metric :
       {Metric::euclidean, Metric::cosine, Metric::inner_product, Metric::manhattan, Metric::chebyshev}) {
    if (means && known.size() == 2) break;
    if (name == name_of(metric)) return metric;
    known.emplace_back(name_of(metric));
  }
  throw Error(ExitCode::usage, fmt::format("metric: expected {}, found '{}'", fmt::join(known, ", "), name));
}

/// The values or, for cosine, their directions, which are written to `directions`.
PointsView values_for(const PointData& points, Metric metric, Matrix<double>& directions) {
  const PointsView& view = points.held().view;
  if (metric != Metric::cosine) return view;
  directions = Matrix<double>(points.rows(), points.columns());
  const auto write = [&]<class T>(MatrixView<const T> rows) {
    return write_directions(rows, directions.view(), {.name = "points"});
  };
  std::visit(
      [&]<class T>(MatrixView<const T> rows) {
        if constexpr (std::is_floating_point_v<T>) {
          write(rows);
        } else {
          std::copy(rows.data, rows.data + rows.size(), directions.data());
          write(std::as_const(directions).view());
        }
      },
      view);
  return std::as_const(directions).view();
}

OpenPoints open_points(const PointData& points, Metric metric, const RunOptions& options, Reporter& reporter) {
  OpenPoints open;
  reporter.phase("prepare", 0);
  open.view = values_for(points, metric, open.directions);
  open.backend = open_backend(options);
  open.points = open.backend->hold({.values = open.view});
  open.plan = make_plan(*open.points);
  require_digits(open.plan.range, measure_of(metric));
  for (const std::string& warning : open.plan.warnings) reporter.warning(warning);
  open.points->prepare(open.plan);
  return open;
}

/// An owned copy of a matrix.
template <class T>
OwnedMatrix<T> copied(const Matrix<T>& matrix) {
  return {matrix.rows(), matrix.columns(), {matrix.data(), matrix.data() + matrix.size()}};
}

Init init_named(const std::string& name, const PointData& points, std::int64_t clusters) {
  if (name.empty()) return default_init(points.rows(), points.columns(), clusters);
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

/// A distance as the command line shows it.
double shown(double d, Metric metric) {
  if (metric == Metric::inner_product) return 0.0 - d;  // no -0
  return measure_of(metric) == Measure::squared_euclidean ? std::sqrt(d) : d;
}

/// Both sets of a search. Without queries those of the base.
struct Search {
  Search(const PointData& base, const PointData* queries, const SearchOptions& options)
      : metric(metric_named(options.metric, false)), reporter(options.run) {
    open = open_points(base, metric, options.run, reporter);
    values = queries == nullptr ? open.view : values_for(*queries, metric, directions);
  }

  Metric metric;
  Reporter reporter;
  OpenPoints open;
  Matrix<double> directions;  // of the queries, for cosine
  PointsView values;          // of the queries
};

NeighborTable find(const PointData& base, const PointData* queries, std::int64_t k, const SearchOptions& options) {
  Search search(base, queries, options);
  const std::int64_t count = rows_of(search.values);
  NeighborTable table;
  nearest_neighbors(
      *search.open.points, search.values,
      {.neighbors = k,
       .base_is_queries = queries == nullptr,
       .include_self = options.include_self,
       .measure = measure_of(search.metric)},
      [&](std::int64_t, const NeighborLists& lists) {
        const std::int64_t* rows = lists.index.data();
        table.rows.values.insert(table.rows.values.end(), rows, rows + lists.index.size());
        std::transform(lists.distance.data(), lists.distance.data() + lists.distance.size(),
                       std::back_inserter(table.distances.values), [&](double d) { return shown(d, search.metric); });
      },
      search.reporter);
  table.rows.rows = table.distances.rows = count;
  table.rows.columns = table.distances.columns = k;
  return table;
}

RadiusTable find_within(const PointData& base, const PointData* queries, double radius, const SearchOptions& options) {
  const double limit = limit_of_radius(radius, metric_named(options.metric, false));
  Search search(base, queries, options);
  RadiusTable table{.begin = {0}, .rows = {}, .distances = {}};
  radius_neighbors(
      *search.open.points, search.values,
      {.limit = limit,
       .measure = measure_of(search.metric),
       .base_is_queries = queries == nullptr,
       .include_self = options.include_self},
      [&](std::int64_t, std::span<const std::vector<Neighbor>> lists) {
        for (const std::vector<Neighbor>& list : lists) {
          for (const Neighbor& neighbor : list) {
            table.rows.push_back(neighbor.row);
            table.distances.push_back(shown(neighbor.distance, search.metric));
          }
          table.begin.push_back(std::ssize(table.rows));
        }
        return true;
      },
      search.reporter);
  return table;
}

}  // namespace

PointData::PointData(std::span<const float> values, std::int64_t columns) : held_(borrowed(values, columns)) {}
PointData::PointData(std::span<const double> values, std::int64_t columns) : held_(borrowed(values, columns)) {}
PointData::PointData(std::span<const std::uint8_t> values, std::int64_t columns) : held_(borrowed(values, columns)) {}
PointData::PointData(std::span<const std::int8_t> values, std::int64_t columns) : held_(borrowed(values, columns)) {}

PointData PointData::from_file(const std::string& location) {
  auto held = std::make_shared<Held>();
  held->own = data::read_all(*data::open_points(location, {.keep_bytes = true}));
  held->view = view_of(held->own);
  PointData points;
  points.held_ = std::move(held);
  return points;
}

std::int64_t PointData::rows() const { return rows_of(held_->view); }
std::int64_t PointData::columns() const { return columns_of(held_->view); }

const char* library_version() { return KITH_VERSION; }

bool is_usable(const std::string& backend, std::string* reason, const RunOptions& options) {
  std::string why = fmt::format("backend: expected cuda or cpu, found '{}'", backend);
  for (const BackendEntry& entry : backends()) {
    if (backend != entry.name) continue;
    BackendOptions wanted;
    wanted.device = entry.has_gpus ? options.device : 0;
    why = entry.missing(wanted);
  }
  if (reason != nullptr) *reason = why;
  return why.empty();
}

ClusterResult cluster(const PointData& points, std::int64_t clusters, const ClusterOptions& options) {
  const Metric metric = metric_named(options.metric, true);
  const Init init = init_named(options.init, points, clusters);
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
  require_finite("centroids", std::span(centroids.values), centroids.columns);
  std::copy(centroids.values.begin(), centroids.values.end(), given.data());
  if (metric == Metric::cosine) normalize_centroids(given.view(), "centroids");
  Reporter reporter(options.run);
  const OpenPoints open = open_points(points, metric, options.run, reporter);
  return result_of(assign_only(*open.points, open.plan, std::as_const(given).view(), reporter), given);
}

NeighborTable neighbors(const PointData& base, std::int64_t k, const SearchOptions& options) {
  return find(base, nullptr, k, options);
}
NeighborTable neighbors(const PointData& base, const PointData& queries, std::int64_t k, const SearchOptions& options) {
  return find(base, &queries, k, options);
}
RadiusTable radius(const PointData& base, double radius, const SearchOptions& options) {
  return find_within(base, nullptr, radius, options);
}
RadiusTable radius(const PointData& base, const PointData& queries, double radius, const SearchOptions& options) {
  return find_within(base, &queries, radius, options);
}

}  // namespace kith
