// kith knn: the exact k nearest neighbours of every query among the points of a file.
#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>

#include "app/commands.h"
#include "app/invocation.h"
#include "app/memory.h"
#include "app/results.h"
#include "app/terminal.h"
#include "app/truth.h"
#include "core/neighbors.h"

namespace kith::app {
namespace {

struct KnnOptions {
  std::string base;
  std::string queries;  // empty: the base against itself
  std::int64_t neighbors = 0;
  bool include_self = false;
  bool squared = false;
  std::string truth;
  CommonOptions common;
};

void declare(OptionSet& set, KnnOptions& options) {
  set.positional({.names = "BASE", .help = "FILE:DATASET to search in; FILE alone if it holds one matrix."},
                 options.base);
  set.integer({.names = "-k,--neighbors", .value = "K", .help = "Neighbours per query.", .shown_default = "none"},
              {1, std::numeric_limits<std::int64_t>::max()}, options.neighbors);
  set.text({.names = "--queries",
            .value = "FILE[:DATASET]",
            .help = "Points to find neighbours for.",
            .shown_default = "BASE, each row left out of its own list"},
           options.queries);
  set.flag({.names = "--include-self", .help = "Without --queries: keep each row in its own list."},
           options.include_self);
  set.flag({.names = "--squared", .help = "Distances squared instead of their roots."}, options.squared);
  set.text({.names = "--truth",
            .value = "FILE[:DATASET]",
            .help = "Compare the neighbours with this answer (FILE alone: its /neighbors); exit 1 if a list differs."},
           options.truth);
  add_preparation_options(set, options.common);
  add_common_options(set, options.common);
}

void check(const KnnOptions& options, const data::PointSource& base, const data::PointSource* queries) {
  if (queries != nullptr && queries->columns() != base.columns()) {
    throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}", queries->name(),
                                            base.columns(), base.name(), queries->columns()));
  }
  const bool left_out = queries == nullptr && !options.include_self;
  const std::int64_t most = base.rows() - (left_out ? 1 : 0);
  if (options.neighbors <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("-k {}: {} has {} rows to find{}; expected at most {} neighbours", options.neighbors,
                          base.name(), most, left_out ? " besides the query itself (see --include-self)" : "", most));
}

/// Host bytes of the search of one block of queries, whose size core/neighbors.cpp chooses.
std::int64_t search_bytes(const KnnOptions& options, const data::PointSource& queries) {
  const std::int64_t searched = bytes_per_query(options.neighbors, queries.columns());
  // The room that the rows to choose from take as their list doubles; the query as screened; distances as written.
  const auto choice = static_cast<std::uint64_t>(2 * options.neighbors + 128);
  const auto spare = static_cast<std::int64_t>(std::bit_ceil(choice) - choice);
  const std::int64_t besides = 16 * spare + 4 * queries.columns() + 8 * options.neighbors;
  return block_bytes({.rows = queries.rows(),
                      .row_bytes = searched + besides,
                      .block_rows = options.common.block_rows,
                      .usual_rows = kQueryBlockBytes / searched});
}

void warn_of_options(const OptionSet& set, const KnnOptions& options, Invocation& invocation) {
  invocation.warn_without_effect(set, "--seed", "knn draws nothing at random");
  if (!options.queries.empty()) invocation.warn_without_effect(set, "--include-self", "there are --queries");
  const bool lists_shown = options.truth.empty() && !options.common.json;
  if (options.common.output.empty() && !lists_shown) {
    invocation.warn_without_effect(set, "--squared", "no distances are written");
  }
  invocation.warn_without_effect(set);
}

std::string stored_command(const KnnOptions& options, const data::PointSource& base, const data::PointSource* queries,
                           ValueClass value_class) {
  std::string command = fmt::format("knn {} --neighbors {}", stored_name(base.name()), options.neighbors);
  if (queries != nullptr) command += fmt::format(" --queries {}", stored_name(queries->name()));
  if (queries == nullptr && options.include_self) command += " --include-self";
  if (options.squared) command += " --squared";
  return command + fmt::format(" --precision {}{}", name_of(value_class),
                               stored_input(options.common) + stored_metric(options.common));
}

/// Takes finished lists to the result file, to standard output, to the comparison.
class Lists {
 public:
  Lists(const KnnOptions& options, ValueClass value_class, Invocation& invocation)
      : unit_(options.squared ? Unit::squared : Unit::root), value_class_(value_class), invocation_(invocation) {}

  void write_to(data::ResultFile& file, std::int64_t queries, std::int64_t neighbors) {
    file_ = &file;
    file.create_matrix<std::int64_t>("neighbors", queries, neighbors);
    if (value_class_ == ValueClass::f32) {
      file.create_matrix<float>("distances", queries, neighbors);
    } else {
      file.create_matrix<double>("distances", queries, neighbors);
    }
  }
  void print() { printed_ = true; }
  void compare_with(TruthComparison& truth) { truth_ = &truth; }

