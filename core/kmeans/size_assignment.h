// The cheapest assignment of rows to clusters whose sizes are within limits, by shortest paths between clusters.
//
// A transportation problem: every row goes to one cluster, and cluster c takes smallest[c] to largest[c] rows. It is
// solved as a flow of minimum cost by successive shortest paths (R. G. Busacker, P. J. Gowen 1960) with potentials (J.
// Edmonds, R. M. Karp: Theoretical improvements in algorithmic efficiency for network flow problems, 1972). Rows are
// few kinds of edges here: the edge between two clusters is the row that changes between them at the lowest cost, so
// that the graph has a node for each cluster and one that takes what is between the limits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/points/matrix.h"

namespace kith {

struct SizeRange {
  std::vector<std::int64_t> smallest, largest;  // (k)
};

/// Costs are at most 2^cost_bits(k), so that no sum along a path overflows.
int cost_bits(std::int64_t clusters);

/// The labels (n) of least total cost for costs (n, k) from 0 on. The limits admit an assignment. prices: (k) any
/// numbers at the start, 0 if none are known; at the end every label is a cluster of least cost + price for
/// its row. They come from a part of the rows first, so that most labels are right at once. Equal costs: shortest paths
/// take the lowest cluster, then the lowest row, so that the labels depend on the input alone. n < 2^31.
std::vector<std::int32_t> assign_within_sizes(MatrixView<const std::int64_t> costs, const SizeRange& sizes,
                                              std::vector<std::int64_t>& prices);

/// Limits for a part of so many rows. If those of all rows admit an assignment, so do these, and what any such labels
/// leave of the limits admits one of the other rows.
SizeRange share_of(const SizeRange& sizes, std::int64_t part, std::int64_t rows);

/// Host bytes of assign_within_sizes() besides costs and labels, at most.
std::int64_t size_assignment_bytes(std::int64_t rows, std::int64_t clusters);

}  // namespace kith
