// kith distances: the matrix of all distances between two sets of points, or within one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/run/file_metric.h"
#include "app/run/memory.h"
#include "app/run/points_job.h"
#include "app/run/results.h"
#include "core/neighbors/neighbors.h"
#include "data/io/output_bytes.h"
#include "data/results/array_file.h"
#include "data/results/label_file.h"

namespace kith::app {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;  // of distances as float64 at a time

struct DistancesOptions {
  std::string a;
  std::string b;  // empty: a again
  bool squared = false;
  CommonOptions common;
  Unit unit() const { return unit_of(metric_of(common), squared); }
};

std::string unused_squared(const DistancesOptions& options) {
  if (options.unit() != Unit::squared && options.unit() != Unit::root)
    return "only Euclidean distances are square roots";
  return options.common.output.empty() && options.common.json ? "no distances are written" : "";
}

void declare(OptionSet& set, DistancesOptions& options) {
  set.positional({.names = "A",
                  .help = "FILE:DATASET whose rows become the rows of the matrix.",
                  .required = "the file with the points",
                  .input = Input::table,
                  .stored = Stored::always},
                 options.a);
  set.positional({.names = "B",
                  .help = "FILE:DATASET whose rows become the columns of the matrix.",
                  .shown_default = "A",
                  .input = Input::table,
                  .stored = Stored::if_changed},
                 options.b);
  set.flag({.names = "--squared",
            .help = "Write squared distances.",
            .stored = Stored::if_changed,
            .no_effect = {[&options] { return unused_squared(options); }}},
           options.squared);
  add_common_options(
      set, options.common,
      "Write the result to this HDF5 file, or the matrix alone to .csv or .npy; it appears only when it is "
      "complete.");
  set["--seed"].no_effect = {[]() -> std::string { return "distances uses no random numbers"; }};
}

/// Where rows of distances go; none of both: standard output, or nothing.
struct Files {
  std::optional<data::ResultFile> result;
  std::optional<data::OutputBytes> plain;  // CSV without a header, or the values of an array
};

/// Writes or prints rows of distances as T.
template <class T>
class Rows {
 public:
  Rows(Unit unit, Files& files, data::LabelFormat format, bool printed)
      : unit_(unit), files_(files), format_(format), printed_(printed) {}

  void append(std::int64_t first, MatrixView<const double> squared) {
    const Matrix<T> out = convert_distances<T>(squared, unit_, first);
    if (files_.result) files_.result->write_rows<T>("distances", first, out.view());
    if (format_ == data::LabelFormat::numpy) files_.plain->write(out.data(), out.size() * sizeof(T));
    for (std::int64_t i = 0; format_ == data::LabelFormat::csv && i < out.rows(); ++i)
      files_.plain->write(fmt::format("{}\n", fmt::join(out.row(i), ",")));
    for (std::int64_t i = 0; printed_ && i < out.rows(); ++i)
      print_out(fmt::format("{}\n", fmt::join(out.row(i), "\t")));
  }

 private:
  Unit unit_;
  Files& files_;
  data::LabelFormat format_;
  bool printed_;
};

/// Host bytes of a row of a block: distances as computed and as written, the row as it is read and as float64.
std::int64_t bytes_of_row(const data::PointSource& a, const data::PointSource& b) {
  return 16 * b.rows() + 16 * a.columns();
}

class DistancesJob final : public PointsJob {
 public:
  DistancesJob(OptionSet& set, DistancesOptions& options) : PointsJob(set, options.common), options_(options) {
    output.endings = {".h5", ".csv", ".npy"};
  }

 private:
  void open() override;
  std::int64_t bytes() const override {
    const std::int64_t held = inputs.second && reads_blocks_ ? -value_bytes(*inputs.first) : 0;
    return held + row_state_bytes(*source) +
           checked_product(block_, bytes_of_row(*inputs.first, *source), "rows of one block");
  }
  std::string needs_memory() const override { return ""; }
  void compute() override;
  void write() override { files_.result ? files_.result->finish() : files_.plain->publish(); }
  std::string next() const override { return target.empty() ? "" : fmt::format("kith info {}", shell_word(target)); }

  std::string stored_command() const override;
  void open_file();
  /// Chooses the rows of a block, and whether the rows of A are read block by block.
  void plan_blocks();
  /// Calls visit(first, rows) for blocks of rows of A in order.
  template <class Visit>
  void for_blocks(const Visit& visit);
  void check();
  template <class T>
  void compute_as();

  DistancesOptions& options_;
  std::int64_t block_ = 0;                      // rows of A at a time
  bool reads_blocks_ = false;                   // A is not in memory
  std::unique_ptr<data::Reading> a_;            // A in memory, if it is not B
  std::unique_ptr<data::PointSource> a_again_;  // A, if it is B, which is read in passes
  Files files_;
};

void DistancesJob::open() {
  take_file_metric({options_.a, options_.b}, set, common);
  inputs = open_inputs(options_.a, options_.b, *this);
  const data::PointSource& a = *inputs.first;
  source = inputs.second ? inputs.second.get() : inputs.first.get();
  report.points = describe(*source);
  if (inputs.second) report.queries = describe(a);
  if (a.columns() == source->columns()) return plan_blocks();
  throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}; give points of the same "
                                          "columns, or choose them with --columns",
                                          source->name(), a.columns(), a.name(), source->columns()));
}

std::string DistancesJob::stored_command() const {
  OptionSet::Replacements words{{"A", stored_name(inputs.first->name())},
                                {"--precision", fmt::format("--precision {}", name_of(inputs.value_class()))}};
  if (inputs.second) words["B"] = stored_name(inputs.second->name());
  return set.stored_command(words);
}

