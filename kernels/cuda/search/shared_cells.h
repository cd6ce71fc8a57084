// The search of a tree of boxes by thread blocks of several queries, for queries that visit many of the same leaves:
// those of a cluster all its leaves.
#pragma once

#include <cstdint>

#include "kernels/cuda/search/cell_launch.h"

namespace kith::cuda {

/// Whether launch_shared_cells() can search for these queries, and is expected to be faster than launch_cells() or used
/// by a test.
template <class T>
bool shares_cells(const HeldRows<T>& held, const CellQueries& queries);

/// Like launch_cells(), with each query's nearest rows in the same order, so the lists are the same. Queries whose
/// nearest leaves are near each other share a thread block. Throws OutOfMemory before it changes a list. Asynchronous.
template <class T>
void launch_shared_cells(const HeldRows<T>& held, const CellQueries& queries, const CellOutcome& out);

}  // namespace kith::cuda
