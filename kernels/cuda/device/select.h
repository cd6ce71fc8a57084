// The k-th smallest of many float32 values by radix selection, by one block of threads.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// Unsigned integers that order like float32 values; a NaN is above or below all of them.
__device__ inline std::uint32_t ordered(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline float unordered(std::uint32_t order) {
  return __uint_as_float((order & 0x80000000U) != 0 ? order & 0x7FFFFFFFU : ~order);
}

inline constexpr int kDigits = 256;

struct Selection {
  std::uint32_t counts[kDigits];
  std::uint32_t digit, rank;  // chosen by the first warp
};

/// Of the digits' counts, which holds the rank-th smallest, and its rank among those. The first warp calls it.
__device__ inline void choose_digit(Selection& shared, std::uint32_t rank) {
  constexpr int kEach = kDigits / kWarp;
  std::uint32_t mine = 0;
  for (int i = 0; i < kEach; ++i) mine += shared.counts[lane_index() * kEach + i];
  std::uint32_t before = mine;
  for (int w = 1; w < kWarp; w *= 2) {
    const std::uint32_t lower = __shfl_up_sync(kAllLanes, before, w);
    if (lane_index() >= w) before += lower;
  }
  before -= mine;
  if (before >= rank || before + mine < rank) return;
  int digit = lane_index() * kEach;
  while (before + shared.counts[digit] < rank) before += shared.counts[digit++];
  shared.digit = static_cast<std::uint32_t>(digit);
  shared.rank = rank - before;
}

/// The rank-th smallest of count values, 1 <= rank <= count, in every thread. All threads of the block call it.
__device__ inline float select(const float* values, std::int64_t count, std::uint32_t rank, Selection& shared) {
  std::uint32_t mask = 0, pattern = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x) shared.counts[i] = 0;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      const std::uint32_t order = ordered(values[i]);
      if ((order & mask) == pattern) atomicAdd(&shared.counts[order >> shift & (kDigits - 1)], 1U);
    }
    __syncthreads();
    if (threadIdx.x < kWarp) choose_digit(shared, rank);
    __syncthreads();
    pattern |= shared.digit << shift;
    mask |= static_cast<std::uint32_t>(kDigits - 1) << shift;
    rank = shared.rank;
  }
  return unordered(pattern);
}

}  // namespace kith::cuda
