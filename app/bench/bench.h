// What the suites of `kith bench` share: what was asked, the backend, the limits, shapes and generated points.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/bench/bench_table.h"
#include "app/run/job.h"
#include "kernels/bench.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::app {

class BenchPoints;

struct BenchOptions {
  std::string suite;                 // empty: list them
  std::vector<std::string> shapes;   // empty: those of the suite
  std::string data = "normal";       // or "clusters"
  std::string points;                // a file whose rows are taken instead; empty: none
  std::int64_t clusters = 64;        // for `points`
  std::string type = "float32";      // or "uint8"
  std::string metric = "euclidean";  // of knn, or "inner-product"
  bool radius = false;               // knn: rows within a distance instead of lists
  std::int64_t repeat = 10;
  bool markdown = false;
  CommonOptions common;
};

/// "1000000x128,1024": n x d, then `counts` numbers. `form` is shown when it is not so. Throws Error(usage).
BenchShape parse_shape(const std::string& text, std::size_t counts, const std::string& form);
std::string show_shape(const BenchShape& shape);

/// Rates that were measured in this run, by name, in units per second.
class Limits {
 public:
  explicit Limits(const std::vector<Measurement>& lines);
  std::optional<double> rate(const std::string& name) const;

  /// Fills row.share and row.limit: work cannot take less time than its products or its reading of memory take alone.
  /// Nothing is filled where a limit is not known.
  void hold(BenchRow& row, double flops, double bytes, const std::string& product) const;

 private:
  std::vector<std::pair<std::string, double>> rates_;
};

/// One run of `kith bench`.
struct BenchRun {
  const BenchOptions& options;
  Invocation& invocation;
  std::unique_ptr<Backend> backend;
  cpu::Threads& threads;  // for generating and checking
  Limits limits;          // of the backend
  std::string product;    // the limit that products of this backend are held against

  bool bytes() const { return options.points.empty() && options.type == "uint8"; }
  double value_bytes() const { return bytes() ? 1.0 : 4.0; }  // of the points
  bool on_gpu() const { return invocation.report.backend == "cuda"; }
  void tell(const std::string& what) const { invocation.progress.phase(what, 0); }
};

/// Suites over points: one row, or a few, for each shape.
std::vector<BenchRow> bench_assign(BenchRun& run);     // shapes NxD,K
std::vector<BenchRow> bench_sweep(BenchRun& run);      // the same over a grid of D and K
std::vector<BenchRow> bench_iteration(BenchRun& run);  // shapes NxD,K
std::vector<BenchRow> bench_unproven(BenchRun& run);   // `iteration` without a part of the contract
std::vector<BenchRow> bench_knn(BenchRun& run);        // shapes NxD,Q,K, or NxD,K for a set in itself

// What the suites of k-means share.
inline constexpr int kFirstRuns = 4;  // first iterations; one of them warms up
/// Of a run, beside the first.
inline std::int64_t later_iterations(const BenchRun& run) { return 2 * run.options.repeat; }
/// The shapes to iterate on: those of the command line, of the file of --points, or the suite's own.
std::vector<BenchShape> iteration_shapes(const BenchRun& run);
/// A row with its time, its rate by 2 n k d, and its share of the limit: those products, or one reading of the points.
BenchRow timed_row(const BenchRun& run, const std::string& name, const BenchShape& shape,
                   const std::vector<double>& seconds);
/// One assignment to the first rows, checked, then timed. held: the points of the shape.
BenchRow assigned_row(const BenchRun& run, const BenchShape& shape, BenchPoints& held);
std::vector<std::int32_t> labels_of(const Points& points);

/// Shapes of the command line, or the suite's own for this backend.
std::vector<BenchShape> shapes_of(const BenchRun& run, std::span<const char* const> on_cpu,
                                  std::span<const char* const> on_gpu);

/// Standard normal values, the same for the same shape; with clusters above 0, row i lies around center i % clusters,
/// and centers lie ten times as far apart. `set` tells apart matrices of one run.
Matrix<float> normal_points(std::int64_t rows, std::int64_t columns, std::int64_t clusters, std::uint64_t set,
                            cpu::Threads& threads);
/// Makes whole numbers 0 to 255 of them: 128 + 32 v, or with clusters 128 + 4 v, which has room for their centers.
void round_to_bytes(MatrixView<float> values, std::int64_t clusters);

/// Points, generated or those of --points, held and prepared; those of the last shape are used again when the next one
/// has the same.
class BenchPoints {
 public:
  explicit BenchPoints(BenchRun& run) : run_(run) {}
  void make(const BenchShape& shape, std::int64_t clusters);

  MatrixView<const float> values() const { return values_.view(); }
  Points& points() { return *points_; }
  const DataPlan& plan() const { return plan_; }
  /// The first rows as float64.
  Matrix<double> first_rows(std::int64_t count) const;

 private:
  BenchRun& run_;
  Matrix<float> values_;
  Matrix<std::uint8_t> bytes_;  // the same values, where they are held as bytes
  std::int64_t clusters_ = -1;
  std::unique_ptr<Points> points_;
  DataPlan plan_;
};

/// The points of a shape, said on standard error while they are made. Throws Error(usage) for too many centroids.
void make_points(BenchRun& run, const BenchShape& shape, BenchPoints& held);

/// Seconds of `work`, `repeat` times after warming up; `before` is not timed.
std::vector<double> time_repeats(std::int64_t repeat, const std::function<void()>& before,
                                 const std::function<void()>& work);

// Checks against the definition: all candidates of a sample of rows. They return what differs, or nothing.
/// At least 1000 rows (all, if fewer).
struct LabelCheck {
  std::int64_t rows = 0, wrong = 0;
  std::string first_wrong;  // empty: none is
};
LabelCheck compare_labels(MatrixView<const float> points, MatrixView<const double> centroids,
                          std::span<const std::int32_t> labels, cpu::Threads& threads);
std::string check_labels(MatrixView<const float> points, MatrixView<const double> centroids,
                         std::span<const std::int32_t> labels, cpu::Threads& threads);
/// `lists`: of the first of the queries. excluded_row: that of query 0 in the base.
std::string check_neighbors(MatrixView<const float> base, const Queries& queries, const NeighborLists& lists,
                            cpu::Threads& threads);

}  // namespace kith::app
