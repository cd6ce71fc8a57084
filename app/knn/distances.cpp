// kith distances: the matrix of all distances between two sets of points, or within one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/run/points_job.h"
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
  add_common_options(set, options.common);
  set["--seed"].no_effect = {[]() -> std::string { return "distances uses no random numbers"; }};
}

/// Writes or prints rows of distances as T.
template <class T>
class Rows {
 public:
  Rows(Unit unit, data::ResultFile* file, bool printed) : unit_(unit), file_(file), printed_(printed) {}

  void append(std::int64_t first, MatrixView<const double> squared) {
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

/// Rows per block without --block-rows; a row has `width` distances.
std::int64_t usual_block(std::int64_t width, std::int64_t columns) {
  return kBlockBytes / (8 * std::max(width, columns));
}

/// Host bytes of one block: distances as computed and as written, and the rows as float64.
std::int64_t block_memory(const DistancesOptions& options, const data::PointSource& a, const data::PointSource& b) {
  return block_bytes({.rows = a.rows(),
                      .row_bytes = 16 * b.rows() + 8 * a.columns(),
                      .block_rows = options.common.block_rows,
                      .usual_rows = usual_block(b.rows(), a.columns())});
}

class DistancesJob final : public PointsJob {
 public:
  DistancesJob(OptionSet& set, DistancesOptions& options) : PointsJob(set, options.common), options_(options) {}

 private:
  void open() override;
  std::int64_t bytes() const override {
    return row_state_bytes(*source) + block_memory(options_, *inputs.first, *source);
  }
  void compute() override;
  void write() override { file_->finish(); }
  std::string next() const override { return target.empty() ? "" : fmt::format("kith info {}", shell_word(target)); }

  void open_file();
  template <class T>
  void compute_as(PointsView from);

  DistancesOptions& options_;
  std::optional<data::ResultFile> file_;
};

void DistancesJob::open() {
  inputs = open_inputs(options_.a, options_.b, *this);
  const data::PointSource& a = *inputs.first;
  source = inputs.second ? inputs.second.get() : inputs.first.get();
  report.points = describe(*source);
  if (inputs.second) report.queries = describe(a);
  if (a.columns() == source->columns()) return;
  throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}; give points of the same "
                                          "columns, or choose them with --columns",
                                          source->name(), a.columns(), a.name(), source->columns()));
}

void DistancesJob::open_file() {
  const data::PointSource &a = *inputs.first, *b = inputs.second.get();
  const ValueClass value_class = inputs.value_class();
  OptionSet::Replacements words{{"A", stored_name(a.name())},
                                {"--precision", fmt::format("--precision {}", name_of(value_class))}};
  if (b != nullptr) words["B"] = stored_name(b->name());
  file_.emplace(target, output);
  write_head(*file_, {"kith-distances", set.stored_command(words), value_class, metric_of(common)}, a);
  if (b != nullptr) file_->attribute("others", stored_name(b->name()));
  file_->attribute("distances", std::string(name_of(options_.unit())));
  value_class == ValueClass::f32 ? file_->create_matrix<float>("distances", a.rows(), source->rows())
                                 : file_->create_matrix<double>("distances", a.rows(), source->rows());
}

void DistancesJob::compute() {
  const auto first = inputs.second ? read_points(*inputs.first, *this) : nullptr;
  const PointsView from = (first ? *first : *held.values).values();
  if (!target.empty()) open_file();
  inputs.value_class() == ValueClass::f32 ? compute_as<float>(from) : compute_as<double>(from);
  report.phase("search").flops = assignment_flops(rows_of(from), columns_of(from), source->rows());
}

/// Distances from rows to all held points, block by block.
template <class T>
void DistancesJob::compute_as(PointsView from) {
  Rows<T> rows(options_.unit(), file_ ? &*file_ : nullptr, !file_ && !common.json);
  const Measure measure = measure_of(metric_of(common));
  check_queries(*held.points, from, measure);
  const std::int64_t count = rows_of(from), width = held.points->rows();
  const std::int64_t chosen = common.block_rows > 0 ? common.block_rows : usual_block(width, columns_of(from));
  const std::int64_t block = std::clamp<std::int64_t>(chosen, 1, count);
  Matrix<double> queries(block, columns_of(from)), out(block, width);
  progress.phase("search", count);
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t here = std::min(block, count - first);
    copy_queries(from, first, queries.view().middle(0, here));
    const auto distances = out.view().middle(0, here);
    held.points->all_distances({queries.view().middle(0, here), -1, measure}, distances);
    {
      const PhaseWithin phase(progress, "write");
      rows.append(first, distances);
    }
    progress.progress(first + here);
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
  return set.parse(arguments) ? DistancesJob(set, options).run() : 0;
}

}  // namespace kith::app
