// The kernels of tree_kernel.h for each number of columns and length of lists.
#include "kernels/cuda/search/tree_launch.h"

#include <algorithm>
#include <limits>

namespace kith::cuda {
namespace {

__global__ void clear_kernel(DeviceLists lists, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    lists.distance[i] = std::numeric_limits<double>::infinity();
    lists.index[i] = -1;
  }
}

template <int kSlots, class T>
auto kernel_for(std::int64_t d) {
  if (d <= 4) return tree_kernel<T, 4, kSlots>;
  return d <= 16 ? tree_kernel<T, 16, kSlots> : tree_kernel<T, kLanes, kSlots>;
}

}  // namespace

void clear_lists(const Context& context, const DeviceLists& lists, std::int64_t count) {
  clear_kernel<<<context.grid(count, kBlock), kBlock, 0, context.stream>>>(lists, count);
  check(cudaGetLastError());
}

template <class T>
void launch_tree(const Context& context, const TreeView<T>& tree, const TreeQueries& queries, const TreeOutcome& out) {
  static_assert(kMostTreeNeighbors == 4 * kWarp);
  constexpr std::int64_t kUnasked = 48 * 1024;  // what a kernel may use of shared memory without asking
  constexpr std::int64_t kBounds = kTreeWarps * kTreeLevels * kLeafRows * 4;
  static_assert(kMostTreeColumns * sizeof(TreeValue) + kBounds <= 64 * 1024, "what every GPU has");
  const auto kernel = queries.neighbors <= kWarp ? kernel_for<1, T>(tree.d) : kernel_for<4, T>(tree.d);
  const std::int64_t query_bytes = tree.d * static_cast<std::int64_t>(sizeof(TreeValue));
  // Few queries are spread over all multiprocessors.
  const std::int64_t most_warps = std::clamp<std::int64_t>(queries.count / context.multiprocessors, 1, kTreeWarps);
  const std::int64_t warps = std::clamp<std::int64_t>((kUnasked - kBounds) / query_bytes, 1, most_warps);
  const std::int64_t shared = warps * query_bytes;
  if (shared + kBounds > kUnasked) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  }
  // Queries take different times, so there are more blocks than run together, each with few queries.
  const std::int64_t blocks = (queries.count + warps - 1) / warps;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, std::numeric_limits<int>::max()));
  const auto threads = static_cast<unsigned>(warps * kWarp);
  kernel<<<grid, threads, static_cast<std::size_t>(shared), context.stream>>>(tree, queries, out);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T) \
  template void launch_tree(const Context&, const TreeView<T>&, const TreeQueries&, const TreeOutcome&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
