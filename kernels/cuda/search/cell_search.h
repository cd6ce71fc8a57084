// The neighbour search in cells of rows (cells.h), for rows in a few dense clusters.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Fills unfilled lists with the nearest rows: those of the cell whose center is nearest to a query, and then those of
/// every other cell that may have nearer ones. Requires held.index.cells. Returns, in ascending order, the fallback
/// queries, whose lists stay unfilled. Throws OutOfMemory, after it may have filled lists. Waits for the device.
template <class T>
std::vector<std::int64_t> search_cells(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

}  // namespace kith::cuda
