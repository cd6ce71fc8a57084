// kith distances: the matrix of all distances between two sets of points, or within one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/run/job.h"
#include "app/run/memory.h"
#include "app/run/results.h"
#include "core/neighbors.h"

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

void declare(OptionSet& set, DistancesOptions& options) {
  set.positional({.names = "A", .help = "FILE:DATASET whose rows become the rows of the matrix."}, options.a);
  set.positional(
      {.names = "B", .help = "FILE:DATASET whose rows become the columns of the matrix.", .shown_default = "A"},
      options.b);
  set.flag({.names = "--squared", .help = "Distances squared instead of their roots."}, options.squared);
  add_common_options(set, options.common);
}

void warn_of_options(const OptionSet& set, const DistancesOptions& options, Invocation& invocation) {
  invocation.warn_without_effect(set, "--seed", "distances draws nothing at random");
  if (options.common.output.empty() && options.common.json) {
    invocation.warn_without_effect(set, "--squared", "no distances are written");
  }
  if (options.unit() != Unit::squared && options.unit() != Unit::root) {
    invocation.warn_without_effect(set, "--squared", "only Euclidean distances are roots of something");
  }
  invocation.warn_of_text_options(set, {options.a, options.b});
  invocation.warn_without_effect(set);
}

/// Rows of distances on their way out, as T.
template <class T>
class Rows {
 public:
  Rows(Unit unit, data::ResultFile* file, bool printed) : unit_(unit), file_(file), printed_(printed) {}

  void take(std::int64_t first, MatrixView<const double> squared) {
    const Matrix<T> out = convert_distances<T>(squared, unit_, first);
    if (file_ != nullptr) file_->write_rows<T>("distances", first, out.view());
    for (std::int64_t i = 0; printed_ && i < out.rows(); ++i)
      print_out(fmt::format("{}\n", fmt::join(out.row(i), "\t")));
  }

 private:
  Unit unit_;
  data::ResultFile* file_;
  bool printed_;
};

std::string stored_command(const DistancesOptions& options, const data::PointSource& a, const data::PointSource* b,
                           ValueClass value_class) {
  return fmt::format("distances {}{}{} --precision {}{}", stored_name(a.name()),
                     b != nullptr ? fmt::format(" {}", stored_name(b->name())) : "",
                     options.squared ? " --squared" : "", name_of(value_class),
                     stored_input(options.common) + stored_metric(options.common));
}

/// Rows of distances, `width` to a row, that are computed at a time unless --block-rows says how many.
std::int64_t usual_block(std::int64_t width, std::int64_t columns) {
  return kBlockBytes / (8 * std::max(width, columns));
}

/// Host bytes of one block: distances, the same as written, and the rows as float64.
std::int64_t block_memory(const DistancesOptions& options, const data::PointSource& a, const data::PointSource& b) {
  return block_bytes({.rows = a.rows(),
                      .row_bytes = 16 * b.rows() + 8 * a.columns(),
                      .block_rows = options.common.block_rows,
                      .usual_rows = usual_block(b.rows(), a.columns())});
}

/// Rows of `from` against all held points, block by block.
template <class T>
void compute(const HeldPoints& held, PointsView from, Rows<T> rows, Invocation& invocation) {
  const std::int64_t block_rows = invocation.common.block_rows;
  const Measure measure = measure_of(metric_of(invocation.common));
  check_queries(*held.points, from, measure);
  const std::int64_t count = rows_of(from), width = held.points->rows();
  const std::int64_t chosen = block_rows > 0 ? block_rows : usual_block(width, columns_of(from));
  const std::int64_t block = std::clamp<std::int64_t>(chosen, 1, count);
  Matrix<double> queries(block, columns_of(from)), out(block, width);
  invocation.progress.phase("search", count);
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t here = std::min(block, count - first);
    copy_queries(from, first, queries.view().middle(0, here));
    const auto found = out.view().middle(0, here);
    held.points->all_distances({queries.view().middle(0, here), -1, measure}, found);
    {
      const PhaseWithin phase(invocation.progress, "write");
      rows.take(first, found);
    }
    invocation.progress.progress(first + here);
  }
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
  if (options.a.empty()) set.refuse_missing("A, the file with the points,");
  Invocation invocation("distances", options.common);
  const std::string& target = options.common.output;
  const data::OutputOptions output = output_options(options.common, {options.a, options.b});
  if (!target.empty()) data::check_output(target, output);
  const InputPair inputs = open_inputs(options.a, options.b, invocation);
  const auto &a = inputs.first, &b = inputs.second;
  const data::PointSource& held_source = b ? *b : *a;
  invocation.report.points = describe(held_source);
  if (b) invocation.report.queries = describe(*a);
  if (a->columns() != held_source.columns()) {
    throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}; give points of the same "
                                            "columns, or choose them with --columns",
                                            b->name(), a->columns(), a->name(), b->columns()));
  }
  const ValueClass value_class = inputs.value_class();
  const bool narrow = value_class == ValueClass::f32;

  require_memory(points_bytes(*a) + (b ? points_bytes(*b) : 0) + block_memory(options, *a, held_source),
                 b ? fmt::format("{} and {}", a->name(), b->name()) : a->name(), options.common.memory);

  const HeldPoints held = hold_points(b ? *b : *a, invocation, [&] { warn_of_options(set, options, invocation); });
  const auto a_read = b ? read_points(*a, invocation) : nullptr;
  const PointsView a_values = (b ? *a_read : *held.values).values();

  std::optional<data::ResultFile> file;
  const std::int64_t rows = a->rows(), columns = held_source.rows();
  if (!target.empty()) {
    file.emplace(target, output);
    write_head(
        *file,
        {"kith-distances", stored_command(options, *a, b.get(), value_class), value_class, metric_of(options.common)},
        *a);
    if (b) file->attribute("others", stored_name(b->name()));
    file->attribute("distances", std::string(name_of(options.unit())));
    narrow ? file->create_matrix<float>("distances", rows, columns)
           : file->create_matrix<double>("distances", rows, columns);
  }
  const bool printed = !file && !options.common.json;
  data::ResultFile* out = file ? &*file : nullptr;
  if (narrow) {
    compute(held, a_values, Rows<float>(options.unit(), out, printed), invocation);
  } else {
    compute(held, a_values, Rows<double>(options.unit(), out, printed), invocation);
  }
  note_device_memory(held, invocation);
  invocation.report.phase("search").flops = assignment_flops(a_values, columns);
  if (file) {
    invocation.progress.phase("write", 0);
    file->finish();
    invocation.wrote(target);
  }
  invocation.close(target.empty() ? "" : fmt::format("kith info {}", shell_word(target)));
  return 0;
}

}  // namespace kith::app
