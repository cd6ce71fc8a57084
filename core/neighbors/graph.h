// Neighbour graphs in compressed sparse row (CSR) format: symmetric and mutual graphs, and connected components.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/backend.h"

namespace kith {

/// The edges of row i are begin[i] .. begin[i + 1] - 1, ordered by (D, row).
struct NeighborGraph {
  std::vector<std::int64_t> begin{0};  // (rows + 1)
  std::vector<std::int64_t> row;       // (edges) target row
  std::vector<double> distance;        // (edges) D

  std::int64_t rows() const { return std::ssize(begin) - 1; }
  std::int64_t edges() const { return std::ssize(row); }
  /// Appends a row with these edges, which must be ordered by (D, row).
  void add_row(std::span<const Neighbor> sorted);
};

/// Which edges a graph of neighbour lists has. directed: one for each list entry; symmetric: rows a and b if either
/// list contains the other row; mutual: if both lists do.
enum class GraphEdges { directed, symmetric, mutual };

/// Converts a directed graph. D(x, y) and D(y, x) have the same bits, so each edge has one distance. Takes at
/// most three times the memory of the graph besides it.
NeighborGraph with_edges(const NeighborGraph& graph, GraphEdges edges);

/// Connected components by union-find, each labelled with its lowest row. Path halving: R. E. Tarjan, J. van Leeuwen:
/// Worst-case analysis of set union algorithms (1984).
class ConnectedComponents {
 public:
  explicit ConnectedComponents(std::int64_t rows);
  /// Records an edge between rows a and b.
  void unite(std::int64_t a, std::int64_t b);
  /// (rows) The lowest row of the component of each row.
  std::vector<std::int64_t> labels();
  /// The lowest row of the component of a row.
  std::int64_t root(std::int64_t row);

 private:
  std::vector<std::int64_t> parent_;  // never larger than the row itself
};

}  // namespace kith
