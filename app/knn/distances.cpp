// kith distances: the matrix of all distances between two sets of points, or within one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/run/memory.h"
#include "app/run/model.h"
#include "app/run/points_run.h"
#include "app/run/results.h"
#include "core/neighbors/neighbors.h"
#include "data/io/output_file.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

constexpr std::int64_t kDistanceBytes = std::int64_t{64} << 20;  // of distances as float64 at a time

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
      "Write the result to this HDF5 file, or the matrix alone to .csv, .npy or .fbin (float32); it appears only "
      "when it is complete.");
  add_bits_option(set, options.common);
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
    if (format_ == data::LabelFormat::vectors) {
      std::vector<float> narrow(out.size());
      std::ranges::transform(std::span(out.data(), narrow.size()), narrow.begin(),
                             [](T x) { return static_cast<float>(x); });
      files_.plain->write(narrow.data(), narrow.size() * sizeof(float));
    }
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

/// How the rows of A are divided into blocks.
struct RowBlocks {
  std::int64_t rows = 0;  // of A at a time
  bool are_read = false;  // A is not in memory
};

/// Host bytes of the run besides the points.
std::int64_t block_memory(const RowBlocks& blocks, const PointsRun& run) {
  const data::PointSource& a = *run.inputs.first;
  const std::int64_t held = run.inputs.second && blocks.are_read ? -value_bytes(a) : 0;
  return held + row_state_bytes(*run.source) +
         checked_product(blocks.rows, bytes_of_row(a, *run.source), "rows of one block");
}

void open_both(DistancesOptions& options, PointsRun& run) {
  take_file_metric({options.a, options.b}, run.set, options.common);
  run.inputs = open_inputs(options.a, options.b, run);
  const data::PointSource& a = *run.inputs.first;
  run.source = run.inputs.second ? run.inputs.second.get() : run.inputs.first.get();
  run.report.points = describe(*run.source);
  if (run.inputs.second) run.report.queries = describe(a);
  require_same_columns(a, *run.source, "points");
}

/// Chooses the rows of a block, and whether the rows of A are read block by block.
RowBlocks plan_blocks(const PointsRun& run) {
  const data::PointSource &a = *run.inputs.first, &b = *run.source;
  const std::int64_t wanted = run.common.block_rows, usual = kDistanceBytes / (8 * std::max(b.rows(), a.columns()));
  RowBlocks blocks{std::clamp<std::int64_t>(wanted > 0 ? wanted : usual, 1, a.rows())};
  const std::int64_t points = points_bytes(a) + (run.inputs.second ? points_bytes(b) : 0);
  const std::int64_t limit = memory_limit(run.common.memory).bytes;
  if (points + block_memory(blocks, run) <= limit) return blocks;
  blocks.are_read = true;
  constexpr std::int64_t kShare = 3;  // of the memory: each block takes a pass over B
  if (wanted == 0) blocks.rows = std::clamp<std::int64_t>(limit / kShare / bytes_of_row(a, b), 1, a.rows());
  return blocks;
}

Needs needs_of(const RowBlocks& blocks, const PointsRun& run) {
  OptionSet::Replacements words = stored_words("A", *run.inputs.first, run.inputs.value_class(), run.common);
  if (run.inputs.second) words["B"] = stored_name(run.inputs.second->name());
  return {.stored_command = run.set.stored_command(words),
          .writes_result = !run.target.empty(),
          .bytes = block_memory(blocks, run),
          .work = {{.phase = "search", .operation = Operation::measure, .size = run.inputs.first->rows()}},
          .is_all_work = false};
}

/// The rows of A during the computation.
struct RowsOfA {
  RowBlocks blocks;
  std::unique_ptr<data::Reading> held = {};       // in memory, if A is not B
  std::unique_ptr<data::PointSource> again = {};  // to be read, if A is B, which is read in passes
};

RowsOfA open_rows(const DistancesOptions& options, RowBlocks blocks, PointsRun& run) {
  RowsOfA rows{blocks};
  if (run.inputs.second && !blocks.are_read) rows.held = read_points(*run.inputs.first, run);
  if (run.inputs.second) return rows;
  rows.blocks.are_read = run.held.reader != nullptr;  // else B is in memory
  if (rows.blocks.are_read && !run.held.spooled) rows.again = open_input(options.a, run.common);
  return rows;
}

