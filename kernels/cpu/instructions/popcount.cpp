// AVX-512 VPOPCNTDQ: the bits of sixteen words in one instruction.
#include <immintrin.h>

#include "kernels/cpu/instructions/bits.h"

namespace kith::cpu {
namespace {

struct Popcount {
  using W = __m512i;
  static constexpr int words = 16;
  static constexpr std::int64_t kMostAdded = std::int64_t{1} << 26;

  static W none() { return _mm512_setzero_si512(); }
  static W load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
  static W broadcast(const std::uint32_t* p) { return _mm512_set1_epi32(static_cast<int>(*p)); }
  static W both(W a, W b) { return _mm512_and_si512(a, b); }
  static W add_bits(W sum, W w) { return _mm512_add_epi32(sum, _mm512_popcnt_epi32(w)); }
  static W wide_sums(W sum) { return sum; }
  static W add(W a, W b) { return _mm512_add_epi32(a, b); }
  static void store(std::int32_t* p, W w) { _mm512_storeu_si512(p, w); }
  static unsigned not_below(W sums, const float* row_bits, float slope, float bound) {
    const __m512 least = _mm512_fmsub_ps(_mm512_set1_ps(slope), _mm512_loadu_ps(row_bits), _mm512_set1_ps(bound));
    return _mm512_cmp_ps_mask(_mm512_cvtepi32_ps(sums), least, _CMP_GE_OQ);
  }
  static std::int64_t common(const std::uint8_t* x, const std::uint8_t* y, std::int64_t bytes) {
    __m512i sum = none();
    std::int64_t j = 0;
    for (; j + 64 <= bytes; j += 64) sum = add_quads(sum, load_all(x + j), load_all(y + j));
    if (const std::int64_t left = bytes - j; left > 0) {
      const __mmask64 mask = ~__mmask64{0} >> (64 - left);
      sum = add_quads(sum, _mm512_maskz_loadu_epi8(mask, x + j), _mm512_maskz_loadu_epi8(mask, y + j));
    }
    return _mm512_reduce_add_epi64(sum);
  }

 private:
  static __m512i load_all(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static __m512i add_quads(__m512i sum, __m512i a, __m512i b) {
    return _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_and_si512(a, b)));
  }
};

bool supported() {
  return __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq");
}

}  // namespace

const BitKernels kPopcountBits = bit_kernels_of<Popcount>("popcount", supported, &kAvx2Bits);

}  // namespace kith::cpu
