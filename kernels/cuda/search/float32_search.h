// The neighbour search by the float32 screen, for all measures and for any number of neighbours.
#pragma once

#include <vector>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/float32_scores.h"

namespace kith::cuda {

/// Merges the nearest rows of the queries in `ranges` into their lists. Throws OutOfMemory, before it changes a list.
/// Waits for the device.
template <class T>
void search_float32(const HeldRows<T>& held, const Queries& queries, const std::vector<QueryRange>& ranges,
                    NeighborLists& lists);

}  // namespace kith::cuda
