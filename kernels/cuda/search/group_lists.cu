// The kernels of group_lists.h.
#include "kernels/cuda/search/group_lists.h"

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/fp16_lists.h"

namespace kith::cuda {
namespace {

__global__ void store_kernel(FoundLists found, DeviceLists lists) {
  const std::int64_t k = found.k;
  for (std::int64_t i = thread_index(); i < found.count * k; i += thread_count()) {
    const std::int64_t to = found.chosen[i / k] * k + i % k;
    lists.distance[to] = found.lists.distance[i];
    lists.index[to] = found.rows.number(found.lists.index[i]);
  }
}

/// A warp merges a list: the place of an entry is its own plus the number of entries before it in the other list.
__global__ void merge_kernel(FoundLists found, DeviceLists merged, DeviceLists lists) {
  const std::int64_t k = found.k;
  for (std::int64_t i = warp_index(); i < found.count; i += warp_count()) {
    const std::int64_t own = found.chosen[i] * k, other = i * k;
    if (lists.index[own] < 0 || found.lists.index[other] == kDenseList) continue;
    if (found.lists.index[other] < 0) {
      __syncwarp();  // all lanes have read the entry
      if (lane_index() == 0) lists.index[own] = -1;
      continue;
    }
    const auto row_of = [&](std::int64_t at) { return found.rows.number(found.lists.index[other + at]); };
    const auto place = [&](std::int64_t at, double distance, std::int64_t row) {
      if (at >= k) return;
      merged.distance[other + at] = distance;
      merged.index[other + at] = row;
    };
    for (std::int64_t j = lane_index(); j < k; j += kWarp) {
      const double kept = lists.distance[own + j], added = found.lists.distance[other + j];
      const std::int64_t kept_row = lists.index[own + j], added_row = row_of(j);
      const std::int64_t added_before = count_less(
          k, [&](std::int64_t at) { return before(found.lists.distance[other + at], row_of(at), kept, kept_row); });
      // Only unfilled entries are equal: those of the list are first.
      const std::int64_t kept_before = count_less(k, [&](std::int64_t at) {
        return !before(added, added_row, lists.distance[own + at], lists.index[own + at]);
      });
      place(j + added_before, kept, kept_row);
      place(j + kept_before, added, added_row);
    }
    __syncwarp();  // all lanes have read the list and written the merged one
    for (std::int64_t j = lane_index(); j < k; j += kWarp) {
      lists.distance[own + j] = merged.distance[other + j];
      lists.index[own + j] = merged.index[other + j];
    }
  }
}

__global__ void places_kernel(GroupRows group, std::int64_t rows, const std::int32_t* chosen, std::int64_t count,
                              std::int64_t first, std::int32_t* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    out[i] = group.place(first + chosen[i], rows);
  }
}

}  // namespace

void store_found(const Context& context, const FoundLists& found, const DeviceLists& lists) {
  store_kernel<<<context.grid(found.count * found.k, kBlock), kBlock, 0, context.stream>>>(found, lists);
  check(cudaGetLastError());
}

void merge_found(const Context& context, const FoundLists& found, const DeviceLists& memory, const DeviceLists& lists) {
  merge_kernel<<<context.grid(found.count, kBlockWarps), kBlock, 0, context.stream>>>(found, memory, lists);
  check(cudaGetLastError());
}

void find_places(const Context& context, const GroupRows& group, std::int64_t rows, const std::int32_t* chosen,
                 std::int64_t count, std::int64_t first, std::int32_t* out) {
  places_kernel<<<context.grid(count, kBlock), kBlock, 0, context.stream>>>(group, rows, chosen, count, first, out);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
