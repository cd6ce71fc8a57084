// The rows with the largest distances, selected on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cluster_update.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Selects the *wanted rows, at most `most`, with the largest held.distance; of equal ones those with the lowest
/// numbers. wanted: on the device. Returns them on the device (most), in any order, numbered from the first held row;
/// an entry that is not used has a negative number. Asynchronous. Throws OutOfMemory.
template <class T>
Buffer<FarRow> select_farthest(const HeldRows<T>& held, const Word* wanted, std::int64_t most);

/// Downloads selected rows, with their numbers among all rows, farthest first. Waits.
template <class T>
std::vector<FarRow> download_far(const HeldRows<T>& held, const Buffer<FarRow>& selected);

}  // namespace kith::cuda
