// kith knn: the exact k nearest neighbours of every query among the points of a file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/knn/knn.h"
#include "app/knn/truth.h"
#include "app/run/dropped_rows.h"
#include "app/run/memory.h"
#include "app/run/model.h"
#include "app/run/processes.h"
#include "core/neighbors/radius.h"
#include "core/numbers/distance.h"
#include "core/runtime/threads.h"
#include "data/format/column_choice.h"
#include "data/results/anndata_copy.h"
#include "data/results/other_formats.h"
#include "kernels/cpu/memory.h"

namespace kith::app {
namespace {

/// Endings of the output name. Components are labels, not edges.
std::vector<std::string> endings_of(const KnnOptions& options) {
  if (!options.write_obsp.empty()) return {".h5", ".h5ad"};
  if (options.makes_graph() && !options.components)
    return {".h5", ".csv", ".npy", ".npz", ".mtx", ".parquet", ".arrow"};
  if (options.outliers) return {".h5", ".csv", ".parquet", ".arrow"};
  if (options.list_format() == ListFormat::bigann) return {".ibin"};
  if (options.list_format() == ListFormat::ivecs) return {".ivecs"};
  if (options.list_format() == ListFormat::ann_benchmarks) return {".h5"};
  return {".h5", ".csv", ".npy", ".parquet", ".arrow"};
}

/// The search, in blocks of queries whose size core/neighbors/neighbors.cpp chooses.
cpu::SearchShape planned_search(const KnnOptions& options, const data::PointSource& base,
                                const data::PointSource& queries) {
  const std::int64_t usual = kQueryBlockBytes / bytes_per_query(options.neighbors, queries.columns());
  const std::int64_t block = options.common.block_rows > 0 ? options.common.block_rows : usual;
  return {.rows = base.rows(),
          .columns = prepared_columns(base, options.common),
          .is_wide = data::size_of(base.held_as()) == 8,
          .queries = queries.rows(),
          .block = std::clamp<std::int64_t>(block, 1, queries.rows()),
          .neighbors = options.neighbors,
          .measure = measure_of(options.metric()),
          .threads = usable_threads(),
          .may_join = options.queries.empty() && !options.has_radius() && options.common.block_rows == 0 &&
                      options.checkpoint.file.empty()};
}

/// D of a query and a row of the base, by the definition; NaN for a row that is excluded from the query's list.
TruthComparison::DistanceOf definition_for(const KnnRun& run) {
  const PointsView base = run.base_values, queries = run.query_values;
  const bool excludes_self = run.queries == nullptr && !run.options.include_self;
  const Measure measure = measure_of(run.options.metric());
  return [=](std::int64_t query, std::int64_t row) {
    if (excludes_self && query == row) return std::numeric_limits<double>::quiet_NaN();
    return std::visit(
        [&](const auto& q, const auto& b) {
          return distance_by(measure, b.row(row).data(), q.row(query).data(), b.columns);
        },
        queries, base);
  };
}

/// Lists with row numbers of the files; dropped queries have the neighbours -1 at the distance NaN.
NeighborLists in_files(const NeighborLists& result, std::int64_t first, const KnnRun& run) {
  const std::span<const std::int64_t> kept = run.held.values->kept_rows();
  Matrix<std::int64_t> index(result.index.rows(), result.index.columns());
  std::transform(result.index.data(), result.index.data() + result.index.size(), index.data(),
                 [kept](std::int64_t row) { return kept.empty() ? row : kept[static_cast<std::size_t>(row)]; });
  NeighborLists lists(0, result.index.columns());
  lists.index = in_file_rows(std::as_const(index).view(), first, std::int64_t{-1}, run.queried);
  lists.distance = in_file_rows(result.distance.view(), first, std::numeric_limits<double>::quiet_NaN(), run.queried);
  return lists;
}

/// What a run of kith knn finds when its inputs are open.
struct KnnInputs {
  const data::PointSource& base;
  const data::PointSource& queries;  // the base itself without --queries
  std::optional<TruthComparison> truth = {};
  data::Labels classes = {};               // of --classify
  std::optional<data::Labels> known = {};  // classes of the queries
  RowIds ids = {};
  /// With several processes each has some rows of the base, and all of them as queries.
  bool reads_base_again = false;
};

std::vector<std::string> joined_columns(const CommonOptions& common) {
  std::vector<std::string> columns;
  if (common.join.empty()) return columns;
  for (data::ListItem& item : data::split_list("--join", common.join)) columns.push_back(std::move(item.text));
  return columns;
}

KnnInputs open_all(KnnOptions& options, PointsRun& run) {
  if (options.neighbors == 0 && !options.has_radius()) {
    run.set.refuse_missing("-k, the number of neighbours, or --radius,");
  }
  take_metric_of_radius(options.radius, {options.base, options.queries}, run.set, options.common);
  if (options.has_radius()) {
    options.radius.limit(options.metric());
    run.report.radius = report_of(options.radius, options.metric());
  }
  run.report.has_pairs = options.pairs;
  run.inputs = open_inputs(options.base, options.queries, run);
  run.source = run.inputs.first.get();
  const data::PointSource* second = run.inputs.second.get();
  KnnInputs inputs{*run.source, second != nullptr ? *second : *run.source};
  inputs.reads_base_again = second == nullptr && !processes().is_alone();
  const auto& [base, queries] = std::tie(inputs.base, inputs.queries);
  run.report.points = describe(base);
  if (second != nullptr) run.report.queries = describe(queries);
  require_same_columns(base, queries, "queries");
  check_neighbors(options, base, base.rows());
  if (!options.write_obsp.empty()) {
    data::check_obsp(data::parse_location(base.name()).file, options.write_obsp, base.rows(), options.has_weights());
  }
  if (!run.target.empty()) check_list_format(options.list_format(), options.metric(), base, second);
  const bool named = !run.common.id_column.empty() || !run.common.ids.empty() || run.common.transpose ||
                     base.element_type() == data::kFingerprint;
  if (named || !run.common.join.empty()) inputs.ids = RowIds(base, second, named, joined_columns(run.common));
  if (!options.classify.empty()) {
    inputs.classes = read_classes(options.classify, base, options);
    if (!options.truth.empty()) inputs.known = read_classes(options.truth, queries, options);
  } else if (!options.truth.empty()) {
    inputs.truth.emplace(options.truth, queries.rows(), options.neighbors);
    warn_of_truth_metric(options.truth, run.set, run.common, run.progress);
  }
  return inputs;
}

std::string stored_command(const KnnOptions& options, const PointsRun& run) {
  OptionSet::Replacements words = stored_words("BASE", *run.source, run.inputs.value_class(), run.common);
  if (run.inputs.second) words["--queries"] = "--queries " + stored_name(run.inputs.second->name());
  if (options.edges() != GraphEdges::directed && !options.has_weights()) words["--graph"] = "";
  return run.set.stored_command(words);
}

/// Host bytes of lists for checkpoints, packed twice, read, and on their way to the file.
std::int64_t kept_bytes(const KnnOptions& options, std::int64_t queries) {
  constexpr std::int64_t kCopies = 5, kPlaceBytes = 16;
  if (options.checkpoint.file.empty()) return 0;
  return checked_product(checked_product(queries, options.neighbors, "lists"), kCopies * kPlaceBytes, "lists");
}

/// Host bytes of what is made of the lists.
std::int64_t used_bytes(const KnnOptions& options, const KnnInputs& inputs) {
  constexpr std::int64_t kClassBytes = 24;  // of a query
  if (options.outliers) return outlier_bytes(inputs.base.rows(), options.neighbors);
  return options.classify.empty() ? 0 : kClassBytes * inputs.queries.rows() + 8 * inputs.base.rows();
}

/// The host bytes of a run that needs so many for certain: graphs vary by their edges, searches by the data.
MemoryUse memory_use(std::int64_t bytes, const KnnOptions& options, const KnnInputs& inputs, std::int64_t spare) {
  cpu::SearchShape search = planned_search(options, inputs.base, inputs.queries);
  search.spare = spare / 2;  // as search_options() has it
  const std::int64_t besides = bytes - cpu::block_search_bytes(search);
  const cpu::SearchBytes use = cpu::search_bytes(search);
  const std::int64_t graph = graph_bytes(options, inputs.queries.rows());
  if (options.has_radius()) {  // a block may have few pairs, and all of them are kept if they fit
    const std::int64_t most = options.components ? besides + use.most : std::max(besides + use.most, bytes + spare);
    return {besides - graph + use.least, most, "by the number of pairs within the radius"};
  }
  if (options.edges() == GraphEdges::directed)
    return {besides + use.least, besides + use.most, "by the search that the data allow"};
  // Edges are made of the lists when the search has ended; at least of both lists and their transpose.
  return {besides - graph + std::max(use.least, graph / 4 * 3), besides + use.most,
          "by how many rows are neighbours of each other"};
}

/// What the run does with all rows; with few columns, trees make searches faster.
std::vector<Work> work_of(const KnnOptions& options, const KnnInputs& inputs, bool only_searches) {
  const std::int64_t count = inputs.queries.rows();
  const cpu::SearchShape search = planned_search(options, inputs.base, inputs.queries);
  Work prepare = preparing();
  if (only_searches && processes().is_alone()) prepare.passes = 0;
  return {prepare,
          {.phase = "search",
           .operation = search.may_join ? Operation::join : Operation::search,
           .size = count,
           .passes = (count - 1) / search.block + 1,
           .at_most = inputs.base.columns() <= kTreeColumns && !compares_bits(options.common)}};
}

Needs needs_of(const KnnOptions& options, const KnnInputs& inputs, const PointsRun& run) {
  const bool has_queries = run.inputs.second != nullptr;
  const std::int64_t count = inputs.queries.rows();
  Needs needs{.stored_command = stored_command(options, run), .writes_result = !run.target.empty()};
  needs.bytes = (inputs.truth ? inputs.truth->bytes() : 0) + row_state_bytes(inputs.base) +
                cpu::block_search_bytes(planned_search(options, inputs.base, inputs.queries)) +
                graph_bytes(options, count) + kept_bytes(options, count) + used_bytes(options, inputs) +
                (inputs.reads_base_again ? value_bytes(inputs.base) : 0);
  needs.use = memory_use(needs.bytes, options, inputs, spare_bytes(run, needs.bytes));
  if (!has_queries && processes().is_alone()) {
    needs.all_rows = "the neighbours of rows among themselves need all rows in memory; give --queries";
  } else if (inputs.truth) {
    needs.all_rows = "--truth needs all rows in memory";
  } else if (options.list_format() == ListFormat::ann_benchmarks) {
    needs.all_rows = "--format ann-benchmarks stores all rows";
  }
  // Of inner products, the range is needed before.
  needs.only_searches = has_queries && measure_of(options.metric()) != Measure::inner_product;
  needs.work = work_of(options, inputs, needs.only_searches);
  const Metric metric = options.metric();
  needs.is_all_work = !options.has_radius() && (metric == Metric::euclidean || takes_directions(metric));
  const std::int64_t place = 8 + (run.inputs.value_class() == ValueClass::f32 ? 4 : 8);
  if (!options.makes_graph()) needs.result_bytes = count * options.neighbors * place;
  return needs;
}

/// Where lists of neighbours go; null: nowhere.
std::unique_ptr<NeighborOutput> open_lists(const KnnRun& search, const KnnInputs& inputs, Report& report) {
  const KnnOptions& options = search.options;
  const NeighborOutputRequest request{.path = search.target,
                                      .options = search.output,
                                      .head = search.head,
                                      .unit = options.unit(),
                                      .neighbors = options.neighbors,
                                      .base = &search.base,
                                      .queries = search.queries,
                                      .base_values = search.base_values,
                                      .query_values = search.query_values,
                                      .ids = search.ids};
  const bool shown = !options.common.json && (search.target.empty() || !options.common.quiet);
  if (options.outliers) return find_outliers(request, shown);
  if (!options.classify.empty()) {
    const VoteWeight weight = options.vote == "equal" ? VoteWeight::equal : VoteWeight::distance;
    return classify(request, inputs.classes, inputs.known ? &*inputs.known : nullptr, weight, shown, report);
  }
  if (search.target.empty() && (inputs.truth || !shown)) return nullptr;
  return open_neighbor_output(search.target.empty() ? ListFormat::kith : options.list_format(), request);
}

/// Searches from the state of a checkpoint on, and keeps the lists so far. take: called with each block of lists.
template <class Take>
void search_with_checkpoint(const KnnRun& search, NeighborOptions options, Checkpointing& checkpoint,
                            const Take& take) {
  options.soon = true;
  const std::int64_t count = rows_of(search.query_values);
  KnnState kept{.neighbors = options.neighbors, .distance = {}, .index = {}};
  if (auto stored =
          checkpoint.search({.neighbors = options.neighbors, .queries = count, .rows = search.held.points->rows()})) {
    kept = std::move(*stored);
    options.first_query = kept.queries();
    NeighborLists lists(options.first_query, options.neighbors);
    std::copy(kept.distance.begin(), kept.distance.end(), lists.distance.data());
    std::copy(kept.index.begin(), kept.index.end(), lists.index.data());
    if (options.first_query > 0) take(0, lists);
  }
  checkpoint.begin();
  nearest_neighbors(
      *search.held.points, search.query_values, options,
      [&](std::int64_t first, const NeighborLists& result) {
        take(first, result);
        kept.distance.insert(kept.distance.end(), result.distance.data(),
                             result.distance.data() + result.distance.size());
        kept.index.insert(kept.index.end(), result.index.data(), result.index.data() + result.index.size());
        if (kept.queries() < count) checkpoint.keep(kept, count);
      },
      search.job.progress);
  checkpoint.end();
}

/// Lists of k nearest neighbours, for the output and for --truth. Returns the output to be finished, or null.
std::unique_ptr<NeighborOutput> make_lists(const KnnRun& search, KnnInputs& inputs, PointsRun& run) {
  std::unique_ptr<NeighborOutput> lists = open_lists(search, inputs, run.report);
  if (inputs.truth) inputs.truth->measure_with(measure_of(search.options.metric()), definition_for(search));
  const bool all_kept = search.held.values->kept_rows().empty() && search.queried.kept_rows().empty();
  const auto take = [&](std::int64_t first, const NeighborLists& result) {
    const PhaseWithin phase(run.progress, "write");
    if (inputs.truth) inputs.truth->compare(first, result);
    if (!lists) return;
    all_kept ? lists->append(first, result)
             : lists->append(first_file_row(first, search.queried), in_files(result, first, search));
  };
  const NeighborOptions options = search_options(search);
  if (run.checkpoint) {
    search_with_checkpoint(search, options, *run.checkpoint, take);
  } else {
    nearest_neighbors(*search.held.points, search.query_values, options, take, run.progress);
  }
  return lists;
}

/// The output of a search, written but for its end; at most one of both.
struct KnnOutput {
  std::unique_ptr<NeighborOutput> lists;
  std::unique_ptr<GraphOutput> graph;

