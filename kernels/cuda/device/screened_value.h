// The float32 value that a screen multiplies: x^ = x 2^-exponent - center, rounded. Every screen calls this function.
#pragma once

#include <type_traits>

namespace kith::cuda {

/// The type in which points of type T are screened; float32 represents bytes exactly.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// One rounding. `scale` = 2^-exponent, exact in float32 for every exponent of float32 data.
__device__ inline float screened(float x, float scale, float center) { return __fmaf_rn(x, scale, -center); }

/// Two roundings: to float64, then to float32, which dominates.
__device__ inline float screened(double x, double scale, float center) {
  return __double2float_rn(__dsub_rn(__dmul_rn(x, scale), static_cast<double>(center)));
}

}  // namespace kith::cuda
