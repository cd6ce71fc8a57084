// The rows with the largest distances, selected on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kmeans/cluster_update.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// The *wanted rows, at most `most`, with the largest held.distance; of equal ones those with the lowest numbers.
/// wanted: on the device. Returns them with their numbers among all rows, farthest first. Waits. Throws OutOfMemory.
template <class T>
std::vector<FarRow> farthest_rows(const HeldRows<T>& held, const Word* wanted, std::int64_t most);

}  // namespace kith::cuda
