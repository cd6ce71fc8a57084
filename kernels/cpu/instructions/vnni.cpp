// AVX512-VNNI: products of pairs of 16-bit integers, added as 32-bit integers.
#include "kernels/cpu/instructions/pairs.h"

namespace kith::cpu {
namespace {

struct Pair : Int16 {
  typedef std::int32_t Sum __attribute__((vector_size(64)));  // GCC 12 keeps arrays of __m512i in memory
  static constexpr int kPanelVectors = 3, kPanelColumns = 8, kPadding = 2;
  static Sum zero() { return Sum{}; }
  static Sum multiply_add(Sum sum, __m512i x, __m512i c) { return (Sum)_mm512_dpwssd_epi32((__m512i)sum, x, c); }
  static __m512 product(Sum sum, __m512 factor) { return _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sum), factor); }
};

bool supported() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }

}  // namespace

constinit const LowPrecision kVnni = {.name = "vnni",
                                      .summary = "AVX512-VNNI, 16-bit integer products",
                                      .supported = supported,
                                      .screen = pair_screen<Pair>("int16", int16_accumulation)};

}  // namespace kith::cpu
