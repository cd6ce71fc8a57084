// kith knn: the exact k nearest neighbours of every query among the points of a file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/commands.h"
#include "app/knn/graph_output.h"
#include "app/knn/knn.h"
#include "app/knn/knn_options.h"
#include "app/knn/neighbor_uses.h"
#include "app/knn/truth.h"
#include "app/run/dropped_rows.h"
#include "app/run/file_metric.h"
#include "app/run/memory.h"
#include "app/run/points_job.h"
#include "app/run/processes.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "core/numbers/distance.h"
#include "core/runtime/threads.h"
#include "data/results/obsp_writer.h"

namespace kith::app {
namespace {

/// Endings of the output name. Components are labels, not edges.
std::vector<std::string> endings_of(const KnnOptions& options) {
  if (!options.write_obsp.empty()) return {".h5", ".h5ad"};
  if (options.makes_graph() && !options.components) return {".h5", ".csv", ".npy", ".npz", ".mtx"};
  if (options.outliers) return {".h5", ".csv"};
  if (options.list_format() == ListFormat::bigann) return {".ibin"};
  if (options.list_format() == ListFormat::ivecs) return {".ivecs"};
  if (options.list_format() == ListFormat::ann_benchmarks) return {".h5"};
  return {".h5", ".csv", ".npy"};
}

/// rows: of the base that are not dropped
void check_neighbors(const KnnOptions& options, const data::PointSource& base, std::int64_t rows) {
  const bool left_out = options.queries.empty() && !options.include_self;
  const std::int64_t most = rows - (left_out ? 1 : 0);
  if (options.neighbors <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("-k {}: {} has {} rows{}; expected at most {} neighbours", options.neighbors, base.name(),
                          most, left_out ? " besides the query itself (see --include-self)" : "", most));
}

/// The search, in blocks of queries whose size core/neighbors/neighbors.cpp chooses.
PlannedSearch planned_search(const KnnOptions& options, const data::PointSource& base,
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

class KnnJob final : public PointsJob {
 public:
  KnnJob(OptionSet& set, KnnOptions& options, const Arguments& words)
      : PointsJob(set, options.common), options_(options), words_(words) {
    output.endings = endings_of(options);
    output.may_equal = may_be_written(options.checkpoint, target);
  }

 private:
  void open() override;
  std::int64_t bytes() const override {
    return (truth_ ? truth_->bytes() : 0) + row_state_bytes(*source) +
           block_search_bytes(planned_search(options_, *source, queries())) + graph_bytes(options_, queries().rows()) +
           kept_bytes() + used_bytes() + (reads_base_again() ? value_bytes(*source) : 0);
  }
  MemoryUse memory_use(std::int64_t spare) const override;
  /// With several processes each has some rows of the base, and all of them as queries.
  bool reads_base_again() const { return !inputs.second && !processes().is_alone(); }
  /// Of lists for checkpoints, packed twice, read, and on their way to the file.
  std::int64_t kept_bytes() const {
    constexpr std::int64_t kCopies = 5, kPlaceBytes = 16;
    if (options_.checkpoint.file.empty()) return 0;
    return checked_product(checked_product(queries().rows(), options_.neighbors, "lists"), kCopies * kPlaceBytes,
                           "lists");
  }
  std::int64_t used_bytes() const {
    constexpr std::int64_t kClassBytes = 24;  // of a query
    return options_.outliers            ? outlier_bytes(source->rows(), options_.neighbors)
           : !options_.classify.empty() ? kClassBytes * queries().rows() + 8 * source->rows()
                                        : 0;
  }
  std::string needs_memory() const override {
    if (!inputs.second && processes().is_alone())
      return "the neighbours of rows among themselves need all rows in memory; give --queries";
    if (truth_) return "--truth needs all rows in memory";
    return options_.list_format() == ListFormat::ann_benchmarks ? "--format ann-benchmarks stores all rows" : "";
  }
  /// Of inner products, the range is needed before.
  bool only_searches() const override {
    return inputs.second && measure_of(options_.metric()) != Measure::inner_product;
  }
  std::vector<Work> work() const override;
  std::int64_t result_bytes() const override {
    const std::int64_t place = 8 + (inputs.value_class() == ValueClass::f32 ? 4 : 8);
    return options_.makes_graph() ? 0 : queries().rows() * options_.neighbors * place;
  }
  void compute() override;
  void show() override {
    if (truth_) print(truth_->verdict() + "\n");
    if (target.empty() && options_.uses_lists()) lists_->finish();
  }
  void write() override {
    if (lists_) lists_->finish();
    if (graph_) graph_->finish();
  }
  std::string next() const override {
    return target.empty() || truth_ ? "" : fmt::format("kith info {}", shell_word(target));
  }
  ExitCode exit_code() const override { return truth_ && !truth_->all_right() ? ExitCode::internal : ExitCode::done; }

  const data::PointSource& queries() const { return inputs.second ? *inputs.second : *inputs.first; }
  std::string stored_command() const override;
  void compute_lists(const KnnRun& run);

  KnnOptions& options_;
  const Arguments& words_;  // behind the command's name
  std::optional<TruthComparison> truth_;
  data::Labels classes_;
  RowIds ids_;
  std::unique_ptr<NeighborOutput> lists_;
  std::unique_ptr<GraphOutput> graph_;
};

void KnnJob::open() {
  if (options_.neighbors == 0 && !options_.has_radius()) {
    set.refuse_missing("-k, the number of neighbours, or --radius,");
  }
  take_file_metric({options_.base, options_.queries}, set, common);
  if (options_.has_radius()) limit_of_radius(options_.radius, options_.metric());
  inputs = open_inputs(options_.base, options_.queries, *this);
  source = inputs.first.get();
  report.points = describe(*source);
  if (inputs.second) report.queries = describe(*inputs.second);
  if (queries().columns() != source->columns()) {
    throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}; give queries of the same "
                                            "columns, or choose them with --columns",
                                            queries().name(), source->columns(), source->name(), queries().columns()));
  }
  check_neighbors(options_, *source, source->rows());
  if (!options_.write_obsp.empty()) {
    data::check_obsp(data::parse_location(source->name()).file, options_.write_obsp, source->rows());
  }
  if (!target.empty()) check_list_format(options_.list_format(), options_.metric(), *source, inputs.second.get());
  if (!common.id_column.empty()) ids_ = RowIds(*source, inputs.second.get());
  if (!options_.classify.empty()) classes_ = read_classes(options_, *source);
  if (!options_.truth.empty()) {
    truth_.emplace(options_.truth, queries().rows(), options_.neighbors);
    warn_of_truth_metric(options_.truth, set, common, progress);
  }
  open_checkpoint(options_.checkpoint, words_, stored_command());
}

