// Graphs of neighbours: compressed sparse rows (CSR), symmetric and mutual edges, connected components, and DBSCAN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/neighbors/radius.h"
#include "core/points/backend.h"
#include "core/runtime/large_pages.h"

namespace kith {

/// The edges of row i are begin[i] .. begin[i + 1] - 1, ordered by (D, row).
struct NeighborGraph {
  std::vector<std::int64_t> begin{0};  // (rows + 1)
  std::vector<std::int64_t> row;       // (edges) target row
  std::vector<double> distance;        // (edges) D
  std::vector<double> weight = {};     // (edges) from 0 to 1; empty: edges have none

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

// DBSCAN: clusters of rows that have many others within a radius (M. Ester, H.-P. Kriegel, J. Sander, X. Xu: A
// Density-Based Algorithm for Discovering Clusters, 1996).

struct DbscanOptions {
  double limit = 0.0;  // inclusive limit of D between neighbours
  Measure measure = Measure::squared_euclidean;
  std::int64_t min_points = 5;     // rows within the limit of a core row, itself included
  std::int64_t block_queries = 0;  // of radius_neighbors()
};

/// Core rows within the limit of each other are in one cluster; clusters are numbered by their lowest core row. Other
/// rows within the limit of a core row are border rows of the lowest cluster that has such a core row, and the
/// remaining ones are noise. These are the labels of scikit-learn's DBSCAN.
struct DbscanResult {
  UninitializedVector<std::int32_t> labels;  // (n) -1: noise
  std::vector<std::uint8_t> is_core;         // (n) 0 or 1
  std::vector<std::int64_t> counts;          // (clusters) rows
  std::int64_t core = 0, noise = 0;          // rows
};

/// Searches the rows of `base`, whose values are `rows` (n, d), twice: their numbers of neighbours, and the neighbours.
DbscanResult dbscan(const Points& base, PointsView rows, const DbscanOptions& options, Observer& observer);

/// A radius for which the distances to the `neighbors`-th neighbour suggest a change from dense to sparse rows: the
/// farthest point of their ascending curve below its chord (V. Satopaa et al.: Finding a "Kneedle" in a Haystack,
/// 2011). distances: ascending, at least one.
double knee_of(const std::vector<double>& distances);

}  // namespace kith
