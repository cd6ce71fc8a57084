// Starts the search of a tree of boxes for a batch of queries on the device.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/tree_kernel.h"

namespace kith::cuda {

inline constexpr std::int64_t kMostTreeNeighbors = 128;  // a list is in registers
inline constexpr std::int64_t kMostTreeColumns = 3840;   // a query of a thread block is in shared memory

/// Fills `count` entries of lists with (+inf, -1). Asynchronous.
void clear_lists(const Context& context, const DeviceLists& lists, std::int64_t count);

/// Merges the nearest rows of a tree into the lists of the queries. Asynchronous.
template <class T>
void launch_tree(const Context& context, const TreeView<T>& tree, const TreeQueries& queries, const TreeOutcome& out);

}  // namespace kith::cuda
