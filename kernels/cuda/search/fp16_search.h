// The neighbour search on the tensor cores: products of half-precision copies, group minima, lists (fp16_lists.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Whether all rows can be searched in half precision by this measure, for lists of `neighbors` and the row that a
/// query may leave out.
template <class T>
bool searches_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors);

/// Fills the lists, which are unfilled before, and returns the queries whose lists it left so, ascending: the screen
/// could not bound their scores, or too many of their candidates are equally near. Waits for the device.
template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

}  // namespace kith::cuda
