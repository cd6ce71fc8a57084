// The instruction set AVX2 with FMA: vectors of eight floats, panels of 16 rows, column panels of six columns; products
// of pairs of 16-bit integers, added as 32-bit integers, in panels [pair][lane].
//
// A multiplication of pairs does sixteen products where one in float32 does eight, and on many processors the following
// addition has its own port. Only quantization to 16 bits loses precision.
#include <immintrin.h>

#include "kernels/cpu/instructions/bits.h"
#include "kernels/cpu/instructions/int16.h"
#include "kernels/cpu/instructions/kernels.h"

namespace kith::cpu {
namespace {

struct Avx2 : FusedScalars {
  using F = __m256;
  using D = __m256d;
  using I = __m256i;
  static constexpr int floats = 8, doubles = 4, panel_vectors = 2, panel_columns = 6;
  static constexpr double roundings_per_product = 1;

  static constexpr const BitKernels* bits() { return &kAvx2Bits; }
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

struct Avx2Pairs {
  typedef std::uint32_t Sum __attribute__((vector_size(32)));  // GCC 12 keeps arrays of __m256i in memory
  using K = Kernels<Avx2>;
  static constexpr int kLanes = K::kLanes, kPanelColumns = K::kPanelColumns, kPanelVectors = Avx2::panel_vectors,
                       kFloats = Avx2::floats;

  template <class T>
  static float norm_of(const T* row, std::int64_t d, double scale, const float* center) {
    __m256 squares = _mm256_setzero_ps();
    std::int64_t j = 0;
    for (; j + kFloats <= d; j += kFloats) {
      const __m256 x = Avx2::centred(row + j, scale, _mm256_loadu_ps(center + j));
      squares = _mm256_fmadd_ps(x, x, squares);
    }
    float each[kFloats], sum = 0.0F;
    _mm256_storeu_ps(each, squares);
    for (const float part : each) sum += part;
    for (; j < d; ++j) {
      const float x = Avx2::centred_one(row[j], scale, center[j]);
      sum += x * x;
    }
    return __builtin_sqrtf(sum);
  }

  /// Quantizes columns of a panel and accumulates their squares and squared rounding errors.
  struct Rounding {
    __m256 step, per_step, squares = _mm256_setzero_ps(), residual = _mm256_setzero_ps();
    explicit Rounding(const float* steps) : step(_mm256_loadu_ps(steps)) {
      per_step = _mm256_div_ps(_mm256_set1_ps(1.0F), step);
    }
    __m256i round(__m256 x) {
      const __m256i rounded = _mm256_cvtps_epi32(_mm256_mul_ps(x, per_step));
      const __m256 lost = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(rounded), step, x);
      squares = _mm256_fmadd_ps(x, x, squares);
      residual = _mm256_fmadd_ps(lost, lost, residual);
      return rounded;
    }
  };

  static __m256i paired(__m256i first, __m256i second) {
    return _mm256_blend_epi16(first, _mm256_slli_epi32(second, 16), 0xaa);
  }

  template <class T>
  static void pack(const T* const* rows, std::int64_t d, double scale, const float* center, void* packed,
                   PanelNorms* norms) {
    const std::int64_t pairs = (d + 1) / 2;
    auto* panel = static_cast<std::int32_t*>(packed);
    auto* steps = reinterpret_cast<float*>(panel + pairs * kLanes);
    for (int lane = 0; lane < kLanes; ++lane) steps[lane] = quantization_step(norm_of(rows[lane], d, scale, center));
    for (int first = 0; first < kLanes; first += kFloats) {
      Rounding rounding(steps + first);
      const auto store = [&](std::int64_t j, __m256 even, __m256 odd) {
        const __m256i low = rounding.round(even);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(panel + j / 2 * kLanes + first),
                            paired(low, rounding.round(odd)));
      };
      std::int64_t j = 0;
      for (; j + kFloats <= d; j += kFloats) {
        __m256 block[kFloats];
        for (int i = 0; i < kFloats; ++i)
          block[i] = Avx2::centred(rows[first + i] + j, scale, _mm256_loadu_ps(center + j));
        Avx2::transpose(block);
        for (int i = 0; i < kFloats; i += 2) store(j + i, block[i], block[i + 1]);
      }
      for (; j < d; j += 2) {
        float column[2][kFloats] = {};
        for (int i = 0; i < 2 && j + i < d; ++i) {
          for (int lane = 0; lane < kFloats; ++lane)
            column[i][lane] = Avx2::centred_one(rows[first + lane][j + i], scale, center[j + i]);
        }
        store(j, _mm256_loadu_ps(column[0]), _mm256_loadu_ps(column[1]));
      }
      // Squares may underflow by up to 2^-149 each.
      const __m256 vanished = _mm256_set1_ps(static_cast<float>(d) * 0x1p-148F);
      _mm256_storeu_ps(norms->norm + first, _mm256_sqrt_ps(rounding.squares));
      _mm256_storeu_ps(norms->residual + first, _mm256_sqrt_ps(_mm256_add_ps(rounding.residual, vanished)));
    }
  }

