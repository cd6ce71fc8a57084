// Transposes a graph by counting and merges each row with the same row of the transpose.
#include "core/neighbors/graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

}  // namespace kith
