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

inline constexpr int kDigitBits = 8;
inline constexpr int kDigits = 1 << kDigitBits;

struct Selection {
  std::uint32_t counts[kDigits];
  std::uint32_t digit, rank;  // chosen by the first warp
  std::uint32_t differing;    // bits in which not all values agree
};

/// Chooses the digit whose count contains the rank-th smallest value, and its rank among these. The first warp calls
/// it.
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

/// The bits in which the order of any value differs from `first`, in every thread. All threads of the block call it.
__device__ inline std::uint32_t differing_bits(const float* values, std::int64_t count, std::uint32_t first,
                                               Selection& shared) {
  if (threadIdx.x == 0) shared.differing = 0;
  __syncthreads();
  std::uint32_t differing = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) differing |= ordered(values[i]) ^ first;
#pragma unroll
  for (int w = kWarp / 2; w > 0; w /= 2) differing |= __shfl_xor_sync(kAllLanes, differing, w);
  if (lane_index() == 0) atomicOr(&shared.differing, differing);
  __syncthreads();
  return shared.differing;
}

/// The rank-th smallest of count values, 1 <= rank <= count, in every thread. All threads of the block call it, a
/// multiple of a warp. Digits begin at the highest bit that differs; otherwise close values would all
/// share the first digits.
__device__ inline float select(const float* values, std::int64_t count, std::uint32_t rank, Selection& shared) {
  std::uint32_t pattern = ordered(values[0]);
  int bits = kWarp - __clz(static_cast<int>(differing_bits(values, count, pattern, shared)));  // still unknown
  while (bits > 0) {
    const int shift = max(bits - kDigitBits, 0);
    const std::uint32_t known = bits < kWarp ? ~0U << bits : 0U;
    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x) shared.counts[i] = 0;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      const std::uint32_t order = ordered(values[i]);
      if (((order ^ pattern) & known) == 0) atomicAdd(&shared.counts[(order & ~known) >> shift], 1U);
    }
    __syncthreads();
    if (threadIdx.x < kWarp) choose_digit(shared, rank);
    __syncthreads();
    pattern = (pattern & known) | shared.digit << shift;
    rank = shared.rank;
    bits = shift;
  }
  return unordered(pattern);
}

}  // namespace kith::cuda
