// kith knn --graph and --radius: edges of lists, or of all rows within a radius, and groups of connected rows.
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "app/cli/terminal.h"
#include "app/knn/graph_output.h"
#include "app/knn/knn.h"
#include "core/neighbors.h"
#include "core/radius.h"

namespace kith::app {
namespace {

constexpr std::int64_t kEdgeBytes = 16;  // a row and its D

class GraphMaker {
 public:
  explicit GraphMaker(const KnnRun& run)
      : run_(run),
        options_(run.options),
        request_{.path = options_.common.output,
                 .options = run.output,
                 .head = run.head,
                 .unit = options_.unit(),
                 .base = &run.base,
                 .queries = run.queries,
                 .edges = name_of_edges(),
                 .each_once = options_.edges() != GraphEdges::directed} {}

  void of_lists() {
    NeighborGraph lists;
    const std::int64_t edges = rows_of(run_.query_values) * options_.neighbors;
    lists.row.reserve(static_cast<std::size_t>(edges));
    lists.distance.reserve(static_cast<std::size_t>(edges));
    nearest_neighbors(
        *run_.held.points, run_.query_values,
        {.neighbors = options_.neighbors,
         .base_is_queries = run_.queries == nullptr,
         .include_self = options_.include_self,
         .block_queries = options_.common.block_rows,
         .measure = measure_of(options_.metric()),
         .join_bytes = run_.spare_bytes / 2},
        [&](std::int64_t, const NeighborLists& found) {
          for (std::int64_t i = 0; i < found.index.rows(); ++i) {
            lists.row.insert(lists.row.end(), found.index.row(i).begin(), found.index.row(i).end());
            lists.distance.insert(lists.distance.end(), found.distance.row(i).begin(), found.distance.row(i).end());
            lists.begin.push_back(lists.edges());
          }
        },
        run_.invocation.progress);
    if (options_.edges() != GraphEdges::directed) lists = with_edges(lists, options_.edges());
    options_.components ? group(lists) : write(lists);
  }

  void of_radius() {
    const RadiusOptions search{.limit = limit_of_radius(options_.radius, options_.metric()),
                               .measure = measure_of(options_.metric()),
                               .base_is_queries = run_.queries == nullptr,
                               .include_self = options_.include_self,
                               .block_queries = options_.common.block_rows,
                               .pairs_once = options_.components && run_.queries == nullptr,
                               .max_buffered_pairs = run_.spare_bytes / 4 / kBufferedPairBytes};
    if (options_.components) return group_within(search);
    // The guess: all of them fit in memory. If not, they are counted, and found again on their way into the file.
    NeighborGraph graph;
    const std::int64_t spare = run_.spare_bytes - search.max_buffered_pairs * kBufferedPairBytes;
    const std::int64_t most = spare / (2 * kEdgeBytes);  // a vector may be twice as long as what it holds
    if (find(search, [&](std::int64_t, const NeighborGraph& part) {
          graph.row.insert(graph.row.end(), part.row.begin(), part.row.end());
          graph.distance.insert(graph.distance.end(), part.distance.begin(), part.distance.end());
          for (std::int64_t i = 0; i < part.rows(); ++i) {
            graph.begin.push_back(graph.begin.back() + part.begin[i + 1] - part.begin[i]);
          }
          return graph.edges() <= most;
        })) {
      return write(graph);
    }
    graph = {};
    std::vector<std::int64_t> begin{0};
    const std::vector<std::int64_t> counts =
        count_radius_neighbors(*run_.held.points, run_.query_values, search, run_.invocation.progress);
    for (const std::int64_t count : counts) begin.push_back(begin.back() + count);
    const auto out = open(begin);
    find(search, [&](std::int64_t first, const NeighborGraph& part) {
      const PhaseWithin phase(run_.invocation.progress, "write");
      if (out) out->take(first, part);
      return true;
    });
    finish(out.get());
  }

 private:
  const char* name_of_edges() const {
    if (options_.has_radius()) return "radius";
    if (options_.symmetric) return "symmetric";
    return options_.mutual ? "mutual" : "directed";
  }

  /// keep(first row, part of the graph) until it returns false; then that is the answer.
  template <class Keep>
  bool find(const RadiusOptions& search, const Keep& keep) const {
    return radius_neighbors(
        *run_.held.points, run_.query_values, search,
        [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
          NeighborGraph part;
          for (const std::vector<Neighbor>& list : lists) part.add_row(list);
          return keep(first, part);
        },
        run_.invocation.progress);
  }

  /// Says how many edges there are before any is written. Null where nobody wants them.
  std::unique_ptr<GraphOutput> open(std::span<const std::int64_t> begin) {
    const std::int64_t edges = begin.back();
    run_.invocation.report.edges = edges;
    Terminal::instance().detail(fmt::format("edges      {}, {:.1f} for each row", edges,
                                            static_cast<double>(edges) / static_cast<double>(begin.size() - 1)));
    if (request_.path.empty() && options_.common.json) return nullptr;
    return open_graph_output(request_, begin);
  }

  void finish(GraphOutput* out) {
    if (request_.path.empty()) return;
    run_.invocation.progress.phase("write", 0);
    out->finish();
    run_.invocation.wrote(request_.path);
  }

  void write(const NeighborGraph& graph) {
    const auto out = open(graph.begin);
    if (out) {
      const PhaseWithin phase(run_.invocation.progress, "write");
      out->take(0, graph);
    }
    finish(out.get());
  }

  void group(const NeighborGraph& graph) {
    ConnectedComponents components(graph.rows());
    for (std::int64_t i = 0; i < graph.rows(); ++i) {
      for (std::int64_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e) components.unite(i, graph.row[e]);
    }
    write_groups(components, graph.edges());
  }

  /// No edge is kept. Between two rows there are two, which are found once.
  void group_within(const RadiusOptions& search) {
    ConnectedComponents components(run_.base.rows());
    std::int64_t edges = 0;
    radius_neighbors(
        *run_.held.points, run_.query_values, search,
        [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
          for (std::size_t i = 0; i < lists.size(); ++i) {
            const std::int64_t row = first + static_cast<std::int64_t>(i);
            for (const Neighbor& neighbor : lists[i]) {
              components.unite(row, neighbor.row);
              edges += neighbor.row == row ? 1 : 2;
            }
          }
          return true;
        },
        run_.invocation.progress);
    write_groups(components, edges);
  }

  void write_groups(ConnectedComponents& components, std::int64_t edges) {
    run_.invocation.progress.phase("write", 0);
    run_.invocation.report.edges = edges;
    request_.head.format = "kith-components";
    run_.invocation.report.components = write_components(request_, components.labels(), !options_.common.json);
    if (!request_.path.empty()) run_.invocation.wrote(request_.path);
  }

  const KnnRun& run_;
  const KnnOptions& options_;
  GraphOutputRequest request_;
};

}  // namespace

void make_graph(const KnnRun& run) {
  GraphMaker maker(run);
  run.options.has_radius() ? maker.of_radius() : maker.of_lists();
}

std::int64_t graph_bytes(const KnnOptions& options, std::int64_t rows) {
  if (!options.makes_graph()) return 0;
  if (options.has_radius()) return 2 * kEdgeBytes * RadiusOptions().capacity;  // of a block, in vectors that grow
  // Lists; with them their transpose and the union of both, which may grow to twice its length.
  const std::int64_t copies = options.edges() == GraphEdges::directed ? 1 : 6;
  return copies * kEdgeBytes * checked_product(rows, options.neighbors, "edges of the graph");
}

}  // namespace kith::app
