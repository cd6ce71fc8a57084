// Scores of local screens: their error bounds, which belong to a row and a column, and the smallest ones.
//
// A score is a lower bound: the column's error is subtracted from it. With s the score of the best column and E its
// error, every column whose score exceeds s + 2 E is farther than the best.
#pragma once

#include <cstdint>

#include "core/kmeans/bounds.h"
#include "core/numbers/screen.h"
#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// The length of the rounding error of a row of fp16, relative to the row's, that the errors of columns contain.
inline constexpr float kRowRounding = 0x1p-12F;

/// The factor of ColumnErrors::linear for a row with |x'| and |x' - x^| at most: its error is at most kRowRounding of
/// it.
__device__ inline float row_error_norm(float norm, float residual) {
  return fmaxf(norm + residual, residual * (1 / kRowRounding)) * (1 + 0x1p-20F);
}

/// The error of the score of a column is at most linear * n + constant for rows with n = row_error_norm().
struct ColumnErrors {
  float linear, constant;

  __device__ bool is_usable() const { return linear < 0x1p60F && constant < 0x1p60F; }

  /// norm, residual: |c'| and |c' - c^| at most. mask: the bits of scores that are replaced by places.
  __device__ ColumnErrors(double norm, double residual, std::int64_t d, int exponent, double accumulation,
                          unsigned mask) {
    // One more rounding of scores, when the error is subtracted.
    const ScreenMargin margin =
        screen_margin({norm, residual}, d, exponent, {0.0, accumulation, 0.0, (mask + 1.0) * 0x1p-23});
    constant = __fmul_ru(margin.constant, 0.5F);
    linear =
        __fmul_ru(__fadd_ru(margin.linear, __double2float_ru(2.01 * static_cast<double>(kRowRounding) * norm)), 0.5F);
  }
};

/// The rounded centroids of the lists. A list has `padded` columns: the guess itself, then its entries.
struct ListColumns {
  uint4* values;    // (lists, padded, depth) fp16, swizzled
  float* base;      // (lists, padded) |c'|^2 / 2 less the constant error
  float* error;     // (lists, padded) ColumnErrors::linear
  float* constant;  // (lists, padded) ColumnErrors::constant
  unsigned mask;    // of the bits of a place
  float quadratic;  // ScreenMargin::quadratic

  /// 2 E of a row and a column.
  __device__ float margin(std::int64_t column, float error_norm) const {
    const float linear = __fmul_ru(error_norm, __fadd_ru(error[column], __fmul_ru(error_norm, quadratic)));
    return 2.0F * __fadd_ru(constant[column], linear);
  }
};

/// Where the rounded lists of guesses are.
struct ListSlots {
  std::int32_t* slot;   // (clusters) -1: the guess has no list
  std::int32_t* guess;  // (lists) of each slot
  std::uint32_t* used;  // (2) slots in use before the most recent rows, and with them
  std::uint32_t lists;  // at most
};

/// The three smallest scores that a lane has of a row. The low bits of a score are its place in the list.
struct LaneScores {
  float first, second, third;

  __device__ void clear() { first = second = third = QuantizationGrid::kNever; }
  __device__ void add(float a, float b) {
    const float low = fminf(a, b), high = fmaxf(a, b);
    const float x = fmaxf(first, low), y = fminf(second, high);
    first = fminf(first, low);
    second = fminf(x, y);
    third = fminf(third, fmaxf(x, y));
  }
};

/// Replaces the low bits of a score by a place.
__device__ inline float marked(float score, unsigned mask, unsigned place) {
  return __uint_as_float((__float_as_uint(score) & ~mask) | place);
}

/// A lower bound of how much farther every other centroid is than the nearest, in units of 1 / unit. own: an upper
/// bound of the squared distance of the nearest, and difference: a lower bound of what the others that were multiplied
/// have more, both scaled; beyond: the distance of the centroids that were not from the guess; guess: that of the row.
__device__ inline float local_bound(float own, float difference, float beyond, float guess, float back) {
  const float nearest = sqrtf(own) * back * (1 + kBoundOutward);
  const float others =
      lowered_bound(beyond, guess, nearest);  // NaN where `beyond` is infinite, which fminf passes over
  const float bound = fminf(bound_of(own, difference) * back, others);
  return bound > 0.0F ? bound : 0.0F;
}

__device__ inline float quad_min(float value) {
  value = fminf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fminf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ inline bool quad_any(bool value) {
  const unsigned lanes = __ballot_sync(kAllLanes, value);
  return (lanes >> (lane_index() & ~3) & 15U) != 0;
}

}  // namespace kith::cuda
