// The neighbour search in a tree of boxes (cell_kernel.h), for rows with few columns or in clusters.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

enum class SearchMethod {
  products,  // with all rows
  cells,     // in the tree
  groups,    // products with the rows of each group (group_search.h)
};

/// What is expected to be fastest for `count` queries such as these, by the share of a sample of the rows that a sample
/// of the queries visits in a tree, and by whether products in fp16 decide them. Builds the tree or the groups then.
/// Waits for the device.
template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const Queries& some, std::int64_t neighbors, std::int64_t count);

/// Merges the nearest rows into the lists. Requires that choose_search() chose them. unfilled: no list has an entry.
/// Returns, in ascending order, the fallback queries, which would visit a large part of the tree; their lists do not
/// change. Throws OutOfMemory, before it changes a list. Waits for the device.
template <class T>
std::vector<std::int64_t> search_cells(const HeldRows<T>& held, const Queries& queries, bool unfilled,
                                       NeighborLists& lists);

}  // namespace kith::cuda