  void finish() {
    if (lists) lists->finish();
    if (graph) graph->finish();
  }
};

/// Searches the points that are held, and writes what it finds meanwhile.
KnnOutput search(const KnnOptions& options, KnnInputs& inputs, PointsRun& run) {
  const HeldPoints& held = run.held;
  check_neighbors(options, inputs.base, held.points->rows());
  if (inputs.truth) inputs.truth->read(inputs.base.rows());
  const auto second = run.inputs.second         ? read_points(*run.inputs.second, run, &held.preparation)
                      : inputs.reads_base_again ? read_points(*run.source, run)
                                                : nullptr;
  const data::Reading& queried = second ? *second : *held.values;
  const std::int64_t besides =
      run.common.memory > 0 ? run.required_bytes : run.needs.bytes - row_state_bytes(inputs.base);
  const KnnRun search{.options = options,
                      .job = run,
                      .held = held,
                      .base = inputs.base,
                      .queries = run.inputs.second.get(),
                      .queried = queried,
                      .base_values = held.values->values(),
                      .query_values = queried.values(),
                      .ids = inputs.ids,
                      .head = {options.makes_graph() ? "kith-graph" : "kith-neighbors", run.needs.stored_command,
                               run.inputs.value_class(), options.metric()},
                      .target = run.target,
                      .output = run.output,
                      .spare_bytes = memory_limit(run.common.memory).bytes - besides};
  KnnOutput output;
  if (options.makes_graph()) {
    output.graph = make_graph(search);
  } else {
    output.lists = make_lists(search, inputs, run);
  }
  run.report.phase("search").flops =
      assignment_flops(held.points->rows(), held.points->columns(), rows_of(search.query_values));
  if (inputs.truth) run.report.truth = inputs.truth->report();
  return output;
}

/// A command line that goes on from this run; empty: there is none. Names of files that do not exist yet are in
/// capitals where the user has them, and in small letters where the command makes them.
std::string next_step(const KnnOptions& options, const PointsRun& run) {
  const auto same = [&run](const std::string& more, const OptionSet::Replacements& words = {}) {
    return run.set.shown_command("knn", words) + more;
  };
  if (!options.classify.empty()) {
    if (run.report.accuracy.empty()) return "";
    const bool equal = options.vote == "equal";
    const auto best = std::ranges::max_element(run.report.accuracy, {}, [equal](const AccuracyReport& accuracy) {
      return equal ? accuracy.equal : accuracy.by_distance;
    });
    return same(" --queries NEW.csv -o classes.csv", {{"--neighbors", fmt::format("-k {}", best->neighbors)}});
  }
  if (run.target.empty() || options.outliers || options.components || !options.truth.empty()) return "";
  if (!options.queries.empty()) {
    if (options.has_radius() || data::label_format(run.target) == data::LabelFormat::csv) return "";
    return fmt::format("kith evaluate THEIRS.hdf5 --truth {}", shell_word(run.target));
  }
  if (options.makes_graph()) {
    if (!options.write_obsp.empty()) return "";
    // The groups that pairs connect.
    return same(" --components -o groups.csv", {{"--pairs", options.has_radius() || options.graph ? "" : "--graph"}});
  }
  return options.include_self ? "" : same(" --outliers -o outliers.csv", {{"--join", ""}});
}

}  // namespace

void check_neighbors(const KnnOptions& options, const data::PointSource& base, std::int64_t rows) {
  const bool left_out = options.queries.empty() && !options.include_self;
  const std::int64_t most = rows - (left_out ? 1 : 0);
  if (options.neighbors <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("-k {}: {} has {} rows{}; expected at most {} neighbours", options.neighbors, base.name(),
                          most, left_out ? " besides the query itself (see --include-self)" : "", most));
}

NeighborOptions search_options(const KnnRun& run) {
  return {.neighbors = run.options.neighbors,
          .base_is_queries = run.queries == nullptr,
          .include_self = run.options.include_self,
          .block_queries = run.options.common.block_rows,
          .measure = measure_of(run.options.metric()),
          .join_bytes = run.spare_bytes / 2};
}

int run_knn(const Arguments& arguments) {
  KnnOptions options;
  OptionSet set(
      {.command = "knn",
       .summary = "the exact k nearest neighbours of every query, nearest first; ties go to the lowest row number.",
       .usage = "BASE (-k K | --radius R) [--queries QUERIES] [options]",
       .examples = {"kith knn points.h5:/train --queries points.h5:/test -k 10 -o neighbors.h5",
                    "kith knn points.h5:/train -k 5 -o neighbors.h5     # the set against itself",
                    "kith knn points.h5:/train --queries points.h5:/test -k 100 --truth points.h5",
                    "kith knn known.csv --label-column kind --classify known.csv:kind --queries test.csv -k 5 --truth "
                    "test.csv:kind",
                    "kith knn points.h5:/train -k 15 --symmetric -o graph.h5    # edges, as CSR",
                    "kith knn cells.h5ad:/obsm/X_pca -k 14 --graph --weights umap --write-obsp neighbors -o new.h5ad",
                    "kith knn places.csv --metric haversine -k 10 -o nearest.csv   # km",
                    "kith knn vectors.npy --min-cosine 0.95 --pairs --ids texts.txt -o pairs.csv",
                    "kith knn points.h5:/train --min-cosine 0.95 --components -o groups.h5",
                    "kith knn base.fbin --queries queries.fbin -k 100 -o groundtruth.ibin",
                    "kith knn points.h5:/train -k 3 | head       # query, neighbour, distance",
                    "generate-queries | kith knn base.csv --id-column id --queries - --follow -k 3"},
       .first = {"-k", "--queries", "--radius", "--metric", "-o"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, endings_of(options));
  run.output.may_equal = may_be_written(options.checkpoint, run.target);
  check_outputs(run);
  if (options.follow) return follow_queries(options, run);
  KnnInputs inputs = open_all(options, run);
  open_checkpoint(run, options.checkpoint, arguments, stored_command(options, run));
  if (!begin(run, needs_of(options, inputs, run))) return 0;
  hold_points(run);
  advise(run);
  KnnOutput output = search(options, inputs, run);
  end_computation(run);
  if (inputs.truth) run.print(inputs.truth->verdict(text_width(Stream::output)));
  if (run.target.empty() && options.uses_lists()) output.lists->finish();
  if (begin_write(run)) output.finish();
  return finish(run, next_step(options, run),
                inputs.truth && !inputs.truth->all_right() ? ExitCode::internal : ExitCode::done);
}

}  // namespace kith::app
