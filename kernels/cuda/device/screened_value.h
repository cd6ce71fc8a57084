// The one place where a value becomes what the screen multiplies: x^ = x 2^-exponent - center, rounded to float32.
#pragma once

#include <type_traits>

namespace kith::cuda {

/// What points of type T are screened in: bytes as float32, which holds them.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// One rounding. `scale` = 2^-exponent, exact in float32 for every exponent of float32 data.
__device__ inline float screened(float x, float scale, float center) { return __fmaf_rn(x, scale, -center); }

/// Two roundings, of which the first, to float64, does not show.
__device__ inline float screened(double x, double scale, float center) {
  return __double2float_rn(__dsub_rn(__dmul_rn(x, scale), static_cast<double>(center)));
}

}  // namespace kith::cuda
