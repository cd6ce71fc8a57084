// What the suites of `kith bench` share: results and their tables, options, backend, limits, shapes, generated points
// and checks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/run/job.h"
#include "app/synthetic/synthetic.h"
#include "bench/measurement.h"
#include "core/runtime/threads.h"
#include "pictures/pictures.h"

namespace kith::app {

/// Statistics of repeated timings, in seconds.
struct Timing {
  double median = 0.0;
  double lowest = 0.0;
  double highest = 0.0;
  std::int64_t count = 0;
};

/// seconds: of at least one repetition.
Timing timing_of(std::vector<double> seconds);

/// One measurement. Fields that do not apply are empty; columns in which every field is empty are not printed.
struct BenchRow {
  std::string name{};
  std::string shape{};
  std::string data{};  // kind of generated points
  std::optional<Timing> timing{};
  double rate = 0.0;  // units of work per second, at the median
  WorkUnit unit = WorkUnit::none;
  std::optional<double> share{};       // of the limit, which is measured in the same run
  std::string limit{};                 // its name
  std::optional<double> over_noise{};  // time over that of noise of the same shape in this run
  std::optional<double> certified{};   // share of the screened rows, or queries, that the screen certified
  std::optional<double> candidates{};  // distances computed by the definition per row, or per query
  std::string published{};
  std::string note{};
  std::string wrong{};  // first difference from the definition; empty: none
};

struct BenchReport {
  std::string suite;
  std::string backend;
  std::string device;
  std::int64_t threads = 0;
  std::vector<BenchRow> rows;
  bool wrong() const;
};

/// Fills over_noise of the other kinds where noise was measured.
void compare_with_noise(std::vector<BenchRow>& rows);
/// The heads, then a row of cells for each measurement.
std::vector<std::vector<std::string>> cells_of(const BenchReport& report);
/// A table of at most `width` columns of text.
std::string aligned_table(const std::vector<std::vector<std::string>>& cells, std::size_t width);
std::string markdown_table(const std::vector<std::vector<std::string>>& cells);
/// One JSON object and a line feed. Several reports are the `suites` of the suite all.
std::string to_json(const BenchReport& report);
std::string to_json(const std::vector<BenchReport>& reports);

/// A report with the summary of its suite.
struct TitledReport {
  std::string title;
  BenchReport report;
};

/// A warning if the times of some measurements differ much, so that none of them says much; else empty.
std::string busy_warning(const std::vector<TitledReport>& reports);
/// Names the machine, the commit and the day. reports: of one run, at least one.
pictures::Page bench_page(const std::vector<TitledReport>& reports, const std::string& command);

class BenchPoints;

struct BenchOptions {
  std::string suite;                 // empty: list the suites
  std::vector<std::string> shapes;   // empty: the suite's own shapes
  std::string data = "noise";        // kinds of generated points, with commas between them, or "all"
  std::string points;                // file whose rows replace the generated points; empty: none
  std::int64_t clusters = 64;        // for `points`
  std::string type = "float32";      // or "uint8"
  std::string metric = "euclidean";  // for knn; or "inner-product", "hamming", "jaccard"
  bool radius = false;               // knn: all rows within a radius in place of the k nearest
  std::int64_t repeat = 10;
  bool markdown = false;
  CommonOptions common;
};

/// `kith bench ARGUMENTS`. Returns the exit code.
int measure(const Arguments& arguments);

/// Parses "1000000x128,1024": n x d, then `counts` numbers. Throws Error(usage), which shows the expected `form`.
BenchShape parse_shape(const std::string& text, std::size_t counts, const std::string& form);
std::string show_shape(const BenchShape& shape);

/// Limits of the machine by name, in units per second, as measured in this run.
class Limits {
 public:
  explicit Limits(const std::vector<Measurement>& lines);
  std::optional<double> rate(const std::string& name) const;

  /// Fills row.share and row.limit from the lower bound on the time: that of the products or that of reading memory,
  /// whichever is larger. Fills nothing if one of the two limits is unknown.
  void compare(BenchRow& row, double flops, double bytes, const std::string& product) const;

