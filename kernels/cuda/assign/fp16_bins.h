// Bins: rows of one group of centroids, multiplied with its columns alone.
#pragma once

#include "kernels/cuda/assign/fp16_groups.h"

namespace kith::cuda {

inline constexpr std::int32_t kTwoGroupsFlag = 1 << 30;  // with a row that is in two groups; blocks are smaller
inline constexpr std::int32_t kListed = 0x7F7F7F7F;      // as nearest of a listed row: above every column

/// How many bins the room's order has.
struct BinList {
  const unsigned* count;  // (1) on the device
  std::int64_t most;
};

/// Decides the rows of all bins, as nearest_in_groups() says. An entry of the room's order is a row of the block, with
/// kTwoGroupsFlag where it is in two groups; listed rows get kListed. Queues only.
template <class T>
void multiply_bins(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                   const GroupWorkspace& groups, const RefinementWorkspace& room, const BinList& bins,
                   ScreeningCounts* counts);

}  // namespace kith::cuda
