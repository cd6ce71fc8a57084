// Quantization of rows to 16-bit integers, whose products are added as integers.
//
// Everything has internal linkage: each including file is compiled with its own -m flags.
#pragma once

#include <cstdint>

namespace kith::cpu {
namespace {

/// The largest norm of a quantized row: sums of products stay below 2^31 (Cauchy-Schwarz), values below 2^15.
constexpr float kMaxInt16Norm = 32700.0F;

/// The quantization step of a row with this norm. Very short rows become zeros.
inline float quantization_step(float norm) {
  const float clamped = norm > 0x1p-100F ? norm : 0x1p-100F;  // NaN also gives zeros; such a row is not certified
  return clamped / kMaxInt16Norm;
}

/// A(d): the sum is exact; its conversion, the step and their product are rounded.
inline double int16_accumulation(std::int64_t) { return 4 * 0x1p-24; }

}  // namespace
}  // namespace kith::cpu
