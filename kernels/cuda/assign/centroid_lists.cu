// Computes the distances between all centroids in float64, and sorts each row of them in shared memory.
//
// k^2 d / 2 subtractions and multiply-adds, 0.01 ms for k = 1024, d = 128 at the 34 TFLOP/s of an H200, and a bitonic
// sort of k log(k)^2 / 4 steps per centroid (K. Batcher: Sorting networks and their applications, 1968).
#include "kernels/cuda/assign/centroid_lists.h"

#include <algorithm>
#include <bit>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kEntries = std::int64_t{1} << 23;     // of all lists, unless they would be too short
constexpr std::int64_t kMinLength = 64;                      // of a list, if there are as many centroids
constexpr std::int64_t kBatchCells = std::int64_t{1} << 24;  // distances that are sorted together
constexpr int kMostKeys = 8192;                              // that a thread block sorts, 64 KiB
constexpr int kTile = 32;                                    // centroids of a thread block's tile, on each side
constexpr int kTogether = 4;                                 // of them on each side that a thread measures
constexpr int kTileThreads = kTile / kTogether * (kTile / kTogether);
constexpr int kDepth = 16;          // columns that are in shared memory at a time
constexpr int kPadded = kTile + 2;  // less conflicts of banks

/// Columns of kTile centroids, which a thread block copies to shared memory kDepth at a time, by column. The last
/// centroid stands for those that do not exist, and a column beyond the last is zero.
class TileColumns {
 public:
  /// Centroids begin .. end - 1.
  __device__ TileColumns(const double* centroids, std::int64_t begin, std::int64_t end, std::int64_t d) : d_(d) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) row_[i] = centroids + min(begin + place(i), end - 1) * d;
  }

  __device__ void load(std::int64_t first) {
    const std::int64_t column = first + threadIdx.x % kDepth;
#pragma unroll
    for (int i = 0; i < kEach; ++i) value_[i] = column < d_ ? row_[i][column] : 0.0;
  }
  __device__ void store(double (&tile)[kDepth][kPadded]) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) tile[threadIdx.x % kDepth][place(i)] = value_[i];
  }

 private:
  static constexpr int kEach = kTile * kDepth / kTileThreads;  // values of a thread
  __device__ static int place(int i) { return static_cast<int>(threadIdx.x) / kDepth + i * (kTileThreads / kDepth); }

  std::int64_t d_;
  const double* row_[kEach];
  double value_[kEach];
};

/// Lower bounds of the distances of centroids first .. first + rows - 1 from all. distance: (rows, clusters) out. A
/// block measures a tile. If the rows are all centroids, the tiles below the diagonal are copies.
__global__ void __launch_bounds__(kTileThreads)
    distance_bound_kernel(const double* centroids, std::int64_t clusters, std::int64_t d, double unit,
                          std::int64_t first, std::int64_t rows, float* distance) {
  __shared__ double left[kDepth][kPadded], right[kDepth][kPadded];
  const bool is_symmetric = rows == clusters;
  if (is_symmetric && blockIdx.x < blockIdx.y) return;
  const std::int64_t row = std::int64_t{blockIdx.y} * kTile, column = std::int64_t{blockIdx.x} * kTile;
  constexpr int kAcross = kTile / kTogether;  // a thread has every kAcross-th row and column, from these on
  const int down = static_cast<int>(threadIdx.x) / kAcross, across = static_cast<int>(threadIdx.x) % kAcross;
  TileColumns of_rows(centroids, first + row, first + rows, d), of_columns(centroids, column, clusters, d);
  double sum[kTogether][kTogether] = {};
  of_rows.load(0);
  of_columns.load(0);
  for (std::int64_t at = 0; at < d; at += kDepth) {
    __syncthreads();  // all have used the columns before
    of_rows.store(left);
    of_columns.store(right);
    __syncthreads();
    of_rows.load(at + kDepth);  // during the products
    of_columns.load(at + kDepth);
#pragma unroll 4
    for (int j = 0; j < kDepth; ++j) {
      double x[kTogether], c[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        x[i] = left[j][down + i * kAcross];
        c[i] = right[j][across + i * kAcross];
      }
#pragma unroll
      for (int r = 0; r < kTogether; ++r) {
#pragma unroll
        for (int s = 0; s < kTogether; ++s) sum[r][s] = fma(x[r] - c[s], x[r] - c[s], sum[r][s]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kTogether; ++r) {
#pragma unroll
    for (int s = 0; s < kTogether; ++s) {
      const std::int64_t i = row + down + r * kAcross, c = column + across + s * kAcross;
      if (i >= rows || c >= clusters) continue;
      const float bound = distance_below(sum[r][s], unit);
      distance[i * clusters + c] = bound;
      if (is_symmetric) distance[c * clusters + i] = bound;
    }
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
  const auto tiles = [](std::int64_t count) { return static_cast<unsigned>((count + kTile - 1) / kTile); };
  for (std::int64_t first = 0; first < clusters_; first += batch) {
    const std::int64_t rows = std::min(batch, clusters_ - first);
    distance_bound_kernel<<<dim3(tiles(clusters_), tiles(rows)), kTileThreads, 0, context.stream>>>(
        centroids, clusters_, d, unit, first, rows, distance_.data());
    check(cudaGetLastError());
    sort_kernel<<<static_cast<unsigned>(rows), kBlock, bytes, context.stream>>>(
        distance_.data(), clusters_, first, keys, static_cast<int>(length_), entries_.data());
    check(cudaGetLastError());
  }
}

}  // namespace kith::cuda
