// kith knn: the exact k nearest neighbours of every query among the points of a file.
#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>

#include "app/commands.h"
#include "app/invocation.h"
#include "app/memory.h"
#include "app/neighbor_output.h"
#include "app/terminal.h"
#include "app/truth.h"
#include "core/distance.h"
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
  std::string format = "auto";
  CommonOptions common;

  ListFormat list_format() const { return app::list_format(format, common.output); }
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
            .help = "Compare the neighbours with this answer (FILE alone: its /neighbors), of kith, ann-benchmarks, "
                    "BIGANN or an .ivecs file; exit 1 if a list differs in more than the order of ties."},
           options.truth);
  set.choice({.names = "--format",
              .value = "NAME",
              .help = "Of the output: kith, ann-benchmarks, bigann, ivecs, or auto: by the ending of its name, .ibin "
                      "(bigann), .ivecs, or else kith."},
             {"auto", "kith", "ann-benchmarks", "bigann", "ivecs"}, options.format);
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
  } else if (options.list_format() != ListFormat::kith) {
    invocation.warn_without_effect(set, "--squared", "the format of the output says what its distances are");
  }
  if (options.common.output.empty()) invocation.warn_without_effect(set, "--format", "there is no --output");
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

/// D of a query and a row of the base, by the definition; NaN for the row that the query's list may not have.
TruthComparison::DistanceOf definition_for(PointsView base, PointsView queries, bool leaves_out) {
  return [=](std::int64_t query, std::int64_t row) {
    if (leaves_out && query == row) return std::numeric_limits<double>::quiet_NaN();
    return std::visit(
        [&](const auto& q, const auto& b) {
          return squared_distance(b.row(row).data(), q.row(query).data(), b.columns);
        },
        queries, base);
  };
}

}  // namespace

int run_knn(const Arguments& arguments) {
  KnnOptions options;
  OptionSet set({.command = "knn",
                 .summary = "the exact k nearest neighbours of every query, nearest first, ties to the lowest row.",
                 .usage = "BASE -k K [--queries QUERIES] [options]",
                 .examples = {"kith knn points.h5:/train --queries points.h5:/test -k 10 -o neighbors.h5",
                              "kith knn points.h5:/train -k 5 -o neighbors.h5     # the set against itself",
                              "kith knn points.h5:/train --queries points.h5:/test -k 100 --truth points.h5",
                              "kith knn base.fbin --queries queries.fbin -k 100 -o groundtruth.ibin",
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
  if (!target.empty()) check_list_format(options.list_format(), *base, queries.get());
  std::optional<TruthComparison> truth;
  if (!options.truth.empty()) truth.emplace(options.truth, asked.rows(), options.neighbors);
  const bool narrow = base->value_class() == ValueClass::f32 && asked.value_class() == ValueClass::f32;
  const ValueClass value_class = narrow ? ValueClass::f32 : ValueClass::f64;

  const std::int64_t held_bytes = points_bytes(*base) + (queries ? points_bytes(*queries) : 0) +
                                  (truth ? truth->bytes() : 0) + search_bytes(options, asked);
  require_memory(held_bytes, queries ? fmt::format("{} and {}", base->name(), queries->name()) : base->name(),
                 options.common.memory);

  HeldPoints held = hold_points(*base, invocation, [&] { warn_of_options(set, options, invocation); });
  if (truth) truth->read(base->rows());
  const auto query_values = queries ? read_points(*queries, invocation) : nullptr;

  const PointsView base_values = held.values->values(), values = (queries ? *query_values : *held.values).values();
  const Unit unit = options.squared ? Unit::squared : Unit::root;
  std::unique_ptr<NeighborOutput> out;
  if (!target.empty()) {
    out = open_neighbor_output(options.list_format(),
                               {.path = target,
                                .options = output,
                                .head = {"kith-neighbors", stored_command(options, *base, queries.get(), value_class),
                                         value_class, metric_of(options.common)},
                                .unit = unit,
                                .neighbors = options.neighbors,
                                .base = base.get(),
                                .queries = queries.get(),
                                .base_values = base_values,
                                .query_values = values});
  } else if (!truth && !options.common.json) {
    out = printed_neighbors(unit, value_class);
  }
  if (truth) truth->measure_with(definition_for(base_values, values, !queries && !options.include_self));
  nearest_neighbors(
      *held.points, values,
      {.neighbors = options.neighbors,
       .base_is_queries = !queries,
       .include_self = options.include_self,
       .block_queries = options.common.block_rows},
      [&](std::int64_t first, const NeighborLists& found) {
        const PhaseWithin phase(invocation.progress, "write");
        if (truth) truth->compare(first, found);
        if (out) out->take(first, found);
      },
      invocation.progress);
  note_device_memory(held, invocation);
  invocation.report.phase("search").flops = assignment_flops(*base, asked.rows());
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    out->finish();
    invocation.wrote(target);
  }
  if (truth) {
    invocation.report.truth = truth->report();
    if (!options.common.json) print_out(truth->verdict() + "\n");
  }
  invocation.close(target.empty() || truth ? "" : fmt::format("kith info {}", target));
  return truth && !truth->all_right() ? static_cast<int>(ExitCode::internal) : 0;
}

}  // namespace kith::app