  /// Layout: [panel][pair][column].
  static PackedColumns pack_columns(const float* rows, std::int64_t count, std::int64_t d, float largest_norm,
                                    void* packed) {
    const std::int64_t pairs = (d + 1) / 2;
    const float step = quantization_step(largest_norm);
    float steps[kFloats], largest = 0.0F;
    for (float& each : steps) each = step;
    for (std::int64_t c = 0; c < (count + kPanelColumns - 1) / kPanelColumns * kPanelColumns; ++c) {
      auto* to = static_cast<std::int32_t*>(packed) + c / kPanelColumns * pairs * kPanelColumns + c % kPanelColumns;
      Rounding rounding(steps);
      for (std::int64_t j = 0; j < d; j += kFloats) {
        float left[kFloats] = {};
        for (std::int64_t i = 0; c < count && i < kFloats && j + i < d; ++i) left[i] = rows[c * d + j + i];
        const __m256i rounded = rounding.round(_mm256_loadu_ps(left));
        std::int32_t pair[kFloats / 2];
        _mm_storeu_si128(reinterpret_cast<__m128i*>(pair),
                         _mm_packs_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1)));
        for (std::int64_t i = 0; i < kFloats / 2 && j / 2 + i < pairs; ++i) to[(j / 2 + i) * kPanelColumns] = pair[i];
      }
      float each[kFloats], squared = static_cast<float>(d) * 0x1p-148F;
      _mm256_storeu_ps(each, rounding.residual);
      for (const float part : each) squared += part;
      if (!(squared <= largest)) largest = squared;  // keeps a NaN
    }
    return {step, largest};
  }

  /// Register tiles as in Kernels::multiply, over all columns at once.
  static void products(const void* panel, const void* columns, float step, std::int64_t d, std::int64_t column_panels,
                       float* tile) {
    const std::int64_t pairs = (d + 1) / 2;
    const auto* rows = static_cast<const std::int32_t*>(panel);
    const auto* steps = reinterpret_cast<const float*>(rows + pairs * kLanes);
    for (std::int64_t g = 0; g < column_panels; ++g) {
      const auto* column_panel = static_cast<const std::int32_t*>(columns) + g * pairs * kPanelColumns;
      Sum sum[kPanelColumns][kPanelVectors];
      for (int r = 0; r < kPanelColumns; ++r) {
        for (int p = 0; p < kPanelVectors; ++p) sum[r][p] = Sum{};
      }
      for (std::int64_t j = 0; j < pairs; ++j) {
        __m256i x[kPanelVectors];
        for (int p = 0; p < kPanelVectors; ++p)
          x[p] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + j * kLanes + kFloats * p));
        for (int r = 0; r < kPanelColumns; ++r) {
          const __m256i c = _mm256_set1_epi32(column_panel[j * kPanelColumns + r]);
          for (int p = 0; p < kPanelVectors; ++p) sum[r][p] += (Sum)_mm256_madd_epi16(x[p], c);
        }
      }
      for (int p = 0; p < kPanelVectors; ++p) {
        const __m256 factor = _mm256_mul_ps(_mm256_loadu_ps(steps + kFloats * p), _mm256_set1_ps(step));
        for (int r = 0; r < kPanelColumns; ++r) {
          _mm256_storeu_ps(tile + (g * kPanelColumns + r) * kLanes + kFloats * p,
                           _mm256_mul_ps(_mm256_cvtepi32_ps((__m256i)sum[r][p]), factor));
        }
      }
    }
  }

  static double multiply_adds(std::int64_t rounds, float* result) {
    constexpr int kChains = 12;
    Sum sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = Sum{};
    __m256i x = _mm256_set1_epi32(0);
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (int i = 0; i < kChains; ++i) {
        asm volatile("" : "+x"(x));  // keeps the compiler from removing or merging products
        sum[i] += (Sum)_mm256_madd_epi16(x, x);
      }
    }
    for (int i = 1; i < kChains; ++i) sum[0] += sum[i];
    *result = static_cast<float>(sum[0][0]);
    return 2.0 * kChains * 16 * static_cast<double>(rounds);
  }

  static constexpr ScreenKernels screen() {
    return {.arithmetic = "int16",
            .lanes = kLanes,
            .panel_columns = kPanelColumns,
            .padding = 2,
            .value_bytes = sizeof(std::int16_t),
            .smallest = 0x1p-110,
            .scan_cost = 32,
            .accumulation = int16_accumulation,
            .pack_rows = {pack<float>, pack<double>, pack<std::uint8_t>, pack<std::int8_t>},
            .pack_columns = pack_columns,
            .products = products,
            .scores = score_kernels_of<Avx2>(),
            .multiply_adds = multiply_adds};
  }
};

