// The neighbour search on the tensor cores: fp16 products, group minima of their scores, lists (fp16_lists.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Whether the held rows can be searched in fp16 by this measure, for lists of `neighbors` and an excluded row.
template <class T>
bool can_search_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors);

/// Fills the lists, which must be unfilled. Returns, in ascending order, the fallback queries, whose lists stay
/// unfilled: the screen cannot bound their scores, or too many candidates are equally near. Waits for the device.
template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

}  // namespace kith::cuda
