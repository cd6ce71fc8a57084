// Neighbours of a set in itself by searches whose queries are the rows on the device.
#pragma once

#include <optional>

#include "core/points/communicator.h"
#include "core/points/points.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Fills lists of the nearest of all held rows, for `own` of them, and returns how many distances were computed by the
/// definition. Lists of fallback rows have no entry: the screen cannot bound their scores, or too many candidates are
/// equally near. Nothing where other searches are expected to be faster. Throws OutOfMemory. Waits for the device.
template <class T>
std::optional<std::int64_t> join_rows(const HeldRows<T>& held, const SelfJoin& join, const Shard& own,
                                      const ListsView& lists);

}  // namespace kith::cuda
