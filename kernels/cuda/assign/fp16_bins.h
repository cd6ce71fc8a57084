// The products of bins: rows of one group of centroids with the columns of that group.
#pragma once

#include "kernels/cuda/assign/fp16_groups.h"

namespace kith::cuda {

inline constexpr std::int32_t kTwoGroupsFlag = 1 << 30;  // marks a row that is in two groups; blocks have fewer rows
inline constexpr std::int32_t kListed = 0x7F7F7F7F;      // `nearest` of a listed row: above every column

/// The number of bins in GroupWorkspace::order.
struct BinList {
  const unsigned* count;  // (1) on the device
  std::int64_t most;
};

/// Decides the rows of all bins, as nearest_in_groups() specifies. An entry of groups.order is a row of the block, with
/// kTwoGroupsFlag if it is in two groups; listed rows get kListed. Queues only.
template <class T>
void multiply_bins(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                   const GroupWorkspace& groups, const RefinementWorkspace& workspace, const BinList& bins,
                   ScreeningCounts* counts);

}  // namespace kith::cuda
