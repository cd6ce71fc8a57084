// Shapes, generated points, limits and checks of `kith bench`.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <utility>

#include "app/cli/units.h"
#include "bench/suites/bench.h"
#include "core/numbers/distance.h"
#include "data/source.h"

namespace kith::app {
namespace {

constexpr double kMostCells = 0x1p40;
constexpr double kCached = 0x1p26;      // bytes that caches keep between repetitions
constexpr std::int64_t kSample = 1024;  // rows that are checked, at most
constexpr double kCheckedValues = 2e9;  // values of rows that are compared with queries, at most

/// Keeps the first message of any task.
class FirstFault {
 public:
  void note(const std::string& text) {
    if (!found_.exchange(true)) text_ = text;
  }
  std::string text() const { return text_; }

 private:
  std::atomic<bool> found_{false};
  std::string text_;
};

}  // namespace

BenchShape parse_shape(const std::string& text, std::size_t counts, const std::string& form) {
  const auto refuse = [&] {
    throw Error(ExitCode::usage, fmt::format("--shape: expected {}, found '{}'", form, text));
  };
  const Range range{1, std::int64_t{1} << 40};
  BenchShape shape;
  const std::size_t times = text.find('x');
  if (times == std::string::npos) refuse();
  std::size_t comma = std::min(text.find(',', times), text.size());
  shape.rows = parse_integer(text.substr(0, times), "--shape " + text, range);
  shape.columns = parse_integer(text.substr(times + 1, comma - times - 1), "--shape " + text, range);
  while (comma < text.size()) {
    const std::size_t next = std::min(text.find(',', comma + 1), text.size());
    shape.counts.push_back(parse_integer(text.substr(comma + 1, next - comma - 1), "--shape " + text, range));
    comma = next;
  }
  if (shape.counts.size() != counts) refuse();
  if (static_cast<double>(shape.rows) * static_cast<double>(shape.columns) > kMostCells) {
    throw Error(ExitCode::usage, fmt::format("--shape: expected at most 2^40 values, found '{}'", text));
  }
  return shape;
}

std::string show_shape(const BenchShape& shape) {
  std::string out = show_shape(shape.rows, shape.columns);
  for (const std::int64_t count : shape.counts) out += fmt::format(", {}", count);
  return out;
}

Limits::Limits(const std::vector<Measurement>& lines) {
  for (const Measurement& line : lines) {
    if (!line.seconds.empty()) rates_.emplace_back(line.name, line.work / timing_of(line.seconds).median);
  }
}

std::optional<double> Limits::rate(const std::string& name) const {
  for (const auto& [known, rate] : rates_) {
    if (known == name) return rate;
  }
  return {};
}

void Limits::compare(BenchRow& row, double flops, double bytes, const std::string& product) const {
  const std::optional<double> products = rate(product), reading = rate(kReadLimit);
  if (!products || !reading || !row.timing) return;
  const double computing = flops / *products, moving = bytes > kCached ? bytes / *reading : 0.0;
  row.share = std::max(computing, moving) / row.timing->median;
  row.limit = computing > moving ? product : kReadLimit;
}

void refuse_too_many(const BenchShape& shape, bool is_knn) {
  // A query that is a row of the base is not its own neighbour.
  const std::int64_t most = shape.rows - (is_knn && shape.counts.size() == 1 ? 1 : 0);
  if (shape.counts.back() <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("--shape {}: expected at most {} {}, as there are {} rows, found {}", show_shape(shape), most,
                          is_knn ? "neighbours" : "centroids", shape.rows, shape.counts.back()));
}

std::vector<BenchShape> parse_shapes(const std::string& suite, const std::vector<std::string>& texts) {
  const bool is_knn = suite == "knn", is_scale = suite == "scale";
  std::vector<BenchShape> shapes;
  for (const std::string& text : texts) {
    const std::size_t counts = (is_knn || is_scale) && std::count(text.begin(), text.end(), ',') == 2 ? 2 : 1;
    shapes.push_back(parse_shape(text, counts, is_knn ? "NxD,Q,K or NxD,K" : is_scale ? "NxD,K or NxD,Q,K" : "NxD,K"));
    refuse_too_many(shapes.back(), is_knn || counts == 2);
  }
  return shapes;
}

std::vector<BenchShape> shapes_of(const BenchRun& run, std::span<const char* const> on_cpu,
                                  std::span<const char* const> on_gpu) {
  const auto own = run.on_gpu() ? on_gpu : on_cpu;
  if (!run.options.shapes.empty()) return parse_shapes(run.options.suite, run.options.shapes);
  return parse_shapes(run.options.suite, {own.begin(), own.end()});
}

Matrix<float> generated_points(std::int64_t rows, std::int64_t columns, const Kind& kind, std::uint64_t seed,
                               Threads& threads) {
  Matrix<float> values(rows, columns);
  Synthetic({.kind = &kind, .rows = rows, .columns = columns, .seed = seed}).fill(0, values.view(), threads);
  return values;
}

void round_to_bytes(MatrixView<float> values, const Kind& kind) {
  std::transform(values.data, values.data + values.size(), values.data,
                 [&kind](float v) { return whole_number(kind, v); });
}

void BenchPoints::make(const BenchShape& shape, const Kind& kind) {
  run_.show_progress(
      fmt::format("{} {}", run_.options.points.empty() ? kind.name : run_.options.points, show_shape(shape)));
  if (points_ && values_.rows() == shape.rows && values_.columns() == shape.columns && kind_ == &kind) return;
  points_.reset();
  values_ = Matrix<float>();
  bytes_ = Matrix<std::uint8_t>();
  if (run_.options.points.empty()) {
    values_ = generated_points(shape.rows, shape.columns, kind, kBenchSeed, run_.threads);
  } else {
    const auto source = data::open_points(run_.options.points, {.precision = data::Precision::f32});
    values_ = std::move(std::get<Matrix<float>>(data::read_all(*source)));
  }
  kind_ = &kind;
  PointsView held = std::as_const(values_).view();
  if (run_.bytes()) {
    round_to_bytes(values_.view(), kind);
    bytes_ = Matrix<std::uint8_t>(shape.rows, shape.columns);
    std::transform(values_.data(), values_.data() + values_.size(), bytes_.data(),
                   [](float v) { return static_cast<std::uint8_t>(v); });
    held = std::as_const(bytes_).view();
  }
  points_ = run_.backend->hold({held, 0});
  plan_ = make_plan(*points_);
  points_->prepare(plan_);
}

Matrix<double> BenchPoints::first_rows(std::int64_t count) const {
  Matrix<double> rows(count, values_.columns());
  std::copy_n(values_.data(), rows.size(), rows.data());
  return rows;
}

Matrix<double> BenchPoints::queries(std::int64_t count) const {
  Matrix<float> drawn(count, values_.columns());
  if (kind_ == kinds().data()) {
    drawn = generated_points(count, values_.columns(), *kind_, kBenchSeed + 1, run_.threads);
    if (run_.bytes()) round_to_bytes(drawn.view(), *kind_);
  } else {
    for (std::int64_t q = 0; q < count; ++q) {
      const std::span<const float> row = values().row(q % values().rows);
      std::ranges::transform(row, drawn.row(q).begin(), [&](float v) { return run_.bytes() ? v : v * 1.001F; });
    }
  }
  Matrix<double> queries(drawn.rows(), drawn.columns());
  std::copy_n(drawn.data(), drawn.size(), queries.data());
  return queries;
}

std::vector<double> time_repeats(std::int64_t repeat, const std::function<void()>& before,
                                 const std::function<void()>& work) {
  constexpr int kWarmUp = 2;
  std::vector<double> seconds;
  for (std::int64_t i = -kWarmUp; i < repeat; ++i) {
    before();
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i >= 0) seconds.push_back(taken.count());
  }
  return seconds;
}

