// Points of the C++ interface: borrowed or read, checked, scaled, and held by a backend.
#include "library/held_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "data/source.h"

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

}  // namespace

void require_finite_centroids(std::span<const double> values, std::int64_t columns) {
  require_finite("centroids", values, columns);
}

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

void Reporter::phase(const std::string& name, std::int64_t steps) {
  report_ = {name, 0, steps};
  report();
}
void Reporter::progress(std::int64_t done) {
  report_.done = done;
  report();
}
void Reporter::iteration(const IterationRecord&) {
  ++report_.done;
  report();
}
void Reporter::warning(const std::string& message) {
  if (options_.on_warning) options_.on_warning(message);
}
void Reporter::report() {
  if (options_.cancelled && options_.cancelled()) {
    throw Error(ExitCode::time_limit, "cancelled by the caller in the phase " + report_.phase);
  }
  if (options_.on_progress) options_.on_progress(report_);
}

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

}  // namespace kith
