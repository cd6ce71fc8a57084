// Sums that do not depend on order: floating-point values become 64-bit integers on a fixed grid and are added exactly.
//
// One limb holds rint(v 2^shift). Two limbs hold floor(v 2^shift) and the remainder on a second grid of 2^-bits; they
// are joined in 128-bit arithmetic before the one conversion back. docs/contract.md, Sums.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/portable.h"

namespace kith {

/// 2^shift as two factors, since the power itself may leave the range of float64 (subnormal data, huge data).
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

/// e such that 2^e is the smallest power of two above |v|; 0 for 0, whose grid does not matter.
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

/// 61 - ceil(log2 n): the bits that one of n terms may take so that their sum stays in an int64.
inline int term_bits(std::int64_t n) { return 61 - ceil_log2(n); }

// The next ones have internal linkage, since files compiled for different instruction sets use them.

/// v 2^shift rounded to the nearest integer, ties to even.
KITH_BOTH static inline std::int64_t to_fixed(double v, double first, double second) {
#ifdef __CUDA_ARCH__
  return __double2ll_rn(v * first * second);  // one conversion where the line below takes two
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

/// v 2^e, rounded once. Within the exponents of normal numbers a product does it, and faster than ldexp.
KITH_BOTH static inline double scaled_by(double v, int e) {
  if (e < -1022 || e > 1023) return ldexp(v, e);
  return v * std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// The float64 nearest to high 2^bits + low, ties to even. 0 < bits < 62, |high| < 2^62: a sum of 124 bits, without
/// 128-bit integers, whose conversion not every device compiler has.
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
    // The leading 63 or 64 bits, the last of them 1 also for any bit below it: rounding them rounds the whole.
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

/// One value of a centroid from the sum of its rows; with bits = 0 the sum has one limb. weight: of the rows, above 0;
/// their number where they are not weighted.
KITH_BOTH static inline double mean_of(Limbs sum, int shift, int bits, double weight) {
  const double total = bits == 0 ? from_fixed(sum.high, shift) : from_limbs(sum, shift, bits);
  return total / weight;
}

}  // namespace kith
