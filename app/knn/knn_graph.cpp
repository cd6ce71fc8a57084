// kith knn --graph and --radius: edges from lists or from all rows within a radius, and their connected components.
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "app/cli/terminal.h"
#include "app/knn/graph_output.h"
#include "app/knn/knn.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"

namespace kith::app {
namespace {

constexpr std::int64_t kEdgeBytes = 16;  // a row and its D

class GraphMaker {
 public:
  explicit GraphMaker(const KnnRun& run)
      : run_(run),
        options_(run.options),
        request_{.path = run.target,
                 .options = run.output,
                 .head = run.head,
                 .unit = options_.unit(),
                 .base = &run.base,
                 .queries = run.queries,
                 .edges = name_of_edges(),
                 .ids = run.ids,
                 .write_obsp = options_.write_obsp,
                 .each_once = options_.edges() != GraphEdges::directed} {}

  std::unique_ptr<GraphOutput> from_lists() {
    NeighborGraph lists;
    const std::int64_t edges = rows_of(run_.query_values) * options_.neighbors;
    lists.row.reserve(static_cast<std::size_t>(edges));
    lists.distance.reserve(static_cast<std::size_t>(edges));
    nearest_neighbors(
        *run_.held.points, run_.query_values, search_options(run_),
        [&](std::int64_t, const NeighborLists& result) {
          for (std::int64_t i = 0; i < result.index.rows(); ++i) {
            lists.row.insert(lists.row.end(), result.index.row(i).begin(), result.index.row(i).end());
            lists.distance.insert(lists.distance.end(), result.distance.row(i).begin(), result.distance.row(i).end());
            lists.begin.push_back(lists.edges());
          }
        },
        run_.job.progress);
    if (options_.edges() != GraphEdges::directed) lists = with_edges(lists, options_.edges());
    if (!options_.components) return write(lists);
    write_components_of(lists);
    return nullptr;
  }

  std::unique_ptr<GraphOutput> from_radius() {
    const RadiusOptions search{.limit = limit_of_radius(options_.radius, options_.metric()),
                               .measure = measure_of(options_.metric()),
                               .base_is_queries = run_.queries == nullptr,
                               .include_self = options_.include_self,
                               .block_queries = options_.common.block_rows,
                               .pairs_once = options_.components && run_.queries == nullptr,
                               .sorted = !options_.components,
                               .max_buffered_pairs = run_.spare_bytes / 4 / kBufferedPairBytes};
    if (options_.components) {
      write_components_within(search);
      return nullptr;
    }
    // Try to keep all edges in memory. If they do not fit, count them, and search again while writing.
    NeighborGraph graph;
    const std::int64_t spare = run_.spare_bytes - search.max_buffered_pairs * kBufferedPairBytes;
    const std::int64_t most = spare / (2 * kEdgeBytes);  // a vector may have twice the capacity of its size
    if (search_all(search, [&](std::int64_t, const NeighborGraph& part) {
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
        count_radius_neighbors(*run_.held.points, run_.query_values, search, run_.job.progress);
    for (const std::int64_t count : counts) begin.push_back(begin.back() + count);
    warn_if_large(begin.back());
    auto out = open(begin);
    search_all(search, [&](std::int64_t first, const NeighborGraph& part) {
      const PhaseWithin phase(run_.job.progress, "write");
      if (out) out->append(first, part);
      return true;
    });
    return out;
  }

 private:
  void warn_if_large(std::int64_t edges) const {
    constexpr double kLarge = 2e9;
    const double bytes = static_cast<double>(edges) * (run_.head.value_class == ValueClass::f32 ? 12 : 16);
    if (bytes < kLarge) return;
    run_.job.progress.warning(
        fmt::format("the graph has {} edges, about {:.1f} GB; a smaller --radius has fewer, and "
                    "--components writes only the groups of rows",
                    edges, bytes * 1e-9));
  }
  const char* name_of_edges() const {
    if (options_.has_radius()) return "radius";
    if (options_.symmetric) return "symmetric";
    return options_.mutual ? "mutual" : "directed";
  }

  /// Calls keep(first row, part of the graph) until it returns false; returns whether it never did.
  template <class Keep>
  bool search_all(const RadiusOptions& search, const Keep& keep) const {
    return radius_neighbors(
        *run_.held.points, run_.query_values, search,
        [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
          NeighborGraph part;
          for (const std::vector<Neighbor>& list : lists) part.add_row(list);
          return keep(first, part);
        },
        run_.job.progress);
  }

  /// Reports the number of edges before any is written. Null if they are not written.
  std::unique_ptr<GraphOutput> open(std::span<const std::int64_t> begin) {
    const std::int64_t edges = begin.back();
    run_.job.report.edges = edges;
    Terminal::instance().detail(fmt::format("edges      {}, {:.1f} for each row", edges,
                                            static_cast<double>(edges) / static_cast<double>(begin.size() - 1)));
    if (request_.path.empty() && options_.common.json) return nullptr;
    return open_graph_output(request_, begin);
  }

  std::unique_ptr<GraphOutput> write(const NeighborGraph& graph) {
    auto out = open(graph.begin);
    if (!out) return out;
    const PhaseWithin phase(run_.job.progress, "write");
    out->append(0, graph);
    return out;
  }

  void write_components_of(const NeighborGraph& graph) {
    ConnectedComponents components(graph.rows());
    for (std::int64_t i = 0; i < graph.rows(); ++i) {
      for (std::int64_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e) components.unite(i, graph.row[e]);
    }
    write_labels(components, graph.edges());
  }

  /// Keeps no edges. Each pair of rows is found once, and counts as two edges.
  void write_components_within(const RadiusOptions& search) {
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
        run_.job.progress);
    write_labels(components, edges);
  }

  void write_labels(ConnectedComponents& components, std::int64_t edges) {
    run_.job.progress.phase("write", 0);
    run_.job.report.edges = edges;
    request_.head.format = "kith-components";
    run_.job.report.components = write_components(request_, components.labels(), !options_.common.json);
  }

  const KnnRun& run_;
  const KnnOptions& options_;
  GraphOutputRequest request_;
};

}  // namespace

std::unique_ptr<GraphOutput> make_graph(const KnnRun& run) {
  GraphMaker maker(run);
  return run.options.has_radius() ? maker.from_radius() : maker.from_lists();
}

std::int64_t graph_bytes(const KnnOptions& options, std::int64_t rows) {
  if (!options.makes_graph()) return 0;
  if (options.has_radius()) return 2 * kEdgeBytes * RadiusOptions().capacity;  // of a block, in growing vectors
  // Lists, their transpose, and those of both or of either.
  const std::int64_t copies = options.edges() == GraphEdges::directed ? 1
                              : options.edges() == GraphEdges::mutual ? 3
                                                                      : 4;
  return copies * kEdgeBytes * checked_product(rows, options.neighbors, "edges of the graph");
}

}  // namespace kith::app
