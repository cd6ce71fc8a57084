// Collective operations of a warp or block: sums and maxima of integers, prefix sums, and slots of a shared list.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/word.h"

namespace kith::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kBlock = 256;  // threads of the kernels that are not tiled
inline constexpr int kBlockWarps = kBlock / kWarp;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

__device__ inline int lane_index() { return static_cast<int>(threadIdx.x % kWarp); }
/// Number of this warp among all warps of the grid.
__device__ inline std::int64_t warp_index() {
  return (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
}
__device__ inline std::int64_t warp_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x / kWarp; }
/// Number of this thread among all threads of the grid.
__device__ inline std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// The number of lanes that share a row of so many parts: a power of two, at most a warp.
__host__ __device__ inline int lanes_sharing(int parts) {
  int lanes = kWarp;
  while (lanes / 2 >= parts) lanes /= 2;
  return lanes;
}

/// The total of each group of `lanes` lanes, in every lane, for norms, where the order of the additions does not
/// matter.
template <class Real>
__device__ inline Real group_total(Real value, int lanes) {
  for (int w = lanes / 2; w > 0; w /= 2) value += __shfl_xor_sync(kAllLanes, value, w);
  return value;
}

/// The total, in every lane.
__device__ inline Word warp_sum(Word value) {
#pragma unroll
  for (int w = kWarp / 2; w > 0; w /= 2) value += __shfl_xor_sync(kAllLanes, value, w);
  return value;
}

/// The same for float64 (norms), where the order of the additions does not matter.
__device__ inline double lanes_total(double value) {
#pragma unroll
  for (int w = kWarp / 2; w > 0; w /= 2) value += __shfl_xor_sync(kAllLanes, value, w);
  return value;
}

__device__ inline Word warp_max(Word value) {
#pragma unroll
  for (int w = kWarp / 2; w > 0; w /= 2) {
    const Word other = __shfl_xor_sync(kAllLanes, value, w);
    value = other > value ? other : value;
  }
  return value;
}

/// The total of a block of kBlock threads, in every thread. All threads call it.
__device__ inline Word block_sum(Word value) {
  __shared__ Word parts[kBlockWarps];
  value = warp_sum(value);
  __syncthreads();  // the parts of an earlier call have been read
  if (lane_index() == 0) parts[threadIdx.x / kWarp] = value;
  __syncthreads();
  Word total = 0;
#pragma unroll
  for (int w = 0; w < kBlockWarps; ++w) total += parts[w];
  return total;
}

/// The sum over the threads before this one, and over all of the block (kBlock threads). All threads call it.
template <class Unsigned>
struct BlockPrefix {
  Unsigned before;
  Unsigned total;
};
template <class Unsigned>
__device__ inline BlockPrefix<Unsigned> block_prefix(Unsigned value) {
  __shared__ Unsigned parts[kBlockWarps];
  Unsigned inclusive = value;
#pragma unroll
  for (int w = 1; w < kWarp; w *= 2) {
    const Unsigned lower = __shfl_up_sync(kAllLanes, inclusive, w);
    if (lane_index() >= w) inclusive += lower;
  }
  __syncthreads();  // the parts of an earlier call have been read
  if (lane_index() == kWarp - 1) parts[threadIdx.x / kWarp] = inclusive;
  __syncthreads();
  BlockPrefix<Unsigned> prefix{inclusive - value, 0};
#pragma unroll
  for (int w = 0; w < kBlockWarps; ++w) {
    if (w < static_cast<int>(threadIdx.x) / kWarp) prefix.before += parts[w];
    prefix.total += parts[w];
  }
  return prefix;
}

/// Reserves a slot for each selected lane in a list that all warps append to. All lanes call it.
__device__ inline Word reserve_slot(bool selected, Word* length) {
  const unsigned selection = __ballot_sync(kAllLanes, selected);
  Word first = 0;
  if (lane_index() == 0 && selection != 0) first = atomicAdd(length, static_cast<Word>(__popc(selection)));
  first = __shfl_sync(kAllLanes, first, 0);
  return first + static_cast<Word>(__popc(selection & ((1U << lane_index()) - 1U)));
}

/// Squared distances are not negative, so their bits order like their values.
__device__ inline Word bits_of(double distance) { return static_cast<Word>(__double_as_longlong(distance)); }

/// `most`, or the smaller of `most` and the count on the device: a list of capacity `most` holds no more.
struct Count {
  Count(std::int64_t limit, const Word* number = nullptr) : most(limit), known(number) {}  // NOLINT: implicit
  /// The count on the device, but 0 if it is above `limit`: for work that is done again if a list overflowed.
  static Count all_or_none(std::int64_t limit, const Word* number) {
    Count count(limit, number);
    count.or_none = true;
    return count;
  }

  __device__ std::int64_t get() const {
    if (known == nullptr) return most;
    const auto number = static_cast<std::int64_t>(*known);
    return number <= most ? number : or_none ? 0 : most;
  }

  std::int64_t most;
  const Word* known;  // null: exactly `most`
  bool or_none = false;
};

}  // namespace kith::cuda
