// Rows and centroids relative to a guess, rounded to fp16: what was lost, and how far centroids matter.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/device/fp16_layout.h"

namespace kith::cuda {

/// What the kernels share. Distances of lists are in units of 1 / unit.
struct LocalLists {
  const double* centroids;  // (clusters, d)
  std::int64_t clusters, d;
  CentroidListsView lists;
  std::int64_t length, padded;
  int depth;  // d, padded
  double unit;
  int exponent;  // unit = 2^-exponent
};

/// Rows and centroids relative to a guess are multiplied by unit 2^shift, so that they are normal numbers in fp16.
__device__ inline int shift_of(const LocalLists& in, std::int64_t guess) {
  constexpr int kTarget = 10;  // the farthest centroid of a list then has a length of about 2^10
  const float farthest = in.lists.entries[guess * in.lists.length + in.length - 1].distance;
  return farthest > 0x1p-100F && farthest < 0x1p100F ? kTarget - ilogbf(farthest) : 0;
}

/// Loads eight values, zeros beyond `count`. aligned: whether rows begin at multiples of 16 bytes.
template <class X>
__device__ inline void load_chunk(const X* x, std::int64_t count, bool aligned, X (&out)[kChunkValues]) {
  if (aligned && count >= kChunkValues) {
    using Part = std::conditional_t<sizeof(X) == 1, uint2, uint4>;
    constexpr int kParts = sizeof(X) * kChunkValues / sizeof(Part);
    Part parts[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) parts[i] = __ldg(reinterpret_cast<const Part*>(x) + i);
    memcpy(out, parts, sizeof out);
    return;
  }
#pragma unroll
  for (int t = 0; t < kChunkValues; ++t) out[t] = t < count ? x[t] : X{};
}
template <class X>
__device__ inline bool is_aligned(std::int64_t d) {
  return d % (sizeof(X) == 1 ? 8 : 16 / sizeof(X)) == 0;
}

/// Rounds eight values; adds to the squared norms of the values and of the rounding errors.
template <class X>
__device__ inline uint4 round_chunk(const X (&values)[kChunkValues], X& squares, X& lost) {
  __half packed[kChunkValues];
#pragma unroll
  for (int t = 0; t < kChunkValues; ++t) {
    packed[t] = static_cast<__half>(values[t]);
    const X error = values[t] - static_cast<X>(__half2float(packed[t]));
    squares = fma(values[t], values[t], squares);
    lost = fma(error, error, lost);
  }
  uint4 bits;
  memcpy(&bits, packed, sizeof bits);
  return bits;
}

/// A bound of centroids that matter to a row: those farther from the guess have a larger D than it. norm: |x'|.
__device__ inline float reach_of(float norm, float back) {
  const float own = __fmul_ru(norm, back);
  return __fmul_ru(2.0F * own, 1.0F + kBoundOutward);
}

/// Eight components of a guess as sums of two floats, of which the error is at most 2^-48, times a power of two.
struct GuessChunk {
  float high[kChunkValues], low[kChunkValues];

  __device__ void load(const double* guess, std::int64_t count, bool aligned, double scale) {
    double c[kChunkValues];
    load_chunk(guess, count, aligned, c);
#pragma unroll
    for (int t = 0; t < kChunkValues; ++t) {
      high[t] = static_cast<float>(c[t] * scale);
      low[t] = static_cast<float>(c[t] * scale - static_cast<double>(high[t]));
    }
  }
  /// x scale - guess; its error is at most 2^-23 of it, and that of the guess.
  template <class T>
  __device__ float difference(T x, T scale, int t) const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return static_cast<float>((x * scale - static_cast<double>(high[t])) - static_cast<double>(low[t]));
    } else {
      return fmaf(x, scale, -high[t]) - low[t];
    }
  }
};

}  // namespace kith::cuda