  void take(std::int64_t first, const NeighborLists& lists) {
    const PhaseWithin phase(invocation_.progress, "write");
    if (truth_ != nullptr) truth_->compare(first, lists.index.view());
    if (file_ == nullptr && !printed_) return;
    value_class_ == ValueClass::f32 ? write<float>(first, lists) : write<double>(first, lists);
  }

 private:
  template <class T>
  void write(std::int64_t first, const NeighborLists& lists) {
    const Matrix<T> distances = convert_distances<T>(lists.distance.view(), unit_, first);
    if (file_ != nullptr) {
      file_->write_rows<std::int64_t>("neighbors", first, lists.index.view());
      file_->write_rows<T>("distances", first, distances.view());
      return;
    }
    std::string text;
    for (std::int64_t i = 0; i < distances.rows(); ++i) {
      for (std::int64_t j = 0; j < distances.columns(); ++j) {
        text += fmt::format("{}\t{}\t{}\n", first + i, lists.index(i, j), distances(i, j));
      }
      print_out(text);
      text.clear();
    }
  }

  Unit unit_;
  ValueClass value_class_;
  Invocation& invocation_;
  data::ResultFile* file_ = nullptr;
  bool printed_ = false;
  TruthComparison* truth_ = nullptr;
};

}  // namespace

int run_knn(const Arguments& arguments) {
  KnnOptions options;
  OptionSet set({.command = "knn",
                 .summary = "the exact k nearest neighbours of every query, nearest first, ties to the lowest row.",
                 .usage = "BASE -k K [--queries QUERIES] [options]",
                 .examples = {"kith knn points.h5:/train --queries points.h5:/test -k 10 -o neighbors.h5",
                              "kith knn points.h5:/train -k 5 -o neighbors.h5     # the set against itself",
                              "kith knn points.h5:/train --queries points.h5:/test -k 100 --truth points.h5",
                              "kith knn points.h5:/train -k 3 | head       # query, neighbour, distance"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.base.empty()) set.refuse_missing("BASE, the file to search in,");
  if (options.neighbors == 0) set.refuse_missing("-k, the number of neighbours,");
  Invocation invocation("knn", options.common);
  const std::string& target = options.common.output;
  const data::OutputOptions output = output_options(options.common, {options.base, options.queries, options.truth});
  if (!target.empty()) data::check_output(target, output);

  const auto base = open_input(options.base, invocation);
  const auto queries = options.queries.empty() ? nullptr : open_input(options.queries, invocation);
  const data::PointSource& asked = queries ? *queries : *base;
  invocation.report.points = describe(*base);
  if (queries) invocation.report.queries = describe(*queries);
  check(options, *base, queries.get());
  std::optional<TruthComparison> truth;
  if (!options.truth.empty()) truth.emplace(options.truth, asked.rows(), options.neighbors);
  const bool narrow = base->value_class() == ValueClass::f32 && asked.value_class() == ValueClass::f32;
  const ValueClass value_class = narrow ? ValueClass::f32 : ValueClass::f64;

  const std::int64_t held_bytes = points_bytes(*base) + preparation_bytes(*base, options.common) +
                                  (queries ? points_bytes(*queries) : 0) + (truth ? truth->bytes() : 0) +
                                  search_bytes(options, asked);
  require_memory(held_bytes, queries ? fmt::format("{} and {}", base->name(), queries->name()) : base->name(),
                 options.common.memory);

  HeldPoints held = hold_points(*base, invocation, [&] { warn_of_options(set, options, invocation); });
  if (truth) truth->read(base->rows());
  const auto query_values = queries ? read_points(*queries, invocation, &held.preparation) : nullptr;

  std::optional<data::ResultFile> file;
  Lists lists(options, value_class, invocation);
  if (!target.empty()) {
    file.emplace(target, output);
    write_head(*file,
               {"kith-neighbors", stored_command(options, *base, queries.get(), value_class), value_class,
                metric_of(options.common)},
               *base);
    if (queries) file->attribute("queries", stored_name(queries->name()));
    file->attribute("distances", std::string(name_of(options.squared ? Unit::squared : Unit::root)));
    lists.write_to(*file, asked.rows(), options.neighbors);
  } else if (!truth && !options.common.json) {
    lists.print();
  }
  if (truth) lists.compare_with(*truth);
  nearest_neighbors(
      *held.points, (queries ? *query_values : *held.values).values(),
      {.neighbors = options.neighbors,
       .base_is_queries = !queries,
       .include_self = options.include_self,
       .block_queries = options.common.block_rows},
      [&](std::int64_t first, const NeighborLists& found) { lists.take(first, found); }, invocation.progress);
  note_device_memory(held, invocation);
  invocation.report.phase("search").flops = assignment_flops(*base, asked.rows());
  if (file) {
    invocation.progress.phase("write", 0);
    file->finish();
    invocation.wrote(target);
  }
  if (truth) {
    invocation.report.truth = truth->report();
    if (!options.common.json) print_out(truth->verdict() + "\n");
  }
  invocation.close(target.empty() || truth ? "" : fmt::format("kith info {}", target));
  return truth && !truth->all_equal() ? static_cast<int>(ExitCode::internal) : 0;
}

}  // namespace kith::app
