// Transposes and merges graphs, unites components, and finds the clusters of DBSCAN among neighbours within a radius.
#include "core/neighbors/graph.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace kith {

void NeighborGraph::add_row(std::span<const Neighbor> sorted) {
  for (const Neighbor& neighbor : sorted) {
    row.push_back(neighbor.row);
    distance.push_back(neighbor.distance);
  }
  begin.push_back(edges());
}

namespace {

/// The graph with all edges reversed; edges of a row are ordered by target row.
NeighborGraph transposed(const NeighborGraph& graph) {
  NeighborGraph out;
  out.begin.assign(static_cast<std::size_t>(graph.rows() + 1), 0);
  for (const std::int64_t to : graph.row) ++out.begin[to + 1];
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  out.row.resize(graph.row.size());
  out.distance.resize(graph.row.size());
  std::vector<std::int64_t> next(out.begin.begin(), out.begin.end() - 1);
  for (std::int64_t i = 0; i < graph.rows(); ++i) {
    for (std::int64_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e) {
      const std::int64_t place = next[graph.row[e]]++;
      out.row[place] = i;
      out.distance[place] = graph.distance[e];
    }
  }
  return out;
}

}  // namespace

NeighborGraph with_edges(const NeighborGraph& graph, GraphEdges edges) {
  if (edges == GraphEdges::directed) return graph;
  const NeighborGraph back = transposed(graph);
  NeighborGraph out;
  // As many as there may be: growing arrays would be there twice while they grow.
  const auto most = static_cast<std::size_t>((edges == GraphEdges::symmetric ? 2 : 1) * graph.edges());
  out.row.reserve(most);
  out.distance.reserve(most);
  std::vector<Neighbor> both, kept;
  for (std::int64_t i = 0; i < graph.rows(); ++i) {
    both.clear();
    kept.clear();
    for (const NeighborGraph* from : {&graph, &back}) {
      for (std::int64_t e = from->begin[i]; e < from->begin[i + 1]; ++e)
        both.push_back({from->distance[e], from->row[e]});
    }
    std::sort(both.begin(), both.end());
    for (std::size_t e = 0; e < both.size(); ++e) {
      const bool twice = e + 1 < both.size() && both[e + 1].row == both[e].row;
      if (twice || edges == GraphEdges::symmetric) kept.push_back(both[e]);
      if (twice) ++e;
    }
    out.add_row(kept);
  }
  return out;
}

ConnectedComponents::ConnectedComponents(std::int64_t rows) : parent_(static_cast<std::size_t>(rows)) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

std::int64_t ConnectedComponents::root(std::int64_t row) {
  while (parent_[row] != row) row = parent_[row] = parent_[parent_[row]];
  return row;
}

void ConnectedComponents::unite(std::int64_t a, std::int64_t b) {
  const auto [low, high] = std::minmax({root(a), root(b)});
  parent_[high] = low;
}

std::vector<std::int64_t> ConnectedComponents::labels() {
  std::vector<std::int64_t> labels(parent_.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = root(static_cast<std::int64_t>(i));
  return labels;
}

namespace {

/// A border row, and a core row within its limit.
struct Border {
  std::int64_t row, core;
};

}  // namespace

DbscanResult dbscan(const Points& base, PointsView rows, const DbscanOptions& options, Observer& observer) {
  const std::int64_t n = rows_of(rows);
  RadiusOptions search{.limit = options.limit,
                       .measure = options.measure,
                       .base_is_queries = true,
                       .include_self = true,
                       .block_queries = options.block_queries};
  DbscanResult result;
  result.is_core.resize(static_cast<std::size_t>(n));
  {
    const std::vector<std::int64_t> counts = count_radius_neighbors(base, rows, search, observer);
    std::int64_t pairs = 0;
    for (std::size_t row = 0; row < counts.size(); ++row) {
      pairs += counts[row];
      result.is_core[row] = counts[row] >= options.min_points ? 1 : 0;
    }
    // Blocks whose lists fit.
    if (options.block_queries == 0)
      search.block_queries = std::clamp<std::int64_t>(search.capacity / (pairs / n), 1, n);
  }
  const auto is_core = [&](std::int64_t row) { return result.is_core[static_cast<std::size_t>(row)] != 0; };

  search.pairs_once = true;
  search.sorted = false;
  ConnectedComponents components(n);
  std::vector<Border> borders;
  std::vector<std::int64_t> last(static_cast<std::size_t>(n), -1);  // the core row of a border row's last entry
  const auto connect = [&](std::int64_t a, std::int64_t b) {
    if (is_core(a) && is_core(b)) return components.unite(a, b);
    if (!is_core(a) && !is_core(b)) return;
    const std::int64_t border = is_core(a) ? b : a, core = components.root(is_core(a) ? a : b);
    // Most border rows touch one cluster, so that one core row says enough.
    if (std::exchange(last[static_cast<std::size_t>(border)], core) != core) borders.push_back({border, core});
  };
  radius_neighbors(
      base, rows, search,
      [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
        for (std::size_t i = 0; i < lists.size(); ++i) {
          for (const Neighbor& neighbor : lists[i]) connect(first + static_cast<std::int64_t>(i), neighbor.row);
        }
        return true;
      },
      observer);

  // A cluster's lowest row is a core row: only core rows were united.
  result.labels.assign(static_cast<std::size_t>(n), -1);
  std::vector<std::int32_t> number(static_cast<std::size_t>(n), -1);  // of the cluster with this lowest row
  std::int64_t clusters = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    if (!is_core(row)) continue;
    std::int32_t& own = number[static_cast<std::size_t>(components.root(row))];
    if (own < 0) {
      if (clusters == std::numeric_limits<std::int32_t>::max()) {
        throw Error(ExitCode::data, "expected at most 2147483647 clusters, found more; give a larger --radius");
      }
      own = static_cast<std::int32_t>(clusters++);
    }
    result.labels[static_cast<std::size_t>(row)] = own;
    ++result.core;
  }
  for (const Border& border : borders) {
    const std::int32_t cluster = number[static_cast<std::size_t>(components.root(border.core))];
    std::int32_t& label = result.labels[static_cast<std::size_t>(border.row)];
    if (label < 0 || cluster < label) label = cluster;
  }
  result.counts.assign(static_cast<std::size_t>(clusters), 0);
  for (const std::int32_t label : result.labels) {
    label < 0 ? ++result.noise : ++result.counts[static_cast<std::size_t>(label)];
  }
  return result;
}

double knee_of(const std::vector<double>& distances) {
  const double first = distances.front(), range = distances.back() - first;
  if (!(range > 0.0)) return first;
  const double last = static_cast<double>(distances.size() - 1);
  std::size_t knee = 0;
  double deepest = 0.0;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const double depth = static_cast<double>(i) / last - (distances[i] - first) / range;
    if (depth > deepest) {
      deepest = depth;
      knee = i;
    }
  }
  return distances[knee];
}

}  // namespace kith
