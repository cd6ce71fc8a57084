// Computes the distances between all centroids in float64, and sorts each row of them in shared memory.
//
// k^2 d / 2 subtractions and multiply-adds, 0.01 ms for k = 1024, d = 128 at the 34 TFLOP/s of an H200, and a bitonic
// sort of k log(k)^2 / 4 steps per centroid (K. Batcher: Sorting networks and their applications, 1968).
#include "kernels/cuda/assign/centroid_lists.h"

#include <algorithm>
#include <bit>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/assign/update_sums.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kEntries = std::int64_t{1} << 23;     // of all lists, unless they would be too short
constexpr std::int64_t kMinLength = 64;                      // of a list, if there are as many centroids
constexpr std::int64_t kBatchCells = std::int64_t{1} << 24;  // distances that are sorted together
constexpr int kMostKeys = 8192;                              // that a thread block sorts, 64 KiB
constexpr int kTile = 32;                                    // centroids of a thread block's tile, on each side
constexpr int kTogether = 4;                                 // of them on each side that a thread measures
constexpr int kMeasureThreads = kTile / kTogether * (kTile / kTogether);
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
  static constexpr int kEach = kTile * kDepth / kMeasureThreads;  // values of a thread
  __device__ static int place(int i) { return static_cast<int>(threadIdx.x) / kDepth + i * (kMeasureThreads / kDepth); }

  std::int64_t d_;
  const double* row_[kEach];
  double value_[kEach];
};

/// Lower bounds of the distances of centroids first .. first + rows - 1 from all. distance: (rows, clusters) out. A
/// block measures a tile. If the rows are all centroids, the tiles below the diagonal are copies.
__global__ void __launch_bounds__(kMeasureThreads)
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

// A counting sort of rows by guess moves 16 bytes per row, 0.01 ms for 10^6 rows on an H200.

constexpr std::int64_t kSegmentRows = 4096;  // that a block counts before it reserves their places

/// Calls work(first, last) for segments of the rows. Counters in shared memory are zero on each call.
template <class Work>
__device__ void for_segments(std::int64_t rows, std::int64_t counters, std::uint32_t* shared, const Work& work) {
  for (std::int64_t first = blockIdx.x * kSegmentRows; first < rows; first += gridDim.x * kSegmentRows) {
    for (std::int64_t c = threadIdx.x; c < counters; c += blockDim.x) shared[c] = 0;
    __syncthreads();
    work(first, min(first + kSegmentRows, rows));
    __syncthreads();
  }
}

__global__ void count_kernel(RowChoice rows, const std::int32_t* label, std::int64_t clusters, std::uint32_t* counts) {
  extern __shared__ std::uint32_t shared[];
  const bool in_shared = clusters <= kSharedClusters;
  for_segments(rows.count, in_shared ? clusters : 0, shared, [&](std::int64_t first, std::int64_t last) {
    std::uint32_t* counters = in_shared ? shared : counts;
    for (std::int64_t i = first + threadIdx.x; i < last; i += blockDim.x) {
      atomicAdd(&counters[guess_of(label[rows.position(i)], clusters)], 1U);
    }
    if (!in_shared) return;
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < clusters; c += blockDim.x) {
      if (shared[c] != 0) atomicAdd(&counts[c], shared[c]);
    }
  });
}

/// One block: replaces the counts by the places where the rows of each guess begin.
__global__ void begin_kernel(std::uint32_t* counts, std::int64_t clusters) {
  std::uint32_t placed = 0;
  for (std::int64_t first = 0; first < clusters; first += kBlock) {
    const std::int64_t c = first + threadIdx.x;
    const BlockPrefix prefix = block_prefix(c < clusters ? counts[c] : 0U);
    if (c < clusters) counts[c] = placed + prefix.before;
    placed += prefix.total;
  }
}

