// kith knn: the exact k nearest neighbours of every query among the points of a file.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/knn/knn.h"
#include "app/knn/truth.h"
#include "app/run/dropped_rows.h"
#include "app/run/memory.h"
#include "core/distance.h"
#include "core/neighbors.h"
#include "core/radius.h"

namespace kith::app {
namespace {

void declare(OptionSet& set, KnnOptions& options) {
  set.positional({.names = "BASE", .help = "FILE:DATASET to search in; FILE alone if it holds one matrix."},
                 options.base);
  set.integer({.names = "-k,--neighbors", .value = "K", .help = "Neighbours per query.", .shown_default = "none"},
              {1, std::numeric_limits<std::int64_t>::max()}, options.neighbors);
  set.number({.names = "--radius",
              .value = "R",
              .help = "Instead of -k: all rows within this distance, R included; by inner product, of at least R.",
              .shown_default = "none"},
             options.radius);
  set.text({.names = "--queries",
            .value = "FILE[:DATASET]",
            .help = "Points to find neighbours for.",
            .shown_default = "BASE, each row left out of its own list"},
           options.queries);
  set.flag({.names = "--include-self", .help = "Without --queries: keep each row in its own list."},
           options.include_self);
  set.flag({.names = "--graph", .help = "Write the lists of BASE in itself as a graph: compressed rows (CSR)."},
           options.graph);
  set.flag({.names = "--symmetric", .help = "The graph has an edge where either of two rows lists the other."},
           options.symmetric);
  set.flag({.names = "--mutual", .help = "The graph has an edge where both of two rows list the other."},
           options.mutual);
  set.flag({.names = "--components",
            .help = "Write groups of rows that the graph or --radius connects, and the lowest row of each, instead of "
                    "edges."},
           options.components);
  set.flag({.names = "--squared", .help = "Distances squared instead of their roots."}, options.squared);
  set.text({.names = "--truth",
            .value = "FILE[:DATASET]",
            .help = "Compare the neighbours with this answer (FILE alone: its /neighbors), of kith, ann-benchmarks, "
                    "BIGANN or an .ivecs file; exit 1 if a list differs in more than the order of ties."},
           options.truth);
  set.choice({.names = "--format",
              .value = "NAME",
              .help = "Of the lists in the output: kith, ann-benchmarks, bigann, ivecs, or auto: by the ending of its "
                      "name, .ibin (bigann), .ivecs, or else kith. Edges go to .csv too."},
             {"auto", "kith", "ann-benchmarks", "bigann", "ivecs"}, options.format);
  add_missing_option(set, options.common,
                     "Rows with NaN, infinity or an empty field: error refuses them, drop leaves them out: they are "
                     "nobody's neighbours, and have the neighbours -1 at the distance NaN.");
  add_preparation_options(set, options.common);
  add_common_options(set, options.common,
                     "Write the result to this HDF5 file, lists also to .ivecs or .ibin, edges of a graph to .csv; it "
                     "appears only when it is complete.");
}

/// What cannot be asked together.
void check_options(const KnnOptions& options, OptionSet& set) {
  const auto refuse = [](const std::string& message) { throw Error(ExitCode::usage, message); };
  const bool itself = options.queries.empty();
  if (options.base.empty()) set.refuse_missing("BASE, the file to search in,");
  if (options.neighbors == 0 && !options.has_radius()) {
    set.refuse_missing("-k, the number of neighbours, or --radius,");
  }
  if (options.has_radius()) limit_of_radius(options.radius, options.metric());
  if (options.neighbors > 0 && options.has_radius())
    refuse("-k and --radius: expected one of them, found both; leave one out");
  if (options.symmetric && options.mutual)
    refuse("--symmetric and --mutual: expected one of them, found both; leave one out");
  const bool lists = options.graph || options.symmetric || options.mutual;
  if (lists && options.has_radius()) {
    refuse(
        "--graph, --symmetric and --mutual: expected the lists of -k, found --radius, whose edges are a graph, and "
        "symmetric, as they are; leave the option out");
  }
  if (lists && !itself) refuse("--graph: expected a set in itself, found --queries; leave them out");
  if (options.components && !options.makes_graph()) {
    refuse("--components: expected --radius R or --graph, whose edges connect rows");
  }
  if (options.components && !itself) refuse("--components: expected a set in itself, found --queries; leave them out");
  if (options.makes_graph() && !options.truth.empty())
    refuse("--truth: expected lists of -k to compare, found a graph; leave --truth out");
  if (options.makes_graph() && options.list_format() != ListFormat::kith) {
    refuse(
        fmt::format("--format: expected kith for a graph, or a name of the output that ends with .csv, found {}; the "
                    "others hold lists of equal length",
                    options.format == "auto" ? options.common.output : options.format));
  }
}

/// Lists can say that a row has no neighbours; a graph, a comparison and other formats cannot.
void check_missing(const KnnOptions& options) {
  if (options.common.nan != "drop") return;
  const char* found = options.makes_graph()                       ? "a graph"
                      : !options.truth.empty()                    ? "--truth"
                      : options.list_format() != ListFormat::kith ? "another --format"
                                                                  : nullptr;
  if (found == nullptr) return;
  throw Error(ExitCode::usage, fmt::format("--nan drop: expected lists of -k as kith writes them, found {}; leave such "
                                           "rows out of the file beforehand",
                                           found));
}

/// Of the name of the output. Labels of groups are no edges.
std::vector<std::string> endings_of(const KnnOptions& options) {
  if (options.makes_graph() && !options.components) return {".h5", ".csv"};
  if (options.list_format() == ListFormat::bigann) return {".ibin"};
  if (options.list_format() == ListFormat::ivecs) return {".ivecs"};
  return {".h5"};
}

/// rows: of the base
void check_neighbors(const KnnOptions& options, const data::PointSource& base, std::int64_t rows) {
  const bool left_out = options.queries.empty() && !options.include_self;
  const std::int64_t most = rows - (left_out ? 1 : 0);
  if (options.neighbors <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("-k {}: {} has {} rows to find{}; expected at most {} neighbours", options.neighbors,
                          base.name(), most, left_out ? " besides the query itself (see --include-self)" : "", most));
}

void check(const KnnOptions& options, const data::PointSource& base, const data::PointSource* queries) {
  if (queries != nullptr && queries->columns() != base.columns()) {
    throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}; give queries of the same "
                                            "columns, or choose them with --columns",
                                            queries->name(), base.columns(), base.name(), queries->columns()));
  }
  check_neighbors(options, base, base.rows());
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
  if (measure_of(options.metric()) != Measure::squared_euclidean) {
    invocation.warn_without_effect(set, "--squared", "only Euclidean distances are roots of something");
  } else if (options.components) {
    invocation.warn_without_effect(set, "--squared", "no distances are written");
  }
  if (!options.queries.empty()) invocation.warn_without_effect(set, "--include-self", "there are --queries");
  const bool lists_shown = options.truth.empty() && !options.common.json;
  if (options.common.output.empty() && !lists_shown) {
    invocation.warn_without_effect(set, "--squared", "no distances are written");
  } else if (options.list_format() != ListFormat::kith) {
    invocation.warn_without_effect(set, "--squared", "the format of the output says what its distances are");
  }
  if (options.common.output.empty()) invocation.warn_without_effect(set, "--format", "there is no --output");
  invocation.warn_of_text_options(set, {options.base, options.queries});
  invocation.warn_without_effect(set);
}