std::string KnnJob::stored_command() const {
  OptionSet::Replacements words{{"BASE", stored_name(source->name())},
                                {"--precision", fmt::format("--precision {}", name_of(inputs.value_class()))}};
  if (inputs.second) words["--queries"] = "--queries " + stored_name(inputs.second->name());
  if (options_.edges() != GraphEdges::directed) words["--graph"] = "";
  return set.stored_command(words);
}

MemoryUse KnnJob::memory_use(std::int64_t spare) const {
  PlannedSearch search = planned_search(options_, *source, queries());
  search.spare = spare / 2;  // as search_options() has it
  const std::int64_t besides = bytes() - block_search_bytes(search);
  const MemoryUse use = search_memory(search);
  const std::int64_t graph = graph_bytes(options_, queries().rows());
  if (options_.has_radius()) {  // a block may have few pairs, and all of them are kept if they fit
    const std::int64_t most = options_.components ? besides + use.most : std::max(besides + use.most, bytes() + spare);
    return {besides - graph + use.least, most, "by the number of pairs within the radius"};
  }
  if (options_.edges() == GraphEdges::directed) return {besides + use.least, besides + use.most, use.reason};
  // Edges are made of the lists when the search has ended; at least of both lists and their transpose.
  return {besides - graph + std::max(use.least, graph / 4 * 3), besides + use.most,
          "by how many rows are neighbours of each other"};
}

/// Of lists of Euclidean neighbours; nothing for other searches. With few columns, trees make them faster.
std::vector<Work> KnnJob::work() const {
  const Metric metric = options_.metric();
  if (options_.has_radius() || (metric != Metric::euclidean && metric != Metric::cosine)) return {};
  constexpr std::int64_t kFewColumns = 16;
  const std::int64_t count = queries().rows();
  const std::int64_t block = common.block_rows > 0
                                 ? common.block_rows
                                 : kQueryBlockBytes / bytes_per_query(options_.neighbors, source->columns());
  const bool joins = planned_search(options_, *source, queries()).may_join;
  Work prepare = preparing();
  if (only_searches() && processes().is_alone()) prepare.passes = 0;
  return {prepare,
          {.phase = "search",
           .operation = joins ? Operation::join : Operation::search,
           .size = count,
           .passes = (count - 1) / std::clamp<std::int64_t>(block, 1, count) + 1,
           .at_most = source->columns() <= kFewColumns}};
}