void DistancesJob::open_file() {
  const data::PointSource &a = *inputs.first, *b = inputs.second.get();
  const ValueClass value_class = inputs.value_class();
  if (const auto format = data::label_format(target); format != data::LabelFormat::none) {
    files_.plain.emplace(target, output);
    if (format == data::LabelFormat::csv) return;
    const char* type = value_class == ValueClass::f32 ? "'<f4'" : "'<f8'";
    return files_.plain->write(data::numpy_head(type, {a.rows(), source->rows()}));
  }
  files_.result.emplace(target, output);
  data::ResultFile& file = *files_.result;
  write_head(file, {"kith-distances", stored_command(), value_class, metric_of(common)}, a);
  if (b != nullptr) file.attribute("others", stored_name(b->name()));
  file.attribute("distances", std::string(name_of(options_.unit())));
  value_class == ValueClass::f32 ? file.create_matrix<float>("distances", a.rows(), source->rows())
                                 : file.create_matrix<double>("distances", a.rows(), source->rows());
}

void DistancesJob::plan_blocks() {
  const data::PointSource &a = *inputs.first, &b = *source;
  const std::int64_t usual = kBlockBytes / (8 * std::max(b.rows(), a.columns()));
  block_ = std::clamp<std::int64_t>(common.block_rows > 0 ? common.block_rows : usual, 1, a.rows());
  const std::int64_t points = points_bytes(a) + (inputs.second ? points_bytes(b) : 0);
  const std::int64_t limit = memory_limit(common.memory).bytes;
  if (points + bytes() <= limit) return;
  reads_blocks_ = true;
  constexpr std::int64_t kShare = 3;  // of the memory: each block takes a pass over B
  if (common.block_rows == 0) block_ = std::clamp<std::int64_t>(limit / kShare / bytes_of_row(a, b), 1, a.rows());
}

template <class Visit>
void DistancesJob::for_blocks(const Visit& visit) {
  data::PointSource& a = a_again_ ? *a_again_ : held.spooled && !inputs.second ? *held.spooled : *inputs.first;
  PointsMatrix rows = data::allocate_points(a, reads_blocks_ ? block_ : 0);
  for (std::int64_t first = 0; first < a.rows(); first += block_) {
    const std::int64_t here = std::min(block_, a.rows() - first);
    if (!reads_blocks_) {
      const PointsView all = (a_ ? *a_ : *held.values).values();
      visit(first, std::visit([&](const auto& values) -> PointsView { return values.middle(first, here); }, all));
      continue;
    }
    std::visit(
        [&](auto& values) {
          const auto block = values.view().middle(0, here);
          const PhaseWithin phase(progress, "read");
          a.read(first, block);
        },
        rows);
    visit(first, std::visit([&](const auto& values) -> PointsView { return values.view().middle(0, here); }, rows));
  }
}

/// Throws what check_queries() throws for all rows of A, of which the largest values matter.
void DistancesJob::check() {
  const Measure measure = measure_of(metric_of(common));
  Matrix<double> largest(1, source->columns());
  std::fill_n(largest.data(), largest.size(), 0.0);
  if (measure == Measure::inner_product) {
    for_blocks(
        [&](std::int64_t, const PointsView& rows) { largest(0, 0) = std::max(largest(0, 0), largest_value(rows)); });
  }
  check_queries(*held.points, view_of(PointsMatrix(std::move(largest))), measure);
}

void DistancesJob::compute() {
  if (inputs.second && !reads_blocks_) a_ = read_points(*inputs.first, *this);
  if (!inputs.second) reads_blocks_ = held.reader != nullptr;  // else B is in memory
  if (!inputs.second && reads_blocks_ && !held.spooled) a_again_ = open_input(options_.a, common);
  check();
  if (!target.empty()) open_file();
  inputs.value_class() == ValueClass::f32 ? compute_as<float>() : compute_as<double>();
  report.phase("search").flops = assignment_flops(inputs.first->rows(), source->columns(), source->rows());
}

/// Distances from rows to all held points, block by block.
template <class T>
void DistancesJob::compute_as() {
  Rows<T> rows(options_.unit(), files_, data::label_format(target), target.empty() && !common.json);
  const Measure measure = measure_of(metric_of(common));
  Matrix<double> queries(block_, source->columns()), out(block_, held.points->rows());
  progress.phase("search", inputs.first->rows());
  for_blocks([&](std::int64_t first, const PointsView& from) {
    const auto block = queries.view().middle(0, rows_of(from));
    copy_queries(from, 0, block);
    const auto distances = out.view().middle(0, block.rows);
    held.points->all_distances({block, -1, measure}, distances);
    {
      const PhaseWithin phase(progress, "write");
      rows.append(first, distances);
    }
    progress.progress(first + block.rows);
  });
}

}  // namespace

int run_distances(const Arguments& arguments) {
  DistancesOptions options;
  OptionSet set({.command = "distances",
                 .summary = "the matrix of all distances, rows of A against rows of B (or of A).",
                 .usage = "A [B] [options]",
                 .examples = {"kith distances points.h5:/test points.h5:/train -o distances.h5",
                              "kith distances points.h5:/test --squared -o squares.h5",
                              "kith distances small.h5                 # tab-separated, on standard output"}});
  declare(set, options);
  return set.parse(arguments) ? DistancesJob(set, options).run() : 0;
}

}  // namespace kith::app