std::string stored_command(const KnnOptions& options, const data::PointSource& base, const data::PointSource* queries,
                           ValueClass value_class) {
  std::string command = fmt::format("knn {}", stored_name(base.name()));
  command += options.has_radius() ? fmt::format(" --radius {}", options.radius)
                                  : fmt::format(" --neighbors {}", options.neighbors);
  if (options.edges() != GraphEdges::directed) command += options.symmetric ? " --symmetric" : " --mutual";
  if (options.makes_graph() && !options.has_radius() && options.edges() == GraphEdges::directed) command += " --graph";
  if (options.components) command += " --components";
  if (queries != nullptr) command += fmt::format(" --queries {}", stored_name(queries->name()));
  if (queries == nullptr && options.include_self) command += " --include-self";
  if (options.squared) command += " --squared";
  return command + fmt::format(" --precision {}{}", name_of(value_class),
                               stored_input(options.common) + stored_metric(options.common));
}

/// D of a query and a row of the base, by the definition; NaN for the row that the query's list may not have.
TruthComparison::DistanceOf definition_for(const KnnRun& run) {
  const PointsView base = run.base_values, queries = run.query_values;
  const bool leaves_out = run.queries == nullptr && !run.options.include_self;
  const Measure measure = measure_of(run.options.metric());
  return [=](std::int64_t query, std::int64_t row) {
    if (leaves_out && query == row) return std::numeric_limits<double>::quiet_NaN();
    return std::visit(
        [&](const auto& q, const auto& b) {
          return distance_by(measure, b.row(row).data(), q.row(query).data(), b.columns);
        },
        queries, base);
  };
}