void KnnJob::compute() {
  check_neighbors(options_, *source, held.points->rows());
  if (truth_) truth_->read(source->rows());
  const auto second = inputs.second        ? read_points(*inputs.second, *this, &held.preparation)
                      : reads_base_again() ? read_points(*source, *this)
                                           : nullptr;
  const data::Reading& queried = second ? *second : *held.values;
  const KnnRun run{.options = options_,
                   .job = *this,
                   .held = held,
                   .base = *source,
                   .queries = inputs.second.get(),
                   .queried = queried,
                   .base_values = held.values->values(),
                   .query_values = queried.values(),
                   .ids = ids_,
                   .head = {options_.makes_graph() ? "kith-graph" : "kith-neighbors", stored_command(),
                            inputs.value_class(), options_.metric()},
                   .output = output,
                   .spare_bytes = memory_limit(common.memory).bytes -
                                  (common.memory > 0 ? required_bytes : bytes() - row_state_bytes(*source))};
  if (options_.makes_graph()) {
    graph_ = make_graph(run);
  } else {
    compute_lists(run);
  }
  report.phase("search").flops =
      assignment_flops(held.points->rows(), held.points->columns(), rows_of(run.query_values));
  if (truth_) report.truth = truth_->report();
}

/// Lists of k nearest neighbours, for the output and for --truth.
void KnnJob::compute_lists(const KnnRun& run) {
  const NeighborOutputRequest request{.path = target,
                                      .options = output,
                                      .head = run.head,
                                      .unit = options_.unit(),
                                      .neighbors = options_.neighbors,
                                      .base = &run.base,
                                      .queries = run.queries,
                                      .base_values = run.base_values,
                                      .query_values = run.query_values,
                                      .ids = run.ids};
  const bool shown = !common.json;
  if (options_.outliers) {
    lists_ = find_outliers(request, shown);
  } else if (!options_.classify.empty()) {
    const VoteWeight weight = options_.vote == "equal" ? VoteWeight::equal : VoteWeight::distance;
    lists_ = classify(request, classes_, weight, shown, report);
  } else if (!target.empty() || (!truth_ && !common.json)) {
    lists_ = open_neighbor_output(target.empty() ? ListFormat::kith : options_.list_format(), request);
  }
  if (truth_) truth_->measure_with(definition_for(run));
  const bool all_kept = held.values->kept_rows().empty() && run.queried.kept_rows().empty();
  const auto take = [&](std::int64_t first, const NeighborLists& result) {
    const PhaseWithin phase(progress, "write");
    if (truth_) truth_->compare(first, result);
    if (!lists_) return;
    all_kept ? lists_->append(first, result)
             : lists_->append(first_file_row(first, run.queried), in_files(result, first, run));
  };
  NeighborOptions search = search_options(run);
  if (!checkpoint) return nearest_neighbors(*held.points, run.query_values, search, take, progress);

  search.soon = true;
  const std::int64_t count = rows_of(run.query_values);
  KnnState kept{.neighbors = options_.neighbors, .distance = {}, .index = {}};
  if (auto stored =
          checkpoint->search({.neighbors = options_.neighbors, .queries = count, .rows = held.points->rows()})) {
    kept = std::move(*stored);
    search.first_query = kept.queries();
    NeighborLists lists(search.first_query, options_.neighbors);
    std::copy(kept.distance.begin(), kept.distance.end(), lists.distance.data());
    std::copy(kept.index.begin(), kept.index.end(), lists.index.data());
    if (search.first_query > 0) take(0, lists);
  }
  checkpoint->begin();
  nearest_neighbors(
      *held.points, run.query_values, search,
      [&](std::int64_t first, const NeighborLists& result) {
        take(first, result);
        kept.distance.insert(kept.distance.end(), result.distance.data(),
                             result.distance.data() + result.distance.size());
        kept.index.insert(kept.index.end(), result.index.data(), result.index.data() + result.index.size());
        if (kept.queries() < count) checkpoint->keep(kept, count);
      },
      progress);
  checkpoint->end();
}

}  // namespace

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
                    "kith knn points.h5:/train -k 15 --symmetric -o graph.h5    # edges, as CSR",
                    "kith knn points.h5:/train --radius 0.1 --metric cosine --components -o groups.h5",
                    "kith knn base.fbin --queries queries.fbin -k 100 -o groundtruth.ibin",
                    "kith knn points.h5:/train -k 3 | head       # query, neighbour, distance"}});
  declare(set, options);
  return set.parse(arguments) ? KnnJob(set, options, arguments).run() : 0;
}

}  // namespace kith::app
