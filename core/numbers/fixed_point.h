// Sums that do not depend on order: values are rounded to 64-bit integers on a fixed grid and added exactly.
//
// One limb holds rint(v 2^shift). Two limbs hold floor(v 2^shift) and the remainder on a second grid of 2^-bits; both
// are joined before the single conversion back to float64. docs/contract.md, Sums.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/runtime/portable.h"

namespace kith {

/// 2^shift as a product of two factors, since the power may leave the range of float64 (subnormal or huge data).
struct FixedScale {
  double first = 1.0;
  double second = 1.0;
  int shift = 0;
};

struct Limbs {
  std::int64_t high = 0;
  std::int64_t low = 0;
};

/// 2^e for -1022 <= e <= 1023.
inline double power_of_two(int e) { return std::ldexp(1.0, e); }

inline FixedScale fixed_scale(int shift) {
  if (shift >= -1022 && shift <= 1023) return {power_of_two(shift), 1.0, shift};
  return {power_of_two(shift / 2), power_of_two(shift - shift / 2), shift};
}

/// The exponent e of the smallest power of two 2^e above |v|; 0 for v = 0.
inline int exponent_above(double v) {
  int e = 0;
  std::frexp(v, &e);
  return e;
}

/// ceil(log2 n) for n >= 1.
inline int ceil_log2(std::int64_t n) {
  int bits = 0;
  while (bits < 62 && (std::int64_t{1} << bits) < n) ++bits;
  return bits;
}

/// 61 - ceil(log2 n): the number of bits per term for which a sum of n terms fits into an int64.
inline int term_bits(std::int64_t n) { return 61 - ceil_log2(n); }

// The following functions have internal linkage, since files for different instruction sets include them.

/// v 2^shift rounded to the nearest integer, ties to even.
KITH_BOTH static inline std::int64_t to_fixed(double v, double first, double second) {
#ifdef __CUDA_ARCH__
  return __double2ll_rn(v * first * second);  // one conversion instruction; the line below compiles to two
#else
  return static_cast<std::int64_t>(rint(v * first * second));
#endif
}

/// Both limbs of v; `low_scale` = 2^bits of the second grid.
KITH_BOTH static inline Limbs to_limbs(double v, double first, double second, double low_scale) {
  const double scaled = v * first * second;
  const double high = floor(scaled);
  return {static_cast<std::int64_t>(high), static_cast<std::int64_t>(rint((scaled - high) * low_scale))};
}

/// v 2^e, rounded once. For exponents of normal numbers a product is exact and faster than ldexp.
KITH_BOTH static inline double scaled_by(double v, int e) {
  if (e < -1022 || e > 1023) return ldexp(v, e);
  return v * std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// The float64 nearest to high 2^bits + low, ties to even. 0 < bits < 62, |high| < 2^62. Avoids 128-bit integers, which
/// some device compilers cannot convert.
KITH_BOTH static inline double joined(Limbs sum, int bits) {
  // Sign and magnitude: |sum| = high 2^bits + low with 0 <= low < 2^bits.
  std::int64_t high = sum.high + (sum.low >> bits);
  std::int64_t low = sum.low & ((std::int64_t{1} << bits) - 1);
  const bool negative = high < 0;
  if (negative) {
    high = -high - (low != 0 ? 1 : 0);
    low = low != 0 ? (std::int64_t{1} << bits) - low : 0;
  }
  const auto upper = static_cast<std::uint64_t>(high) >> (64 - bits);
  const auto lower = static_cast<std::uint64_t>(high) << bits | static_cast<std::uint64_t>(low);
  double magnitude = static_cast<double>(lower);
  if (upper != 0) {
    // Keep the leading 63 or 64 bits and OR all lower bits into the last one (sticky bit); rounding this rounds the
    // sum.
    const int length = static_cast<int>(std::bit_cast<std::uint64_t>(static_cast<double>(upper)) >> 52) - 1022;
    const std::uint64_t leading = upper << (64 - length) | lower >> length;
    const std::uint64_t rest = lower << (64 - length);
    magnitude = scaled_by(static_cast<double>(leading | (rest != 0 ? 1U : 0U)), length);
  }
  return negative ? -magnitude : magnitude;
}

/// The float64 nearest to sum 2^-shift.
KITH_BOTH static inline double from_fixed(std::int64_t sum, int shift) {
  return scaled_by(static_cast<double>(sum), -shift);
}

/// The float64 nearest to (high + low 2^-bits) 2^-shift.
KITH_BOTH static inline double from_limbs(Limbs sum, int shift, int bits) {
  return scaled_by(joined(sum, bits), -(shift + bits));
}

/// One value of a centroid from the sum of its rows; bits = 0: the sum has one limb. weight: the total weight of the
/// rows, above 0.
KITH_BOTH static inline double mean_of(Limbs sum, int shift, int bits, double weight) {
  const double total = bits == 0 ? from_fixed(sum.high, shift) : from_limbs(sum, shift, bits);
  return total / weight;
}

}  // namespace kith
