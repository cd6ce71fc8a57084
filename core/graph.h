// Graphs of neighbours as compressed rows (CSR): made of lists, made symmetric or mutual, taken apart into groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"

namespace kith {

/// Row i has the edges begin[i] .. begin[i + 1] - 1, ordered by (D, row).
struct NeighborGraph {
  std::vector<std::int64_t> begin{0};  // (rows + 1)
  std::vector<std::int64_t> row;       // (edges) where they lead
  std::vector<double> distance;        // (edges) D

  std::int64_t rows() const { return std::ssize(begin) - 1; }
  std::int64_t edges() const { return std::ssize(row); }
  /// Appends a row with these edges.
  void add_row(std::span<const Neighbor> sorted);
};

/// Which pairs of rows have an edge, given the lists of both: as they are, where either has the other, or where both
/// have.
enum class GraphEdges { directed, symmetric, mutual };

/// The graph with other edges. D(x, y) and D(y, x) have the same bits, so each edge has one distance. Takes as much
/// memory again as the graph has.
NeighborGraph with_edges(const NeighborGraph& graph, GraphEdges edges);

/// Groups of rows that are connected, directly or through others; each is named by its lowest row. Union by the lowest
/// row with path halving: R. E. Tarjan and J. van Leeuwen, Worst-case analysis of set union algorithms (1984).
class ConnectedComponents {
 public:
  explicit ConnectedComponents(std::int64_t rows);
  void unite(std::int64_t a, std::int64_t b);
  /// The lowest row of the group. (rows)
  std::vector<std::int64_t> labels();

 private:
  std::int64_t root(std::int64_t row);

  std::vector<std::int64_t> parent_;  // never above the row itself
};

}  // namespace kith