std::string check_labels(MatrixView<const float> points, MatrixView<const double> centroids,
                         std::span<const std::int32_t> labels, Threads& threads) {
  const std::int64_t count = std::min(points.rows, kSample);
  FirstFault fault;
  threads.run(count, [&](std::int64_t task, int) {
    const auto i = static_cast<std::int64_t>(static_cast<double>(task) / static_cast<double>(count) *
                                             static_cast<double>(points.rows));
    std::pair<double, std::int32_t> nearest{std::numeric_limits<double>::infinity(), -1};
    for (std::int64_t c = 0; c < centroids.rows; ++c) {
      const double distance = squared_distance(points.row(i).data(), centroids.row(c).data(), points.columns);
      if (distance < nearest.first) nearest = {distance, static_cast<std::int32_t>(c)};
    }
    if (labels[i] == nearest.second) return;
    fault.note(fmt::format("row {}: expected label {}, found {}", i, nearest.second, labels[i]));
  });
  return fault.text();
}

std::string check_neighbors(MatrixView<const float> base, const Queries& queries, const NeighborLists& lists,
                            Threads& threads) {
  // The definition of few columns takes as long as that of all its lanes.
  const double each =
      static_cast<double>(base.rows) * static_cast<double>(std::max<std::int64_t>(base.columns, kLanes));
  const std::int64_t in_lists = lists.index.rows(), k = lists.index.columns();
  const std::int64_t count =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(kCheckedValues / each), 1, std::min(in_lists, kSample));
  FirstFault fault;
  threads.run(count, [&](std::int64_t task, int) {
    const std::int64_t q = task * (in_lists / count);
    std::vector<std::pair<double, std::int64_t>> all;
    all.reserve(static_cast<std::size_t>(base.rows));
    for (std::int64_t i = 0; i < base.rows; ++i) {
      if (queries.excluded_row >= 0 && i == queries.excluded_row + q) continue;
      all.emplace_back(distance_by(queries.measure, base.row(i).data(), queries.values.row(q).data(), base.columns), i);
    }
    std::partial_sort(all.begin(), all.begin() + k, all.end());
    for (std::int64_t place = 0; place < k; ++place) {
      const auto [distance, row] = all[place];
      if (lists.index(q, place) == row && lists.distance(q, place) == distance) continue;
      fault.note(
          fmt::format("query {}, neighbour {}: expected row {}, found {}", q, place, row, lists.index(q, place)));
      return;
    }
  });
  return fault.text();
}

}  // namespace kith::app
