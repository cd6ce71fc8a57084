// The radius search on the tensor cores: products of half-precision copies, of which those below a limit are listed.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Whether rows within a limit by this measure can be found in half precision.
template <class T>
bool finds_within_fp16(const HeldRows<T>& held, Measure measure);

/// Adds every row within found.limit to the queries' lists, as Points::within does, and returns the queries whose lists
/// it left as they were, ascending: the screen could not bound their scores, or so many rows are near the limit that a
/// finer one will do better. Throws OutOfMemory, after which
/// the lists are not to be used. Waits for the device.
template <class T>
std::vector<std::int64_t> search_radius_fp16(const HeldRows<T>& held, const Queries& queries, RadiusLists& found);

}  // namespace kith::cuda
