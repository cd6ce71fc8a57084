// Suites `assign`, `sweep` and `iteration`: one assignment of all rows, assignments over a grid of columns and
// centroids (if the time grew linearly in both, the time per row and multiply-add would be the same everywhere in the
// grid), and whole iterations of a run, on generated points or the rows of a file.
//
// As in a run, the backend holds the points once, and small points stay in the caches of the device. Before anything is
// timed, the labels of a sample of rows and the means of some clusters are checked against the definition.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "bench/suites/bench.h"
#include "core/kmeans/kmeans.h"
#include "data/source.h"

namespace kith::app {
namespace {

constexpr std::array kCpuShapes{"1797x64,10",     "10000x64,10",    "200000x128,1024",
                                "50000x784,256",  "100000x64,4096", "100000x512,1024",
                                "1000000x16,100", "2000000x2,16",   "273280x3,64"};
constexpr std::array kGpuShapes{"1000000x128,1024", "1000000x128,4096", "1000000x128,65536", "1000000x256,4096",
                                "1000000x64,1024",  "2500000x512,4096", "1000000x784,256",   "8000000x32,1024",
                                "10000000x16,100",  "10000000x2,16",    "10000x64,10"};
constexpr int kFirstRuns = 4;            // runs that measure the first iteration; the first run warms up
constexpr std::size_t kEarly = 10;       // iterations before the part that is reported as `converging`
constexpr int kConvergenceLimit = 1000;  // iterations of a run to convergence

double flops_of(const BenchShape& shape) {
  return 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.columns) *
         static_cast<double>(shape.counts[0]);
}

/// counts: an Assignment or IterationRecord of this many rows.
template <class Counts>
void note_screen(BenchRow& row, const Counts& counts, std::int64_t rows) {
  if (counts.screened == 0) return;
  row.certified = 1.0 - static_cast<double>(counts.ambiguous) / static_cast<double>(counts.screened);
  row.candidates = static_cast<double>(counts.candidates) / static_cast<double>(rows);
}

Assignment assign_once(Points& points, MatrixView<const double> centroids) {
  AssignRequest request;
  request.centroids = centroids;
  Assignment assignment(centroids.rows);
  points.assign(request, assignment);
  return assignment;
}

/// The shapes of the command line, the shape of the file of --points, or the suite's own shapes.
std::vector<BenchShape> iteration_shapes(const BenchRun& run) {
  if (run.options.points.empty()) return shapes_of(run, kCpuShapes, kGpuShapes);
  const auto source = data::open_points(run.options.points, {.precision = data::Precision::f32});
  const BenchShape shape{source->rows(), source->columns(), {run.options.clusters}};
  refuse_too_many(shape, false);
  return {shape};
}

/// A row with its time, its rate by 2 n k d multiply-adds, and its share of the limit: that of the products, or that of
/// reading the points once.
BenchRow timed_row(const BenchRun& run, const std::string& name, const BenchShape& shape, const BenchPoints& held,
                   const std::vector<double>& seconds) {
  BenchRow row{.name = name,
               .shape = show_shape(shape),
               .data = held.data(),
               .timing = timing_of(seconds),
               .unit = WorkUnit::flops};
  row.rate = flops_of(shape) / row.timing->median;
  run.limits.compare(row, flops_of(shape),
                     run.value_bytes() * static_cast<double>(shape.rows) * static_cast<double>(shape.columns),
                     run.product);
  return row;
}

std::vector<std::int32_t> labels_of(const Points& points) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(points.rows()));
  points.labels(labels);
  return labels;
}

/// Collects the times of the iterations of each run.
class Recorder final : public Observer {
 public:
  void phase(const std::string& name, std::int64_t) override {
    if (name == "iterate") runs.emplace_back();
    if (name == "assign") last_ended = std::chrono::steady_clock::now();
  }
  void iteration(const IterationRecord& record) override {
    runs.back().push_back(record.seconds);
    if (runs.back().size() > 1) later_assigning.push_back(record.assign_seconds);
    last = record;
    if (runs.back().size() > kEarly) late_screened += record.screened;
  }
  std::vector<std::vector<double>> runs;
  std::vector<double> later_assigning;  // of the iterations after the first
  std::int64_t late_screened = 0;       // after the first kEarly iterations of a run
  IterationRecord last;
  std::chrono::steady_clock::time_point last_ended;  // the last iteration of the last run
};

