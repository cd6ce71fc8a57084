// The rows with the largest distances, selected on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kmeans/cluster_update.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// A list of rows on the device, in any order.
struct FarCandidates {
  std::int32_t* row = nullptr;  // (capacity); null: all rows
  Word* length = nullptr;       // (1) of the list, which is complete if this is not above the capacity
  Word capacity = 0;

  __device__ bool are_all() const { return row != nullptr && *length <= capacity; }
};

/// Selects the *wanted rows, at most `most`, with the largest held.distance; of equal ones those with the lowest
/// numbers. wanted: on the device. candidates: rows outside of this list are not selected. Returns the rows on the
/// device (most), in any order, numbered from the first held row; an entry that is not used has a negative number.
/// Asynchronous. Throws OutOfMemory.
template <class T>
Buffer<FarRow> select_farthest(const HeldRows<T>& held, const Word* wanted, std::int64_t most,
                               const FarCandidates& candidates);

/// Downloads selected rows, with their numbers among all rows, farthest first. Waits.
template <class T>
std::vector<FarRow> download_far(const HeldRows<T>& held, const Buffer<FarRow>& selected);

}  // namespace kith::cuda
