// A warp processes a row, and a lane every 32nd centroid. With fewer than 32 columns, the definition's tree needs only
// as many accumulators as there are columns, since the others are zero.
//
// Per row k d additions and multiply-adds of float64. 0.2 % of 10^7 x 2 rows with 16 centroids take 0.01 ms on an H200,
// as long as a launch; 2 % of 10^7 x 16 with 100 take 0.25 ms, more than finding candidates first.
#include "kernels/cuda/assign/exact_assign.h"

#include <limits>

#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

template <class T>
struct AmongAll {
  const T* values;             // (rows, d)
  const std::int32_t* chosen;  // (count)
  Count count;
  const double* centroids;  // (clusters, d)
  int clusters, d;
  std::int32_t* nearest;
};

/// The tree from width W down; sum[0] becomes its root.
template <int W, int Columns>
__device__ void fold(double (&sum)[Columns]) {
  if constexpr (W > 0) {
#pragma unroll
    for (int j = 0; j < W; ++j) sum[j] = __dadd_rn(sum[j], sum[j + W]);
    fold<W / 2>(sum);
  }
}

/// Columns: a power of two, d or above.
template <class T, int Columns>
__global__ void among_all_kernel(const __grid_constant__ AmongAll<T> arguments) {
  extern __shared__ double columns[];  // (Columns, clusters)
  const int clusters = arguments.clusters, d = arguments.d;
  for (int i = static_cast<int>(threadIdx.x); i < clusters * Columns; i += kBlock) {
    const int j = i / clusters, c = i % clusters;
    columns[i] = j < d ? arguments.centroids[c * d + j] : 0.0;
  }
  __syncthreads();
  const std::int64_t count = arguments.count.get();
  for (std::int64_t i = warp_index(); i < count; i += warp_count()) {
    const std::int32_t row = arguments.chosen[i];
    double x[Columns];
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[j] = j < d ? static_cast<double>(arguments.values[static_cast<std::int64_t>(row) * d + j]) : 0.0;
    }
    double smallest = std::numeric_limits<double>::infinity();
    int nearest = clusters;
    for (int c = lane_index(); c < clusters; c += kWarp) {
      double sum[Columns];
#pragma unroll
      for (int j = 0; j < Columns; ++j) sum[j] = add_square(x[j], columns[j * clusters + c], 0.0);
      fold<Columns / 2>(sum);
      const bool nearer = sum[0] < smallest || nearest == clusters;
      nearest = nearer ? c : nearest;
      smallest = nearer ? sum[0] : smallest;
    }
#pragma unroll
    for (int w = kWarp / 2; w > 0; w /= 2) {
      const double distance = __shfl_xor_sync(kAllLanes, smallest, w);
      const int other = __shfl_xor_sync(kAllLanes, nearest, w);
      const bool nearer = distance < smallest || (distance == smallest && other < nearest);
      smallest = nearer ? distance : smallest;
      nearest = nearer ? other : nearest;
    }
    if (lane_index() == 0) arguments.nearest[row] = nearest;
  }
}

template <int Columns, class T>
void launch(const HeldRows<T>& held, const AmongAll<T>& arguments) {
  if constexpr (Columns < kMostAmongAllColumns) {
    if (arguments.d > Columns) return launch<2 * Columns>(held, arguments);
  }
  const std::size_t shared = sizeof(double) * Columns * static_cast<std::size_t>(arguments.clusters);
  const auto kernel = among_all_kernel<T, Columns>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  const auto blocks = std::min(held.context->grid(arguments.count.most, kBlockWarps),
                               static_cast<unsigned>(2 * held.context->multiprocessors));
  kernel<<<blocks, kBlock, shared, held.stream()>>>(arguments);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
void decide_among_all(const HeldRows<T>& held, const PointOperand<T>& rows, const std::int32_t* chosen, Count count,
                      const double* centroids, std::int64_t clusters, std::int32_t* nearest) {
  launch<1>(held, AmongAll<T>{rows.values, chosen, count, centroids, static_cast<int>(clusters), rows.d, nearest});
}

#define KITH_INSTANTIATE(T)                                                                              \
  template void decide_among_all(const HeldRows<T>&, const PointOperand<T>&, const std::int32_t*, Count, \
                                 const double*, std::int64_t, std::int32_t*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
