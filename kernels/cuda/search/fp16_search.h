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
/// unfilled: the screen cannot bound their scores, or too many candidates are equally near. Throws OutOfMemory, before
/// it changes a list. sampled: as in BatchSearch. Waits for the device.
template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists,
                                      std::int64_t sampled = 0);

/// Fills the lists of those fallback queries of search_fp16() that are only too long for its limit, which is that of
/// the other rows: once more with theirs. Returns the others. Throws OutOfMemory, before it changes a list. Waits for
/// the device.
template <class T>
std::vector<std::int64_t> search_long_queries(const HeldRows<T>& held, const Queries& queries,
                                              const std::vector<std::int64_t>& fallback, NeighborLists& lists);

}  // namespace kith::cuda
