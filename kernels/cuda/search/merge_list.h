// Merges a list that was found in a group into the list of its query.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/fp16_lists.h"
#include "kernels/cuda/search/group_lists.h"

namespace kith::cuda {

/// Merges list i of `found`, of rows of a group, into list q of `lists`, with list i of `merged` as memory. All lanes
/// of a warp call it: the place of an entry is its own plus the number of entries before it in the other list. Lists of
/// fallback queries, which have no first entry, stay; where none was found, the query becomes a fallback query; those
/// of dense queries are found later.
__device__ inline void merge_found_list(const DeviceLists& found, std::int64_t i, std::int64_t k, const GroupRows& rows,
                                        const DeviceLists& merged, const DeviceLists& lists, std::int64_t q) {
  const std::int64_t own = q * k, other = i * k;
  if (lists.index[own] < 0 || found.index[other] == kDenseList) return;
  if (found.index[other] < 0) {
    __syncwarp();  // all lanes have read the entry
    if (lane_index() == 0) lists.index[own] = -1;
    __syncwarp();
    return;
  }
  const auto row_of = [&](std::int64_t at) { return rows.number(found.index[other + at]); };
  const auto place = [&](std::int64_t at, double distance, std::int64_t row) {
    if (at >= k) return;
    merged.distance[other + at] = distance;
    merged.index[other + at] = row;
  };
  for (std::int64_t j = lane_index(); j < k; j += kWarp) {
    const double kept = lists.distance[own + j], added = found.distance[other + j];
    const std::int64_t kept_row = lists.index[own + j], added_row = row_of(j);
    const std::int64_t added_before =
        count_less(k, [&](std::int64_t at) { return before(found.distance[other + at], row_of(at), kept, kept_row); });
    // Only unfilled entries are equal: those of the list are first.
    const std::int64_t kept_before = count_less(
        k, [&](std::int64_t at) { return !before(added, added_row, lists.distance[own + at], lists.index[own + at]); });
    place(j + added_before, kept, kept_row);
    place(j + kept_before, added, added_row);
  }
  __syncwarp();  // all lanes have read the list and written the merged one
  for (std::int64_t j = lane_index(); j < k; j += kWarp) {
    lists.distance[own + j] = merged.distance[other + j];
    lists.index[own + j] = merged.index[other + j];
  }
  __syncwarp();
}

}  // namespace kith::cuda