/// The bits of half a byte come from a table; sums of bytes become wide before they overflow.
struct Avx2Bits {
  using W = __m256i;
  static constexpr int words = 8;
  static constexpr std::int64_t kMostAdded = 31;

  static W none() { return _mm256_setzero_si256(); }
  static W load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static W broadcast(const std::uint32_t* p) { return _mm256_set1_epi32(static_cast<int>(*p)); }
  static W both(W a, W b) { return _mm256_and_si256(a, b); }
  static W add_bits(W sum, W w) {
    const W bits = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3,
                                    2, 3, 3, 4);
    const W half = _mm256_set1_epi8(15);
    const W low = _mm256_shuffle_epi8(bits, both(w, half));
    const W high = _mm256_shuffle_epi8(bits, both(_mm256_srli_epi32(w, 4), half));
    return _mm256_add_epi8(sum, _mm256_add_epi8(low, high));
  }
  static W wide_sums(W sum) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(sum, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
  }
  static W add(W a, W b) { return _mm256_add_epi32(a, b); }
  static void store(std::int32_t* p, W w) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), w); }
  static unsigned not_below(W sums, const float* row_bits, float slope, float bound) {
    const __m256 least = _mm256_fmsub_ps(_mm256_set1_ps(slope), _mm256_loadu_ps(row_bits), _mm256_set1_ps(bound));
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_cvtepi32_ps(sums), least, _CMP_GE_OQ)));
  }
  static std::int64_t common(const std::uint8_t* x, const std::uint8_t* y, std::int64_t bytes) {
    W sum = none();
    std::int64_t j = 0;
    while (j + 32 <= bytes) {
      W part = none();
      for (int step = 0; step < kMostAdded && j + 32 <= bytes; ++step, j += 32) {
        part = add_bits(part, both(load(x + j), load(y + j)));
      }
      sum = add(sum, wide_sums(part));
    }
    std::int32_t lanes[words];
    store(lanes, sum);
    std::int64_t total = 0;
    for (const std::int32_t lane : lanes) total += lane;
    for (; j < bytes; ++j) total += __builtin_popcount(static_cast<unsigned>(x[j] & y[j]));
    return total;
  }
};

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

const BitKernels kAvx2Bits = bit_kernels_of<Avx2Bits>("table lookups", supported, &kPlainBits);

const Instructions kAvx2 =
    instructions_of<Avx2>("avx2", "AVX2 and FMA, 16-bit integer products", supported, Avx2Pairs::screen());

}  // namespace kith::cpu