/// Compares the centroids after one iteration with the means of the rows of the first clusters, as `labels` assigns
/// them; clusters without rows keep the centroids of `start`. Returns the first difference, or an empty text.
std::string check_means(const BenchPoints& held, std::span<const std::int32_t> labels, const Matrix<double>& start,
                        MatrixView<const double> found) {
  const MatrixView<const float> points = held.values();
  const std::int64_t some = std::min<std::int64_t>(found.rows, 8), d = found.columns;
  std::vector<double> sum(static_cast<std::size_t>(some * d)), largest(sum.size());
  std::vector<double> count(static_cast<std::size_t>(some));
  for (std::int64_t i = 0; i < points.rows; ++i) {
    if (labels[i] >= some) continue;
    count[labels[i]] += 1.0;
    for (std::int64_t j = 0; j < d; ++j) {
      sum[labels[i] * d + j] += points(i, j);
      largest[labels[i] * d + j] = std::max(largest[labels[i] * d + j], std::abs(static_cast<double>(points(i, j))));
    }
  }
  for (std::int64_t c = 0; c < some; ++c) {
    for (std::int64_t j = 0; j < d; ++j) {
      const double mean = count[c] > 0.0 ? sum[c * d + j] / count[c] : start(c, j);
      const double grid = std::ldexp(1.0, -held.plan().scales.shift[j]);  // to which kith rounds the values of a column
      if (std::abs(found(c, j) - mean) <= 1e-9 * largest[c * d + j] + grid) continue;
      return fmt::format("centroid {}, column {}: expected {}, found {}", c, j, mean, found(c, j));
    }
  }
  return "";
}

std::string check_iteration(const BenchPoints& held, const BenchShape& shape, Threads& threads) {
  Observer silent;
  const Matrix<double> start = held.first_rows(shape.counts[0]);
  held.points().reset();
  assign_once(held.points(), start.view());
  const std::vector<std::int32_t> labels = labels_of(held.points());
  const KMeansResult one = kmeans(
      held.points(), held.plan(),
      {.clusters = shape.counts[0], .init = Init::first, .max_iterations = 1, .tolerance = 0, .empty = EmptyRule::keep},
      silent);
  const std::string means = check_means(held, labels, start, one.centroids.view());
  return means.empty() ? check_labels(held.values(), one.centroids.view(), one.labels, threads) : means;
}

/// Adds the update of a first iteration, and the iterations of a run after the tenth.
/// first: times of whole first iterations.
void add_converging(BenchRun& run, const BenchShape& shape, const BenchPoints& held, const Timing& first,
                    std::vector<BenchRow>& rows) {
  const Matrix<double> start = held.first_rows(shape.counts[0]);
  const Timing assigning = timing_of(time_repeats(
      run.options.repeat, [&] { held.points().reset(); }, [&] { assign_once(held.points(), start.view()); }));
  const double update = std::max(first.median - assigning.median, 0.0);
  rows.push_back({.name = "first, update",
                  .shape = show_shape(shape),
                  .timing = Timing{update, update, update, first.count},
                  .note = "first iteration minus one assignment"});
  Recorder whole;
  kmeans(held.points(), held.plan(),
         {.clusters = shape.counts[0], .init = Init::random, .max_iterations = kConvergenceLimit, .tolerance = 0},
         whole);
  const std::vector<double>& seconds = whole.runs[0];
  if (seconds.size() <= kEarly) return;
  const std::vector<double> late(seconds.begin() + kEarly, seconds.end());
  rows.push_back(timed_row(run, "converging", shape, held, late));
  const double all = static_cast<double>(late.size()) * static_cast<double>(shape.rows);
  rows.back().note = fmt::format("iterations {} to {}, {:.1f} % of the rows screened", kEarly + 1, seconds.size(),
                                 100.0 * static_cast<double>(whole.late_screened) / all);
}

