// AVX-512 (F, DQ, BW, VL): vectors of sixteen floats, panels of 48 rows, column panels of eight columns.
//
// Everything has internal linkage: each including file is compiled with its own -m flags.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/instructions/kernels.h"

namespace kith::cpu {
namespace {

struct Avx512 : FusedScalars {
  using F = __m512;
  using D = __m512d;
  using I = __m512i;
  static constexpr int floats = 16, doubles = 8, panel_vectors = 3, panel_columns = 8;
  static constexpr double roundings_per_product = 1;

  static constexpr const BitKernels* bits() { return &kPopcountBits; }
  static F zero() { return _mm512_setzero_ps(); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static F broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static F multiply_add(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F subtract(F a, F b) { return _mm512_sub_ps(a, b); }
  static F maximum(F a, F b) { return _mm512_max_ps(a, b); }
  static F minimum(F a, F b) { return _mm512_min_ps(a, b); }
  static F mark(int number) { return _mm512_castsi512_ps(_mm512_set1_epi32(number)); }
  /// Replaces the last four bits of a score with those of a mark.
  static F marked(F score, F mark) {
    constexpr int kKeptOrMark = 0xea;  // (first & second) | third
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(score), _mm512_set1_epi32(~15),
                                                         _mm512_castps_si512(mark), kKeptOrMark));
  }
  /// Replaces the mark of a score with that of another.
  static F marked_as(F score, F other) {
    constexpr int kFirstOrOther = 0xca;  // first ? second : third
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(15), _mm512_castps_si512(other),
                                                         _mm512_castps_si512(score), kFirstOrOther));
  }
  static F root(F a) { return _mm512_sqrt_ps(a); }
  static unsigned not_greater(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_NGT_UQ); }

  /// Sixteen values of points as floats.
  static F load_points(const float* x) { return _mm512_loadu_ps(x); }
  static F load_points(const std::uint8_t* x) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
  static F load_points(const std::int8_t* x) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
  /// Values in the mask, zeros elsewhere.
  static F load_points(const float* x, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, x); }
  static F load_points(const std::uint8_t* x, __mmask16 mask) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, x)));
  }
  static F load_points(const std::int8_t* x, __mmask16 mask) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, x)));
  }

  template <class T>
  static F centred(const T* x, double scale, F center) {
    return _mm512_fmsub_ps(load_points(x), _mm512_set1_ps(static_cast<float>(scale)), center);
  }
  static F centred(const double* x, double scale, F center) {
    const D s = _mm512_set1_pd(scale);
    const D low = _mm512_sub_pd(_mm512_mul_pd(_mm512_loadu_pd(x), s), _mm512_cvtps_pd(_mm512_castps512_ps256(center)));
    const D high =
        _mm512_sub_pd(_mm512_mul_pd(_mm512_loadu_pd(x + 8), s), _mm512_cvtps_pd(_mm512_extractf32x8_ps(center, 1)));
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
  }
  /// The first `count` of sixteen values, then zeros.
  template <class T>
  static F centred_first(const T* x, double scale, const float* center, int count) {
    const auto mask = static_cast<__mmask16>((1U << count) - 1);
    return _mm512_fmsub_ps(load_points(x, mask), _mm512_set1_ps(static_cast<float>(scale)),
                           _mm512_maskz_loadu_ps(mask, center));
  }
  static F centred_first(const double* x, double scale, const float* center, int count) {
    double values[16] = {};
    for (int i = 0; i < count; ++i) values[i] = x[i];
    return centred(values, scale, _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), center));
  }

  /// Transposes a 16 x 16 matrix: within 128-bit lanes, then the lanes.
  static void transpose(F* m) {
    F t[16];
    for (int i = 0; i < 16; i += 4) {
      const F a = _mm512_unpacklo_ps(m[i], m[i + 1]), b = _mm512_unpackhi_ps(m[i], m[i + 1]);
      const F c = _mm512_unpacklo_ps(m[i + 2], m[i + 3]), d = _mm512_unpackhi_ps(m[i + 2], m[i + 3]);
      t[i] = _mm512_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      const F a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
      const F c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88), d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
      m[i] = _mm512_shuffle_f32x4(a, c, 0x88);
      m[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
      m[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
      m[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
  }

  static D zero_d() { return _mm512_setzero_pd(); }
  static D load_d(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static D load_d(const double* p) { return _mm512_loadu_pd(p); }
  static D load_d(const std::uint8_t* p) {
    return _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static D load_d(const std::int8_t* p) {
    return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static D load_first_d(const float* p, int count) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(static_cast<__mmask8>((1U << count) - 1), p));
  }
  static D load_first_d(const double* p, int count) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << count) - 1), p);
  }
  static D load_first_d(const std::uint8_t* p, int count) {
    return _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1U << count) - 1), p)));
  }
  static D load_first_d(const std::int8_t* p, int count) {
    return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1U << count) - 1), p)));
  }
  static void store_floats(float* p, D v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
  static D broadcast_d(double v) { return _mm512_set1_pd(v); }
  static D add_d(D a, D b) { return _mm512_add_pd(a, b); }
  static D subtract_d(D a, D b) { return _mm512_sub_pd(a, b); }
  static D absolute_d(D a) { return _mm512_abs_pd(a); }
  static D maximum_d(D a, D b) { return _mm512_max_pd(a, b); }
  static D minimum_d(D a, D b) { return _mm512_min_pd(a, b); }
  static unsigned not_above_d(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
  static D multiply_d(D a, D b) { return _mm512_mul_pd(a, b); }
  static D multiply_add_d(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
  static D root_d(D a) { return _mm512_sqrt_pd(a); }
  static D floor_d(D a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
  static double tree_d(D a) {
    const __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
  }

  static I load_i(const std::int64_t* p) { return _mm512_loadu_si512(p); }
  static void store_i(std::int64_t* p, I v) { _mm512_storeu_si512(p, v); }
  static I add_i(I a, I b) { return _mm512_add_epi64(a, b); }
  static I nearest_i(D a) { return _mm512_cvtpd_epi64(a); }

  // For narrow.h.
  static F subtract_product(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  /// The tile if the best score is unchanged, else first.
  static F updated_tile(F tile, F best, F before, std::int32_t first) {
    return _mm512_mask_mov_ps(tile, _mm512_cmp_ps_mask(best, before, _CMP_NEQ_UQ),
                              _mm512_castsi512_ps(_mm512_set1_epi32(first)));
  }
  static void store_label(std::int32_t* label, F best, F tile) {
    const I number = _mm512_and_si512(_mm512_castps_si512(best), _mm512_set1_epi32(15));
    _mm512_storeu_si512(label, _mm512_add_epi32(number, _mm512_castps_si512(tile)));
  }
  static unsigned differ(const std::int32_t* a, const std::int32_t* b) {
    return _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
  }
  /// The first four columns of sixteen rows that lie `stride` apart.
  static void load_four_columns(const float* rows, std::int64_t stride, F* column) {
    F row[4];  // 128-bit lane q of row[r]: row 4 q + r
    for (int r = 0; r < 4; ++r) {
      row[r] = _mm512_castps128_ps512(_mm_loadu_ps(rows + r * stride));
      row[r] = _mm512_insertf32x4(row[r], _mm_loadu_ps(rows + (r + 4) * stride), 1);
      row[r] = _mm512_insertf32x4(row[r], _mm_loadu_ps(rows + (r + 8) * stride), 2);
      row[r] = _mm512_insertf32x4(row[r], _mm_loadu_ps(rows + (r + 12) * stride), 3);
    }
    const F a = _mm512_unpacklo_ps(row[0], row[1]), b = _mm512_unpackhi_ps(row[0], row[1]);
    const F c = _mm512_unpacklo_ps(row[2], row[3]), d = _mm512_unpackhi_ps(row[2], row[3]);
    column[0] = _mm512_shuffle_ps(a, c, 0x44);
    column[1] = _mm512_shuffle_ps(a, c, 0xee);
    column[2] = _mm512_shuffle_ps(b, d, 0x44);
    column[3] = _mm512_shuffle_ps(b, d, 0xee);
  }
  static D gather_d(const float* p, const std::int64_t* at) {
    return _mm512_cvtps_pd(_mm512_i64gather_ps(_mm512_loadu_si512(at), p, 4));
  }
  static D gather_d(const double* p, const std::int64_t* at) {
    return _mm512_i64gather_pd(_mm512_loadu_si512(at), p, 8);
  }
  /// There is no gather of bytes.
  template <class T>
  static D gather_d(const T* p, const std::int64_t* at) {
    double values[doubles];
    for (int i = 0; i < doubles; ++i) values[i] = p[at[i]];
    return load_d(values);
  }
  static void store_d(double* p, D v) { _mm512_storeu_pd(p, v); }
  static I subtract_i(I a, I b) { return _mm512_sub_epi64(a, b); }
};

inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

}  // namespace
}  // namespace kith::cpu
