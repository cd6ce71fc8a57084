// AVX2 with FMA: vectors of eight floats, panels of 16 rows, column panels of six columns.
//
// Everything has internal linkage: each including file is compiled with its own -m flags.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/instructions/kernels.h"

namespace kith::cpu {
namespace {

struct Avx2 : FusedScalars {
  using F = __m256;
  using D = __m256d;
  using I = __m256i;
  static constexpr int floats = 8, doubles = 4, panel_vectors = 2, panel_columns = 6;
  static constexpr double roundings_per_product = 1;

  static F zero() { return _mm256_setzero_ps(); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F v) { _mm256_storeu_ps(p, v); }
  static F broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static F multiply_add(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F subtract(F a, F b) { return _mm256_sub_ps(a, b); }
  static F maximum(F a, F b) { return _mm256_max_ps(a, b); }
  static F minimum(F a, F b) { return _mm256_min_ps(a, b); }
  static F mark(int number) { return _mm256_castsi256_ps(_mm256_set1_epi32(number)); }
  /// Replaces the last four bits of a score with those of a mark.
  static F marked(F score, F mark) {
    return _mm256_or_ps(_mm256_and_ps(score, _mm256_castsi256_ps(_mm256_set1_epi32(~15))), mark);
  }
  /// Replaces the mark of a score with that of another.
  static F marked_as(F score, F other) {
    return marked(score, _mm256_and_ps(other, _mm256_castsi256_ps(_mm256_set1_epi32(15))));
  }
  static F root(F a) { return _mm256_sqrt_ps(a); }
  static unsigned not_greater(F a, F b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NGT_UQ)));
  }