/// Appends the first iteration of several runs, the later iterations of one, and what follows its last: an assignment,
/// the inertia, and the rows nearest to the centroids.
void measure_iterations(BenchRun& run, const BenchShape& shape, const BenchPoints& held, std::vector<BenchRow>& rows) {
  if (const std::string wrong = check_iteration(held, shape, run.threads); !wrong.empty()) {
    rows.push_back({.name = "first", .shape = show_shape(shape), .data = held.data(), .wrong = wrong});
    return;
  }
  KMeansOptions options{.clusters = shape.counts[0], .init = Init::random, .tolerance = 0};
  // A backend that does several iterations in one call reports their mean time, so the first is measured alone.
  options.runs = kFirstRuns;
  options.max_iterations = 1;
  Recorder alone;
  kmeans(held.points(), held.plan(), options, alone);
  std::vector<double> first;
  for (std::size_t run_number = 1; run_number < alone.runs.size(); ++run_number) {
    first.push_back(alone.runs[run_number].front());
  }
  rows.push_back(timed_row(run, "first", shape, held, first));
  note_screen(rows.back(), alone.last, shape.rows);

  options.runs = 1;
  options.max_iterations = static_cast<int>(2 * run.options.repeat) + 1;
  Recorder whole;
  kmeans(held.points(), held.plan(), options, whole);
  const std::chrono::duration<double> after = std::chrono::steady_clock::now() - whole.last_ended;
  const std::vector<double> later(whole.runs[0].begin() + 1, whole.runs[0].end());
  if (later.empty()) return;  // converged in the first iteration
  rows.push_back(timed_row(run, "later", shape, held, later));
  note_screen(rows.back(), whole.last, shape.rows);
  if (const double pruned = 100 * whole.last.pruned(); pruned >= 1) {
    rows.back().note = fmt::format("{:.0f} % of the products pruned", pruned);
  }
  if (whole.later_assigning.front() > 0.0) {
    rows.push_back(timed_row(run, "later, assignment", shape, held, whole.later_assigning));
  }
  rows.push_back({.name = "after the last",
                  .shape = show_shape(shape),
                  .data = held.data(),
                  .timing = timing_of({after.count()})});
  if (!run.options.points.empty()) add_converging(run, shape, held, timing_of(first), rows);
}

/// Enough rows to exceed the caches, to keep all threads busy, and for the largest K of the grid.
std::int64_t rows_for(std::int64_t columns) {
  constexpr std::int64_t kValues = std::int64_t{1} << 23, kFewest = 4096, kMost = std::int64_t{1} << 20;
  return std::clamp(kValues / columns, kFewest, kMost);
}

std::vector<BenchShape> grid_shapes() {
  std::vector<BenchShape> shapes;
  for (std::int64_t columns = 2; columns <= 2048; columns *= 4) {
    for (const std::int64_t clusters : {2, 8, 32, 128, 512, 1024, 4096}) {
      shapes.push_back({rows_for(columns), columns, {clusters}});
    }
  }
  return shapes;
}

}  // namespace

BenchRow assigned_row(const BenchRun& run, const BenchShape& shape, const BenchPoints& held) {
  const Matrix<double> centroids = held.first_rows(shape.counts[0]);
  held.points().reset();
  const Assignment found = assign_once(held.points(), centroids.view());
  const std::string wrong = check_labels(held.values(), centroids.view(), labels_of(held.points()), run.threads);
  if (!wrong.empty()) {
    return {.name = "assignment", .shape = show_shape(shape), .data = held.data(), .wrong = wrong};
  }
  const auto seconds = time_repeats(
      run.options.repeat, [&] { held.points().reset(); }, [&] { assign_once(held.points(), centroids.view()); });
  BenchRow row = timed_row(run, "assignment", shape, held, seconds);
  note_screen(row, found, shape.rows);
  return row;
}

std::vector<BenchRow> bench_assign(BenchRun& run) {
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : shapes_of(run, kCpuShapes, kGpuShapes)) {
    for (const Kind* kind : run.kinds) {
      held.make(shape, *kind);
      rows.push_back(assigned_row(run, shape, held));
    }
  }
  return rows;
}

std::vector<BenchRow> bench_sweep(BenchRun& run) {
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : run.options.shapes.empty() ? grid_shapes() : shapes_of(run, {}, {})) {
    for (const Kind* kind : run.kinds) {
      held.make(shape, *kind);
      BenchRow row = assigned_row(run, shape, held);
      if (row.timing) {
        const double each = row.timing->median / static_cast<double>(shape.rows);
        const auto products = static_cast<double>(shape.counts[0]) * static_cast<double>(shape.columns);
        row.note = fmt::format("{:.3g} ns per row, {:.3g} ps per multiply-add", each * 1e9, each * 1e12 / products);
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<BenchRow> bench_iteration(BenchRun& run) {
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : iteration_shapes(run)) {
    for (const Kind* kind : run.kinds) {
      held.make(shape, *kind);
      measure_iterations(run, shape, held, rows);
    }
  }
  return rows;
}

}  // namespace kith::app