/// Lists as they are written, with numbers of rows of the files: -1 and NaN for queries that were left out.
NeighborLists in_files(const NeighborLists& found, std::int64_t first, const KnnRun& run) {
  const std::span<const std::int64_t> kept = run.held.values->kept_rows();
  Matrix<std::int64_t> index(found.index.rows(), found.index.columns());
  std::transform(found.index.data(), found.index.data() + found.index.size(), index.data(),
                 [kept](std::int64_t row) { return kept.empty() ? row : kept[static_cast<std::size_t>(row)]; });
  NeighborLists lists(0, found.index.columns());
  lists.index = in_file_rows(std::as_const(index).view(), first, std::int64_t{-1}, run.asked);
  lists.distance = in_file_rows(found.distance.view(), first, std::numeric_limits<double>::quiet_NaN(), run.asked);
  return lists;
}

/// Lists of k, to the output and to the comparison.
void make_lists(const KnnRun& run, TruthComparison* truth) {
  const KnnOptions& options = run.options;
  Invocation& invocation = run.invocation;
  const std::string& target = options.common.output;
  std::unique_ptr<NeighborOutput> out;
  if (!target.empty()) {
    out = open_neighbor_output(options.list_format(), {.path = target,
                                                       .options = run.output,
                                                       .head = run.head,
                                                       .unit = options.unit(),
                                                       .neighbors = options.neighbors,
                                                       .base = &run.base,
                                                       .queries = run.queries,
                                                       .base_values = run.base_values,
                                                       .query_values = run.query_values});
  } else if (truth == nullptr && !options.common.json) {
    out = printed_neighbors(options.unit(), run.head.value_class);
  }
  if (truth != nullptr) truth->measure_with(definition_for(run));
  const bool all_kept = run.held.values->kept_rows().empty() && run.asked.kept_rows().empty();
  nearest_neighbors(
      *run.held.points, run.query_values,
      {.neighbors = options.neighbors,
       .base_is_queries = run.queries == nullptr,
       .include_self = options.include_self,
       .block_queries = options.common.block_rows,
       .measure = measure_of(options.metric()),
       .join_bytes = run.spare_bytes / 2},
      [&](std::int64_t first, const NeighborLists& found) {
        const PhaseWithin phase(invocation.progress, "write");
        if (truth != nullptr) truth->compare(first, found);
        if (!out) return;
        all_kept ? out->take(first, found) : out->take(first_file_row(first, run.asked), in_files(found, first, run));
      },
      invocation.progress);
  if (target.empty()) return;
  invocation.progress.phase("write", 0);
  out->finish();
  invocation.wrote(target);
}

}  // namespace

