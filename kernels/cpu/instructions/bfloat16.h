// bfloat16: float32 rounded to eight bits of precision, two values per lane.
#pragma once

#include "kernels/cpu/instructions/pairs.h"

namespace kith::cpu {
namespace {

struct Bfloat16 {
  static constexpr bool kScaled = false;

  /// Subnormal numbers become zero, as in the products.
  static __m512i round(__m512 low, __m512 high, __m512) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
  static __m512 values(__m256i v) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16)); }
};

}  // namespace
}  // namespace kith::cpu