  /// Eight values of points as floats.
  static F load_points(const float* x) { return _mm256_loadu_ps(x); }
  static F load_points(const std::uint8_t* x) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
  }
  static F load_points(const std::int8_t* x) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
  }

  template <class T>
  static F centred(const T* x, double scale, F center) {
    return _mm256_fmsub_ps(load_points(x), _mm256_set1_ps(static_cast<float>(scale)), center);
  }
  static F centred(const double* x, double scale, F center) {
    const D s = _mm256_set1_pd(scale);
    const D low = _mm256_sub_pd(_mm256_mul_pd(_mm256_loadu_pd(x), s), _mm256_cvtps_pd(_mm256_castps256_ps128(center)));
    const D high =
        _mm256_sub_pd(_mm256_mul_pd(_mm256_loadu_pd(x + 4), s), _mm256_cvtps_pd(_mm256_extractf128_ps(center, 1)));
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
  }

  /// Transposes an 8 x 8 matrix: within 128-bit lanes, then the lanes.
  static void transpose(F* m) {
    F t[8];
    for (int i = 0; i < 8; i += 4) {
      const F a = _mm256_unpacklo_ps(m[i], m[i + 1]), b = _mm256_unpackhi_ps(m[i], m[i + 1]);
      const F c = _mm256_unpacklo_ps(m[i + 2], m[i + 3]), d = _mm256_unpackhi_ps(m[i + 2], m[i + 3]);
      t[i] = _mm256_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      m[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
      m[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
  }

  static D zero_d() { return _mm256_setzero_pd(); }
  static D load_d(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static D load_d(const double* p) { return _mm256_loadu_pd(p); }
  static D load_d(const std::uint8_t* p) { return load_first_d(p, doubles); }
  static D load_d(const std::int8_t* p) { return load_first_d(p, doubles); }
  static I first_lanes(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_set_epi64x(3, 2, 1, 0));
  }
  static D load_first_d(const float* p, int count) {
    const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32(count), _mm_set_epi32(3, 2, 1, 0));
    return _mm256_cvtps_pd(_mm_maskload_ps(p, mask));
  }
  static D load_first_d(const double* p, int count) { return _mm256_maskload_pd(p, first_lanes(count)); }
  /// Up to four bytes, padded with zeros: there is no masked load of bytes.
  static __m128i first_bytes(const void* p, int count) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, p, static_cast<std::size_t>(count));
    return _mm_cvtsi32_si128(four);
  }
  static D load_first_d(const std::uint8_t* p, int count) {
    return _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(first_bytes(p, count)));
  }
  static D load_first_d(const std::int8_t* p, int count) {
    return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(first_bytes(p, count)));
  }
  static void store_floats(float* p, D v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
  static D broadcast_d(double v) { return _mm256_set1_pd(v); }
  static D add_d(D a, D b) { return _mm256_add_pd(a, b); }
  static D subtract_d(D a, D b) { return _mm256_sub_pd(a, b); }
  static D absolute_d(D a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
  static D maximum_d(D a, D b) { return _mm256_max_pd(a, b); }
  static D minimum_d(D a, D b) { return _mm256_min_pd(a, b); }
  static unsigned not_above_d(D a, D b) {
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ)));
  }
  static D multiply_d(D a, D b) { return _mm256_mul_pd(a, b); }
  static D multiply_add_d(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
  static D root_d(D a) { return _mm256_sqrt_pd(a); }
  static D floor_d(D a) { return _mm256_floor_pd(a); }
  static double tree_d(D a) {
    const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
  }

  static I load_i(const std::int64_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store_i(std::int64_t* p, I v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static I add_i(I a, I b) { return _mm256_add_epi64(a, b); }
  /// AVX2 has no conversion to 64-bit integers: four scalar ones.
  static I nearest_i(D a) {
    const __m128d low = _mm256_castpd256_pd128(a), high = _mm256_extractf128_pd(a, 1);
    return _mm256_set_epi64x(_mm_cvtsd_si64(_mm_unpackhi_pd(high, high)), _mm_cvtsd_si64(high),
                             _mm_cvtsd_si64(_mm_unpackhi_pd(low, low)), _mm_cvtsd_si64(low));
  }

  // For narrow.h.
  static F subtract_product(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  /// The tile if the best score is unchanged, else first.
  static F updated_tile(F tile, F best, F before, std::int32_t first) {
    return _mm256_blendv_ps(tile, _mm256_castsi256_ps(_mm256_set1_epi32(first)),
                            _mm256_cmp_ps(best, before, _CMP_NEQ_UQ));
  }
  static void store_label(std::int32_t* label, F best, F tile) {
    const I number = _mm256_and_si256(_mm256_castps_si256(best), _mm256_set1_epi32(15));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(label), _mm256_add_epi32(number, _mm256_castps_si256(tile)));
  }
  static unsigned differ(const std::int32_t* a, const std::int32_t* b) {
    const I equal = _mm256_cmpeq_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
    return static_cast<unsigned>(~_mm256_movemask_ps(_mm256_castsi256_ps(equal)) & 0xff);
  }
  /// The first four columns of eight rows that lie `stride` apart.
  static void load_four_columns(const float* rows, std::int64_t stride, F* column) {
    F row[4];  // 128-bit lane h of row[r]: row 4 h + r
    for (int r = 0; r < 4; ++r)
      row[r] = _mm256_set_m128(_mm_loadu_ps(rows + (r + 4) * stride), _mm_loadu_ps(rows + r * stride));
    const F a = _mm256_unpacklo_ps(row[0], row[1]), b = _mm256_unpackhi_ps(row[0], row[1]);
    const F c = _mm256_unpacklo_ps(row[2], row[3]), d = _mm256_unpackhi_ps(row[2], row[3]);
    column[0] = _mm256_shuffle_ps(a, c, 0x44);
    column[1] = _mm256_shuffle_ps(a, c, 0xee);
    column[2] = _mm256_shuffle_ps(b, d, 0x44);
    column[3] = _mm256_shuffle_ps(b, d, 0xee);
  }
  static D gather_d(const float* p, const std::int64_t* at) {
    return _mm256_cvtps_pd(_mm256_i64gather_ps(p, load_i(at), 4));
  }
  static D gather_d(const double* p, const std::int64_t* at) { return _mm256_i64gather_pd(p, load_i(at), 8); }
  /// There is no gather of bytes.
  template <class T>
  static D gather_d(const T* p, const std::int64_t* at) {
    double values[doubles];
    for (int i = 0; i < doubles; ++i) values[i] = p[at[i]];
    return load_d(values);
  }
  static void store_d(double* p, D v) { _mm256_storeu_pd(p, v); }
  static I subtract_i(I a, I b) { return _mm256_sub_epi64(a, b); }
};

}  // namespace
}  // namespace kith::cpu
