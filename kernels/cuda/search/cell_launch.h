// Starts the search of a tree of boxes for a batch of queries on the device.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/cell_kernel.h"

namespace kith::cuda {

inline constexpr std::int64_t kMostCellNeighbors = 128;  // a list is in registers
inline constexpr std::int64_t kMostCellColumns = 3840;   // a query of a thread block is in shared memory

/// Fills `count` entries of lists with (+inf, -1). Asynchronous.
void clear_lists(const Context& context, const DeviceLists& lists, std::int64_t count);

/// Merges the nearest rows of a tree into the lists of the queries. Asynchronous.
template <class T>
void launch_cells(const Context& context, const CellView<T>& tree, const CellQueries& queries, const CellOutcome& out);

}  // namespace kith::cuda