 private:
  std::vector<std::pair<std::string, double>> rates_;
};

/// One run of `kith bench`.
struct BenchRun {
  const BenchOptions& options;
  Job& job;
  std::unique_ptr<Backend> backend;
  Threads& threads;     // generate points and check results
  Limits limits;        // of the backend
  std::string product;  // name of the limit for the backend's products
  /// The kinds to measure; noise alone if the points come from a file.
  std::vector<const Kind*> kinds;

  bool bytes() const { return options.points.empty() && options.type == "uint8"; }
  double value_bytes() const { return bytes() ? 1.0 : 4.0; }  // bytes per value of the points
  bool on_gpu() const { return job.report.backend == "cuda"; }
  void show_progress(const std::string& what) const { job.progress.phase(what, 0); }
};

/// Suites over points. Each returns one or more rows for each shape and kind.
std::vector<BenchRow> bench_assign(BenchRun& run);     // shapes NxD,K
std::vector<BenchRow> bench_sweep(BenchRun& run);      // assignments over a grid of D and K
std::vector<BenchRow> bench_iteration(BenchRun& run);  // shapes NxD,K
std::vector<BenchRow> bench_scale(BenchRun& run);      // shapes NxD,K
std::vector<BenchRow> bench_knn(BenchRun& run);        // shapes NxD,Q,K, or NxD,K if the points are the queries

/// Checks, then times, one assignment of the points of `shape` to their first K rows as centroids.
BenchRow assigned_row(const BenchRun& run, const BenchShape& shape, const BenchPoints& held);

/// Throws Error(usage) for more centroids or neighbours than there are rows to choose from.
void refuse_too_many(const BenchShape& shape, bool is_knn);
/// The shapes of a suite that holds points. Throws Error(usage) for texts of another form and as refuse_too_many().
std::vector<BenchShape> parse_shapes(const std::string& suite, const std::vector<std::string>& texts);

/// The shapes of the command line, or the suite's own shapes for this backend.
std::vector<BenchShape> shapes_of(const BenchRun& run, std::span<const char* const> on_cpu,
                                  std::span<const char* const> on_gpu);

/// The points of `kith generate --kind KIND --seed 20`, or of another seed.
inline constexpr std::uint64_t kBenchSeed = 20;
Matrix<float> generated_points(std::int64_t rows, std::int64_t columns, const Kind& kind, std::uint64_t seed,
                               Threads& threads);
void round_to_bytes(MatrixView<float> values, const Kind& kind);

/// Points that the backend holds and has prepared: generated ones, or the rows of --points. Consecutive shapes with
/// the same points share them.
class BenchPoints {
 public:
  explicit BenchPoints(BenchRun& run) : run_(run) {}
  /// Shows the shape as progress.
  void make(const BenchShape& shape, const Kind& kind);

  MatrixView<const float> values() const { return values_.view(); }
  Points& points() const { return *points_; }
  const DataPlan& plan() const { return plan_; }
  /// The name of the kind; empty for the rows of a file.
  std::string data() const { return run_.options.points.empty() ? kind_->name : ""; }
  /// The first rows as float64.
  Matrix<double> first_rows(std::int64_t count) const;
  /// Queries of a search: further rows of noise, or rows of the points times 1.001, near which there are others.
  Matrix<double> queries(std::int64_t count) const;

 private:
  BenchRun& run_;
  Matrix<float> values_;
  Matrix<std::uint8_t> bytes_;  // the same values, if the backend holds bytes
  const Kind* kind_ = nullptr;
  std::unique_ptr<Points> points_;
  DataPlan plan_;
};

/// Times `work` in seconds, `repeat` times after warming up. `before` runs before each repetition, untimed.
std::vector<double> time_repeats(std::int64_t repeat, const std::function<void()>& before,
                                 const std::function<void()>& work);

// Checks of a sample of rows against the definition. They return the first difference, or an empty text.
/// Checks 1024 rows, or all if there are fewer.
std::string check_labels(MatrixView<const float> points, MatrixView<const double> centroids,
                         std::span<const std::int32_t> labels, Threads& threads);
/// lists: the lists of the first rows of `queries`.
std::string check_neighbors(MatrixView<const float> base, const Queries& queries, const NeighborLists& lists,
                            Threads& threads);

}  // namespace kith::app