int run_knn(const Arguments& arguments) {
  KnnOptions options;
  OptionSet set({.command = "knn",
                 .summary = "the exact k nearest neighbours of every query, nearest first, ties to the lowest row.",
                 .usage = "BASE -k K | --radius R [--queries QUERIES] [options]",
                 .examples = {"kith knn points.h5:/train --queries points.h5:/test -k 10 -o neighbors.h5",
                              "kith knn points.h5:/train -k 5 -o neighbors.h5     # the set against itself",
                              "kith knn points.h5:/train --queries points.h5:/test -k 100 --truth points.h5",
                              "kith knn points.h5:/train -k 15 --symmetric -o graph.h5    # edges, as CSR",
                              "kith knn points.h5:/train --radius 0.1 --metric cosine --components -o groups.h5",
                              "kith knn base.fbin --queries queries.fbin -k 100 -o groundtruth.ibin",
                              "kith knn points.h5:/train -k 3 | head       # query, neighbour, distance"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  check_options(options, set);
  check_missing(options);
  Invocation invocation("knn", options.common);
  const std::string& target = options.common.output;
  data::OutputOptions output = output_options(options.common, {options.base, options.queries, options.truth});
  output.endings = endings_of(options);
  if (!target.empty()) data::check_output(target, output);

  const InputPair inputs = open_inputs(options.base, options.queries, invocation);
  const auto &base = inputs.first, &queries = inputs.second;
  const data::PointSource& asked = queries ? *queries : *base;
  invocation.report.points = describe(*base);
  if (queries) invocation.report.queries = describe(*queries);
  check(options, *base, queries.get());
  if (!target.empty()) check_list_format(options.list_format(), options.metric(), *base, queries.get());
  std::optional<TruthComparison> truth;
  if (!options.truth.empty()) truth.emplace(options.truth, asked.rows(), options.neighbors);
  const ValueClass value_class = inputs.value_class();

  const std::int64_t held_bytes = points_bytes(*base) + preparation_bytes(*base, options.common) +
                                  (queries ? points_bytes(*queries) : 0) + (truth ? truth->bytes() : 0) +
                                  search_bytes(options, asked) + graph_bytes(options, asked.rows());
  require_memory(held_bytes, queries ? fmt::format("{} and {}", base->name(), queries->name()) : base->name(),
                 options.common.memory);

  HeldPoints held = hold_points(*base, invocation, [&] { warn_of_options(set, options, invocation); });
  check_neighbors(options, *base, rows_of(held.rows()));
  if (truth) truth->read(base->rows());
  const auto query_values = queries ? read_points(*queries, invocation, &held.preparation) : nullptr;

  const KnnRun run{.options = options,
                   .invocation = invocation,
                   .held = held,
                   .base = *base,
                   .queries = queries.get(),
                   .asked = queries ? *query_values : *held.values,
                   .base_values = held.values->values(),
                   .query_values = (queries ? *query_values : *held.values).values(),
                   .head = {options.makes_graph() ? "kith-graph" : "kith-neighbors",
                            stored_command(options, *base, queries.get(), value_class), value_class, options.metric()},
                   .output = output,
                   .spare_bytes = memory_limit(options.common.memory).bytes -
                                  (options.common.memory > 0 ? held_bytes : search_bytes(options, asked))};
  options.makes_graph() ? make_graph(run) : make_lists(run, truth ? &*truth : nullptr);
  note_device_memory(held, invocation);
  invocation.report.phase("search").flops = assignment_flops(run.base_values, rows_of(run.query_values));
  if (truth) {
    invocation.report.truth = truth->report();
    if (!options.common.json) print_out(truth->verdict() + "\n");
  }
  invocation.close(target.empty() || truth ? "" : fmt::format("kith info {}", shell_word(target)));
  return truth && !truth->all_right() ? static_cast<int>(ExitCode::internal) : 0;
}

}  // namespace kith::app
