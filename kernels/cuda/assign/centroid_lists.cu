// Computes the distances between all centroids by the definition, and sorts each row of them in shared memory.
//
// k^2 d multiply-adds of float64, 0.02 ms for k = 1024, d = 128 at the 34 TFLOP/s of an H200, and a bitonic sort of
// k log(k)^2 / 4 steps per centroid (K. Batcher: Sorting networks and their applications, 1968).
#include "kernels/cuda/assign/centroid_lists.h"

#include <algorithm>
#include <bit>

#include "core/bounds.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kEntries = std::int64_t{1} << 23;     // of all lists, unless they would be too short
constexpr std::int64_t kMinLength = 64;                      // of a list, if there are as many centroids
constexpr std::int64_t kBatchCells = std::int64_t{1} << 24;  // distances that are sorted together
constexpr int kMostKeys = 8192;                              // that a thread block sorts, 64 KiB
constexpr int kTogether = 4;                // a warp computes kTogether x kTogether distances at a time
constexpr std::int64_t kRangeColumns = 64;  // centroids that a thread block compares its rows with

/// Lower bounds of the distances of centroids first .. first + rows - 1 from all. distance: (rows, clusters) out. A
/// block measures 32 rows and a range of columns, a warp four rows.
__global__ void distance_bound_kernel(const double* centroids, std::int64_t clusters, std::int64_t d, double unit,
                                      std::int64_t first, std::int64_t rows, float* distance) {
  const std::int64_t ranges = (clusters + kRangeColumns - 1) / kRangeColumns;
  const std::int64_t row = (blockIdx.x / ranges * kBlockWarps + threadIdx.x / kWarp) * kTogether;
  const std::int64_t begin = blockIdx.x % ranges * kRangeColumns, end = min(begin + kRangeColumns, clusters);
  if (row >= rows) return;
  const double* x[kTogether];
#pragma unroll
  for (int i = 0; i < kTogether; ++i) x[i] = centroids + (first + min(row + i, rows - 1)) * d;
  for (std::int64_t column = begin; column < end; column += kTogether) {
    const double* c[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) c[i] = centroids + min(column + i, end - 1) * d;
    double sum[kTogether * kTogether];
    accumulate_grid(x, c, d, sum);
    const double result = add_lanes<kTogether * kTogether>(sum);
    const int pair = lane_index() / 2;
    const std::int64_t r = row + pair / kTogether, s = column + pair % kTogether;
    if (lane_index() % 2 == 0 && r < rows && s < end) distance[r * clusters + s] = distance_below(result, unit);
  }
}

/// Sorts a power of two of keys.
__device__ void bitonic_sort(Word* keys, int count) {
  for (int size = 2; size <= count; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < count / 2; i += static_cast<int>(blockDim.x)) {
        const int low = 2 * i - (i & (step - 1)), high = low + step;
        const Word a = keys[low], b = keys[high];
        if ((a > b) == ((low & size) == 0)) {
          keys[low] = b;
          keys[high] = a;
        }
      }
    }
  }
  __syncthreads();
}

/// A block per centroid. Distances are not negative, so their bits order like their values. With more centroids than
/// keys, the nearest so far stay in front, and the others are sorted into them in turns.
__global__ void sort_kernel(const float* distance, std::int64_t clusters, std::int64_t first, int keys, int length,
                            ListedCentroid* lists) {
  extern __shared__ Word key[];
  const std::int64_t own = first + blockIdx.x;
  const float* mine = distance + blockIdx.x * clusters;
  int kept = 0;
  for (std::int64_t from = 0; from < clusters; from += keys - kept) {
    if (from > 0) kept = length;
    for (int i = kept + static_cast<int>(threadIdx.x); i < keys; i += static_cast<int>(blockDim.x)) {
      const std::int64_t column = from + i - kept;
      const bool exists = column < clusters && column != own;
      key[i] = exists ? Word{__float_as_uint(mine[column])} << 32 | static_cast<Word>(column) : ~Word{0};
    }
    bitonic_sort(key, keys);
  }
  for (int i = static_cast<int>(threadIdx.x); i < length; i += static_cast<int>(blockDim.x)) {
    lists[own * length + i] = {__uint_as_float(static_cast<unsigned>(key[i] >> 32)),
                               static_cast<std::int32_t>(key[i] & 0xFFFFFFFFU)};
  }
}

}  // namespace

CentroidLists::CentroidLists(Pool& pool, std::int64_t clusters)
    : clusters_(clusters),
      length_(std::min({clusters - 1, std::max(kEntries / clusters, kMinLength), std::int64_t{kMostKeys / 2}})),
      entries_(pool, clusters * length_),
      distance_(pool, std::clamp<std::int64_t>(kBatchCells / clusters, 1, clusters) * clusters) {}

void CentroidLists::make(const Context& context, const double* centroids, std::int64_t d, double unit) {
  const std::int64_t batch = distance_.size() / clusters_;
  const auto all = static_cast<unsigned>(std::min<std::int64_t>(clusters_, kMostKeys));
  const int keys = static_cast<int>(std::bit_ceil(all));
  const int bytes = keys * static_cast<int>(sizeof(Word));
  check(cudaFuncSetAttribute(sort_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  constexpr std::int64_t kBlockRows = kBlockWarps * kTogether;
  for (std::int64_t first = 0; first < clusters_; first += batch) {
    const std::int64_t rows = std::min(batch, clusters_ - first);
    const std::int64_t blocks =
        (rows + kBlockRows - 1) / kBlockRows * ((clusters_ + kRangeColumns - 1) / kRangeColumns);
    distance_bound_kernel<<<static_cast<unsigned>(blocks), kBlock, 0, context.stream>>>(centroids, clusters_, d, unit,
                                                                                        first, rows, distance_.data());
    check(cudaGetLastError());
    sort_kernel<<<static_cast<unsigned>(rows), kBlock, bytes, context.stream>>>(
        distance_.data(), clusters_, first, keys, static_cast<int>(length_), entries_.data());
    check(cudaGetLastError());
  }
}

}  // namespace kith::cuda
