// AVX512-BF16: products of pairs of bfloat16, added in float32.
#include "kernels/cpu/instructions/bfloat16.h"

namespace kith::cpu {
namespace {

struct Pair : Bfloat16 {
  using Sum = __m512;
  static constexpr int kPanelVectors = 3, kPanelColumns = 8, kPadding = 2;
  static Sum zero() { return _mm512_setzero_ps(); }
  static Sum multiply_add(Sum sum, __m512i x, __m512i c) { return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)c); }
  static __m512 product(Sum sum, __m512) { return sum; }
};

/// At most two roundings per product, in any order. Subnormal results become zero.
double accumulation(std::int64_t d) { return (2.0 * static_cast<double>(d) + 4) * 0x1p-24 * 1.001; }

bool supported() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

}  // namespace

constinit const LowPrecision kBf16 = {.name = "bf16",
                                      .summary = "AVX512-BF16, bfloat16 products",
                                      .supported = supported,
                                      .screen = pair_screen<Pair>("bfloat16", accumulation)};

}  // namespace kith::cpu