__global__ void place_kernel(RowChoice rows, const std::int32_t* label, std::int64_t clusters, std::uint32_t* next,
                             std::int32_t* order) {
  extern __shared__ std::uint32_t shared[];
  const bool in_shared = clusters <= kSharedClusters;
  for_segments(rows.count, in_shared ? clusters : 0, shared, [&](std::int64_t first, std::int64_t last) {
    if (in_shared) {
      for (std::int64_t i = first + threadIdx.x; i < last; i += blockDim.x) {
        atomicAdd(&shared[guess_of(label[rows.position(i)], clusters)], 1U);
      }
      __syncthreads();
      for (std::int64_t c = threadIdx.x; c < clusters; c += blockDim.x) {
        if (shared[c] != 0) shared[c] = atomicAdd(&next[c], shared[c]);
      }
      __syncthreads();
    }
    std::uint32_t* places = in_shared ? shared : next;
    for (std::int64_t i = first + threadIdx.x; i < last; i += blockDim.x) {
      order[atomicAdd(&places[guess_of(label[rows.position(i)], clusters)], 1U)] = static_cast<std::int32_t>(i);
    }
  });
}

/// A warp per centroid: the lowest among itself and the centroids near it stands for it.
__global__ void standing_kernel(CentroidListsView lists, std::int64_t clusters, std::int32_t* standing) {
  for (std::int64_t c = warp_index(); c < clusters; c += warp_count()) {
    const ListedCentroid* list = lists.entries + c * lists.length;
    const float most = list[0].distance * kMergedDistance;
    auto lowest = static_cast<int>(c);
    for (std::int64_t first = 0; first < lists.length; first += kWarp) {
      const std::int64_t i = first + lane_index();
      const bool near = i < lists.length && !(list[i].distance > most);
      if (near) lowest = min(lowest, list[i].column);
      if (!__all_sync(kAllLanes, near)) break;
    }
    lowest = __reduce_min_sync(kAllLanes, lowest);
    if (lane_index() == 0) standing[c] = lowest;
  }
}

__global__ void merge_kernel(RowChoice rows, std::int64_t clusters, const std::int32_t* standing,
                             std::int32_t* nearest) {
  for (std::int64_t i = thread_index(); i < rows.count; i += thread_count()) {
    std::int32_t& guess = nearest[rows.position(i)];
    guess = standing[guess_of(guess, clusters)];
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
    distance_bound_kernel<<<dim3(tiles(clusters_), tiles(rows)), kMeasureThreads, 0, context.stream>>>(
        centroids, clusters_, d, unit, first, rows, distance_.data());
    check(cudaGetLastError());
    sort_kernel<<<static_cast<unsigned>(rows), kBlock, bytes, context.stream>>>(
        distance_.data(), clusters_, first, keys, static_cast<int>(length_), entries_.data());
    check(cudaGetLastError());
  }
}

void RowsByGuess::sort(const Context& context, const RowChoice& rows, const std::int32_t* label) {
  const Stream& stream = context.stream;
  const std::size_t shared =
      clusters_ <= kSharedClusters ? static_cast<std::size_t>(clusters_) * sizeof(std::uint32_t) : 0;
  const unsigned blocks = context.grid(rows.count, kSegmentRows);
  stream.fill(next_.data(), 0, clusters_);
  count_kernel<<<blocks, kBlock, shared, stream>>>(rows, label, clusters_, next_.data());
  check(cudaGetLastError());
  begin_kernel<<<1, kBlock, 0, stream>>>(next_.data(), clusters_);
  check(cudaGetLastError());
  place_kernel<<<blocks, kBlock, shared, stream>>>(rows, label, clusters_, next_.data(), order_.data());
  check(cudaGetLastError());
}

const std::int32_t* MergedGuesses::standing(const Context& context, const CentroidListsView& lists) {
  if (!known_) {
    standing_kernel<<<context.grid(clusters_, kBlockWarps), kBlock, 0, context.stream>>>(lists, clusters_,
                                                                                         standing_.data());
    check(cudaGetLastError());
    known_ = true;
  }
  return standing_.data();
}

void MergedGuesses::replace(const Context& context, const CentroidListsView& lists, const RowChoice& rows,
                            std::int32_t* label) {
  const std::int32_t* of_guess = standing(context, lists);
  merge_kernel<<<context.grid(rows.count, kBlock), kBlock, 0, context.stream>>>(rows, clusters_, of_guess, label);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
