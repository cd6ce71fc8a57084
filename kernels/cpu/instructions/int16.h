// Rows as 16-bit integers, whose products are added as integers: what 1 stands for, and what is lost.
//
// Without a name outside of the file that includes it: each is compiled with its own -m flags.
#pragma once

#include <cstdint>

namespace kith::cpu {
namespace {

/// Rows of this length at most: sums of products then stay below 2^31 (Cauchy-Schwarz), and values below 2^15.
constexpr float kLongestInt16 = 32700.0F;

/// What 1 stands for in a row of this length. Rows too short for that keep zeros.
inline float unit_of(float norm) {
  const float longest = norm > 0x1p-100F ? norm : 0x1p-100F;  // a NaN makes zeros too; its row is not certified
  return longest / kLongestInt16;
}

/// A(d): the sum is exact; its conversion, the factor and their product are rounded.
inline double int16_accumulation(std::int64_t) { return 4 * 0x1p-24; }

}  // namespace
}  // namespace kith::cpu
