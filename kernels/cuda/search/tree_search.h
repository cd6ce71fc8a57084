// The neighbour search in a tree of boxes (tree_kernel.h), for rows with few columns or in clusters.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/tree_kernel.h"

namespace kith::cuda {

/// The share of the pairs that a tree costs, by the distances and bounds that were computed: a box has two sides.
double computed_share(const Word (&computed)[2], std::int64_t queries, std::int64_t rows);

/// Queries (count, d) on the device, which may visit a share of the tree of the held rows.
template <class T>
TreeQueries tree_queries(const HeldRows<T>& held, const double* values, std::int64_t count, std::int64_t neighbors);

/// Merges the nearest rows into the lists. Requires that choose_search() chose the tree. unfilled: no list has an
/// entry. Returns, in ascending order, the fallback queries, which would visit a large part of the tree; their lists do
/// not change. Throws OutOfMemory, before it changes a list. Waits for the device.
template <class T>
std::vector<std::int64_t> search_tree(const HeldRows<T>& held, const Queries& queries, bool unfilled,
                                      NeighborLists& lists);

}  // namespace kith::cuda
