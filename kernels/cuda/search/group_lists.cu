// The kernels of group_lists.h.
#include "kernels/cuda/search/group_lists.h"

#include "kernels/cuda/search/merge_list.h"

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

/// A warp per query.
__global__ void merge_kernel(FoundLists found, DeviceLists merged, DeviceLists lists) {
  for (std::int64_t i = warp_index(); i < found.count; i += warp_count()) {
    merge_found_list(found.lists, i, found.k, found.rows, merged, lists, found.chosen[i]);
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
