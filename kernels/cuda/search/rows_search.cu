// The kernels that store and merge lists of rows of a cell.
#include "kernels/cuda/search/rows_search.h"

#include "kernels/cuda/device/reduce.h"

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

/// Merges list i of the found ones into list q, with list i of `merged` as memory. All lanes of a warp call it. Lists
/// of fallback queries, which have no first entry, stay; where none was found, the query becomes a fallback query.
__device__ void merge_list(const FoundLists& found, std::int64_t i, const DeviceLists& merged, const DeviceLists& lists,
                           std::int64_t q) {
  const std::int64_t k = found.k, own = q * k, other = i * k;
  if (lists.index[own] < 0) return;
  if (found.lists.index[other] < 0) {
    __syncwarp();  // all lanes have read the entry
    if (lane_index() == 0) lists.index[own] = -1;
    __syncwarp();
    return;
  }
  const auto kept = [&](std::int64_t at) { return ListEntry{lists.distance[own + at], lists.index[own + at]}; };
  const auto added = [&](std::int64_t at) {
    return ListEntry{found.lists.distance[other + at], found.rows.number(found.lists.index[other + at])};
  };
  merge_by_rank(ListPair{kept, added, k, k}, lane_index(), kWarp, [&](std::int64_t at, const ListEntry& entry) {
    if (at >= k) return;
    merged.distance[other + at] = entry.distance;
    merged.index[other + at] = entry.index;
  });
  __syncwarp();  // all lanes have read the list and written the merged one
  for (std::int64_t j = lane_index(); j < k; j += kWarp) {
    lists.distance[own + j] = merged.distance[other + j];
    lists.index[own + j] = merged.index[other + j];
  }
  __syncwarp();
}

/// A warp per query.
__global__ void merge_kernel(FoundLists found, DeviceLists merged, DeviceLists lists) {
  for (std::int64_t i = warp_index(); i < found.count; i += warp_count()) {
    merge_list(found, i, merged, lists, found.chosen[i]);
  }
}

__global__ void places_kernel(CellRows cell, std::int64_t rows, const std::int32_t* chosen, std::int64_t count,
                              std::int64_t first, std::int32_t* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    out[i] = cell.place(first + chosen[i], rows);
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

void find_places(const Context& context, const CellRows& cell, std::int64_t rows, const std::int32_t* chosen,
                 std::int64_t count, std::int64_t first, std::int32_t* out) {
  places_kernel<<<context.grid(count, kBlock), kBlock, 0, context.stream>>>(cell, rows, chosen, count, first, out);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
