// Quantized scores: scores on a grid whose last five bits are free for a column's number, so that integer minima
// keep the best two of many. KeepTwo (assign/fp16_screen.cu) and the local screen (assign/local_tile.h) use them.
//
// A bias makes every score positive; (score + 32 scale) - 31 scale rounds it to 2^-18 scale and yields a float in
// [scale, 2 scale) whose last five bits are zero. Positive floats order like their bits.
#pragma once

#include <climits>

#include "core/numbers/screen.h"

namespace kith::cuda {

inline constexpr int kNumberBits = 5;               // hold a column's number
inline constexpr int kNumbered = 1 << kNumberBits;  // columns that have numbers

struct QuantizationGrid {
  static constexpr float kNever = 1e37F;  // base of a column that does not exist

  float bias = 0.0F;   // makes scores positive
  float scale = 1.0F;  // a power of two above every score
  float error = 0.0F;  // bound of the error of the difference of two scores: bias, base, product and grid

  __device__ float offset() const { return -31.0F * scale; }
  __device__ float base(float half_sq_norm) const { return __fadd_rn(__fadd_rn(half_sq_norm, bias), 32 * scale); }
  /// No column whose score, bias included, is above this can be the nearest.
  __device__ float limit(float best, float margin) const { return __fadd_ru(__fsub_ru(best, scale), margin); }
};

/// False when scores may leave the range of float32. points, centroids: in the units of the scores.
KITH_BOTH inline bool quantization_grid(LargestNorms points, LargestNorms centroids, QuantizationGrid& grid) {
  const double bias = 1.02 * (points.norm + points.residual) * (centroids.norm + centroids.residual) + 0x1p-60;
  const double largest_score = centroids.norm * centroids.norm / 2 + 2 * bias;
  if (!(largest_score < 1e30)) return false;
  int exponent = 0;
  (void)frexp(largest_score, &exponent);
  grid.bias = static_cast<float>(bias);
  grid.scale = static_cast<float>(ldexp(1.0, exponent));
  grid.error = static_cast<float>(2.01 * (largest_score * 0x1p-22 + ldexp(1.0, exponent - 18)));
  return true;
}

#ifdef __CUDACC__

__device__ inline int quantized_score(float base, float product, float offset) {
  return __float_as_int(__fadd_rn(__fsub_rn(base, product), offset));
}
__device__ inline float quantized_value(int packed) { return __int_as_float(packed & ~(kNumbered - 1)); }
__device__ inline int quantized_column(int packed) { return packed & (kNumbered - 1); }

/// The two smallest quantized scores, each with the number of its column.
struct QuantizedBestTwo {
  int best = INT_MAX, second = INT_MAX;

  /// Takes the scores of columns `number` and `number` + 1. Three-operand minima and add-and-minimum are single
  /// instructions since compute capability 9.0.
  __device__ void take_pair(int a, int b, int number) {
    const int above_a = __viaddmax_s32(a, number, best);
    best = __viaddmin_s32(a, number, best);
    const int above_b = __viaddmax_s32(b, number + 1, best);
    best = __viaddmin_s32(b, number + 1, best);
    second = __vimin3_s32(second, above_a, above_b);
  }
};

#endif

}  // namespace kith::cuda