/// Calls visit(first, rows) for blocks of rows of A in order.
template <class Visit>
void for_blocks(const RowsOfA& of, PointsRun& run, const Visit& visit) {
  const std::int64_t block = of.blocks.rows;
  const bool are_spooled = run.held.spooled && !run.inputs.second;
  data::PointSource& a = of.again ? *of.again : are_spooled ? *run.held.spooled : *run.inputs.first;
  PointsMatrix rows = data::allocate_points(a, of.blocks.are_read ? block : 0);
  for (std::int64_t first = 0; first < a.rows(); first += block) {
    const std::int64_t here = std::min(block, a.rows() - first);
    if (!of.blocks.are_read) {
      const PointsView all = (of.held ? *of.held : *run.held.values).values();
      visit(first, std::visit([&](const auto& values) -> PointsView { return values.middle(first, here); }, all));
      continue;
    }
    std::visit(
        [&](auto& values) {
          const PhaseWithin phase(run.progress, "read");
          a.read(first, values.view().middle(0, here));
        },
        rows);
    visit(first, std::visit([&](const auto& values) -> PointsView { return values.view().middle(0, here); }, rows));
  }
}

/// Throws what check_queries() throws for all rows of A, of which the largest values matter.
void check_values(const RowsOfA& rows, PointsRun& run) {
  const Measure measure = measure_of(metric_of(run.common));
  Matrix<double> largest(1, run.source->columns());
  std::fill_n(largest.data(), largest.size(), 0.0);
  if (measure == Measure::inner_product) {
    for_blocks(rows, run, [&](std::int64_t, const PointsView& block) {
      largest(0, 0) = std::max(largest(0, 0), largest_value(block));
    });
  }
  check_queries(*run.held.points, view_of(PointsMatrix(std::move(largest))), measure);
}

void open_files(const DistancesOptions& options, Files& files, const PointsRun& run) {
  const data::PointSource &a = *run.inputs.first, &b = *run.source;
  const bool is_narrow = run.inputs.value_class() == ValueClass::f32;
  if (run.target.empty()) return;
  if (const auto format = data::label_format(run.target); format != data::LabelFormat::none) {
    files.plain.emplace(run.target, run.output);
    if (format == data::LabelFormat::csv) return;
    if (format == data::LabelFormat::vectors) return files.plain->write(data::vectors_head(a.rows(), b.rows()));
    return files.plain->write(data::numpy_head(is_narrow ? "'<f4'" : "'<f8'", {a.rows(), b.rows()}));
  }
  files.result.emplace(run.target, run.output);
  data::ResultFile& file = *files.result;
  write_head(file, {"kith-distances", run.needs.stored_command, run.inputs.value_class(), metric_of(run.common)}, a);
  if (run.inputs.second) file.attribute("others", stored_name(b.name()));
  file.attribute("distances", std::string(name_of(options.unit())));
  is_narrow ? file.create_matrix<float>("distances", a.rows(), b.rows())
            : file.create_matrix<double>("distances", a.rows(), b.rows());
}

/// Distances from rows of A to all held points, block by block.
template <class T>
void compute_as(const DistancesOptions& options, const RowsOfA& rows, Files& files, PointsRun& run) {
  Rows<T> out(options.unit(), files, data::label_format(run.target), run.target.empty() && !run.common.json);
  const Measure measure = measure_of(metric_of(run.common));
  Matrix<double> queries(rows.blocks.rows, run.source->columns());
  Matrix<double> computed(rows.blocks.rows, run.held.points->rows());
  run.progress.phase("search", run.inputs.first->rows());
  for_blocks(rows, run, [&](std::int64_t first, const PointsView& from) {
    const auto block = queries.view().middle(0, rows_of(from));
    copy_queries(from, 0, block);
    const auto distances = computed.view().middle(0, block.rows);
    run.held.points->all_distances({block, -1, measure}, distances);
    {
      const PhaseWithin phase(run.progress, "write");
      out.append(first, distances);
    }
    run.progress.progress(first + block.rows);
  });
}

/// Computes all distances, and writes or prints them meanwhile.
void compute(const DistancesOptions& options, const RowBlocks& blocks, Files& files, PointsRun& run) {
  const RowsOfA rows = open_rows(options, blocks, run);
  check_values(rows, run);
  open_files(options, files, run);
  run.inputs.value_class() == ValueClass::f32 ? compute_as<float>(options, rows, files, run)
                                              : compute_as<double>(options, rows, files, run);
  run.report.phase("search").flops =
      assignment_flops(run.inputs.first->rows(), run.source->columns(), run.source->rows());
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
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, {".h5", ".csv", ".npy", ".fbin"});
  check_outputs(run);
  open_both(options, run);
  const RowBlocks blocks = plan_blocks(run);
  if (!begin(run, needs_of(blocks, run))) return 0;
  hold_points(run);
  Files files;
  compute(options, blocks, files, run);
  end_computation(run);
  if (begin_write(run)) files.result ? files.result->finish() : files.plain->publish();
  return finish(run, run.target.empty() ? "" : fmt::format("kith info {}", shell_word(run.target)));
}

}  // namespace kith::app
