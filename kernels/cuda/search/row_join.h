// Neighbours of a set in itself by searches whose queries are the rows on the device.
#pragma once

#include <optional>

#include "core/points/communicator.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Lists of the nearest of all held rows, for `own` of them. Those of fallback rows have no entry: the screen cannot
/// bound their scores, or too many candidates are equally near. Nothing where other searches are expected to be faster.
/// Throws OutOfMemory. Waits for the device.
template <class T>
std::optional<NeighborLists> join_rows(const HeldRows<T>& held, const SelfJoin& join, const Shard& own);

}  // namespace kith::cuda
