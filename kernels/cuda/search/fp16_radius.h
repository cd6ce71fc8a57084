// The radius search on the tensor cores: fp16 products list the rows whose scores are below a limit.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Whether the held rows can be searched in fp16 by this measure.
template <class T>
bool can_search_radius_fp16(const HeldRows<T>& held, Measure measure);

/// Adds every row within lists.limit to the queries' lists, as Points::search_radius does. Returns, in ascending order,
/// the fallback queries, whose lists it did not change: the screen cannot bound their scores, or so many rows are near
/// the limit that a more precise screen is faster. Throws OutOfMemory, after which the lists are invalid. Waits for the
/// device.
template <class T>
std::vector<std::int64_t> search_radius_fp16(const HeldRows<T>& held, const Queries& queries, RadiusLists& lists);

}  // namespace kith::cuda
