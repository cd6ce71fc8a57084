// Screens that multiply and add pairs of 16-bit values; panels [pair][lane], as AMX and AVX-512 read them.
//
// Number has: kScaled (whether values are multiples of a quantization step per row), kPanelVectors (vectors of lanes),
// round (two vectors of floats to 32 values in the order of the columns) and values (the exact inverse).
#pragma once

#include "kernels/cpu/instructions/avx512.h"
#include "kernels/cpu/instructions/int16.h"

namespace kith::cpu {
namespace {

/// 16-bit integers, added as integers: only quantization loses precision.
struct Int16 {
  static constexpr bool kScaled = true;

  static __m512i round(__m512 low, __m512 high, __m512 per_step) {
    const auto narrow = [&](__m512 v) {
      return _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(_mm512_mul_ps(v, per_step)));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(narrow(low)), narrow(high), 1);
  }
  static __m512 values(__m256i v) { return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(v)); }
};

inline __mmask16 first_mask(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffU : count <= 0 ? 0U : (1U << count) - 1);
}

/// The sums of sixteen vectors, one per lane.
inline __m512 sums_of(__m512* vectors) {
  Avx512::transpose(vectors);
  for (int w = 8; w > 0; w /= 2) {
    for (int i = 0; i < w; ++i) vectors[i] = _mm512_add_ps(vectors[i], vectors[i + w]);
  }
  return vectors[0];
}

/// Adds |c~ - c^|^2 of 32 columns to sum.
template <class Number>
inline __m512 lost(__m512 low, __m512 high, __m512i rounded, __m512 step, __m512 sum) {
  const __m512 a = _mm512_fnmadd_ps(Number::values(_mm512_castsi512_si256(rounded)), step, low);
  const __m512 b = _mm512_fnmadd_ps(Number::values(_mm512_extracti64x4_epi64(rounded, 1)), step, high);
  return _mm512_fmadd_ps(b, b, _mm512_fmadd_ps(a, a, sum));
}

template <class Number>
struct Pairs {
  static constexpr int kStepColumns = 32;  // columns per step: a vector of pairs
  static constexpr int kLanes = 16 * Number::kPanelVectors;

  template <class T>
  static __m512 centred(const T* row, std::int64_t j, std::int64_t d, double scale, const float* center) {
    if (j + 16 <= d) return Avx512::centred(row + j, scale, _mm512_loadu_ps(center + j));
    if (j >= d) return _mm512_setzero_ps();
    return Avx512::centred_first(row + j, scale, center + j, static_cast<int>(d - j));
  }

  template <class T>
  static float norm_of(const T* row, std::int64_t d, double scale, const float* center) {
    __m512 squares = _mm512_setzero_ps();
    for (std::int64_t j = 0; j < d; j += 16) {
      const __m512 x = centred(row, j, d, scale, center);
      squares = _mm512_fmadd_ps(x, x, squares);
    }
    return __builtin_sqrtf(_mm512_reduce_add_ps(squares));
  }

  /// Whether the sixteen rows from `first` on repeat the row before them, as those that fill a panel do.
  template <class T>
  static bool repeat_before(const T* const* rows, int first) {
    if (first == 0) return false;
    bool equal = true;
    for (int i = 0; i < 16; ++i) equal = equal && rows[first + i] == rows[first - 1];
    return equal;
  }
  /// Copies the lane before `first` to sixteen lanes.
  static void repeat_lane(std::int32_t* panel, std::int64_t pairs, int first, PanelNorms* norms) {
    for (std::int64_t j = 0; j <= pairs; ++j) {  // the last ones are the quantization steps
      std::int32_t* lanes = panel + j * kLanes + first;
      _mm512_storeu_si512(lanes, _mm512_set1_epi32(lanes[-1]));
    }
    _mm512_storeu_ps(norms->norm + first, _mm512_set1_ps(norms->norm[first - 1]));
    _mm512_storeu_ps(norms->residual + first, _mm512_set1_ps(norms->residual[first - 1]));
  }

  template <class T>
  static void pack(const T* const* rows, std::int64_t d, double scale, const float* center, void* packed,
                   PanelNorms* norms) {
    const std::int64_t pairs = (d + Number::kPadding - 1) / Number::kPadding * Number::kPadding / 2;
    auto* panel = static_cast<std::int32_t*>(packed);
    auto* lane_step = reinterpret_cast<float*>(panel + pairs * kLanes);
    for (int first = 0; first < kLanes; first += 16) {
      if (repeat_before(rows, first)) {
        repeat_lane(panel, pairs, first, norms);
        continue;
      }
      __m512 squares[16], residual[16];
      float step[16];
      for (int i = 0; i < 16; ++i) {
        squares[i] = residual[i] = _mm512_setzero_ps();
        step[i] = Number::kScaled ? quantization_step(norm_of(rows[first + i], d, scale, center)) : 1.0F;
      }
      for (std::int64_t j = 0; j < d; j += kStepColumns) {
        __m512 block[16];
        for (int i = 0; i < 16; ++i) {
          const __m512 low = centred(rows[first + i], j, d, scale, center);
          const __m512 high = centred(rows[first + i], j + 16, d, scale, center);
          const __m512i rounded = Number::round(low, high, _mm512_set1_ps(1.0F / step[i]));
          block[i] = _mm512_castsi512_ps(rounded);
          squares[i] = _mm512_fmadd_ps(high, high, _mm512_fmadd_ps(low, low, squares[i]));
          residual[i] = lost<Number>(low, high, rounded, _mm512_set1_ps(step[i]), residual[i]);
        }
        Avx512::transpose(block);
        for (int i = 0; i < 16 && j / 2 + i < pairs; ++i) {
          _mm512_storeu_ps(reinterpret_cast<float*>(panel + (j / 2 + i) * kLanes + first), block[i]);
        }
      }
      // Squares may underflow by up to 2^-149 each.
      const __m512 vanished = _mm512_set1_ps(static_cast<float>(d) * 0x1p-148F);
      _mm512_storeu_ps(norms->norm + first, _mm512_sqrt_ps(sums_of(squares)));
      _mm512_storeu_ps(norms->residual + first, _mm512_sqrt_ps(_mm512_add_ps(sums_of(residual), vanished)));
      for (int i = 0; i < 16; ++i) lane_step[first + i] = step[i];
    }
  }

  /// place(column, j, 32 values) stores the values.
  template <class Place>
  static PackedColumns pack_columns(const float* rows, std::int64_t count, std::int64_t d, float largest_norm,
                                    const Place& place) {
    const float step = Number::kScaled ? quantization_step(largest_norm) : 1.0F;
    const __m512 steps = _mm512_set1_ps(step), per_step = _mm512_set1_ps(1.0F / step);
    float largest = 0.0F;
    for (std::int64_t c = 0; c < (count + Number::kPanelColumns - 1) / Number::kPanelColumns * Number::kPanelColumns;
         ++c) {
      __m512 residual = _mm512_setzero_ps();
      for (std::int64_t j = 0; j < d; j += kStepColumns) {
        const std::int64_t left = c < count ? d - j : 0;
        const __m512 low = _mm512_maskz_loadu_ps(first_mask(left), rows + c * d + j);
        const __m512 high = _mm512_maskz_loadu_ps(first_mask(left - 16), rows + c * d + j + 16);
        const __m512i rounded = Number::round(low, high, per_step);
        residual = lost<Number>(low, high, rounded, steps, residual);
        place(c, j, rounded);
      }
      const float squared = _mm512_reduce_add_ps(residual) + static_cast<float>(d) * 0x1p-148F;
      if (!(squared <= largest)) largest = squared;  // keeps a NaN
    }
    return {step, largest};
  }

  /// Layout: [panel][pair][column].
  static PackedColumns pack_column_panels(const float* rows, std::int64_t count, std::int64_t d, float largest_norm,
                                          void* packed) {
    constexpr int kPanelColumns = Number::kPanelColumns;
    const std::int64_t pairs = (d + 1) / 2;
    return pack_columns(rows, count, d, largest_norm, [&](std::int64_t c, std::int64_t j, __m512i values) {
      std::int32_t pair[16];
      _mm512_storeu_si512(pair, values);
      auto* to = static_cast<std::int32_t*>(packed) + c / kPanelColumns * pairs * kPanelColumns + c % kPanelColumns;
      for (std::int64_t i = 0; i < 16 && j / 2 + i < pairs; ++i) to[(j / 2 + i) * kPanelColumns] = pair[i];
    });
  }

  /// Register tiles as in Kernels::multiply, over all columns at once.
  static void products(const void* panel, const void* columns, float step, std::int64_t d, std::int64_t column_panels,
                       float* tile) {
    constexpr int kPanelColumns = Number::kPanelColumns, kPanelVectors = Number::kPanelVectors;
    const std::int64_t pairs = (d + 1) / 2;
    const auto* rows = static_cast<const std::int32_t*>(panel);
    const auto* steps = reinterpret_cast<const float*>(rows + pairs * kLanes);
    __m512 factor[kPanelVectors];
    for (int p = 0; p < kPanelVectors; ++p)
      factor[p] = _mm512_mul_ps(_mm512_loadu_ps(steps + 16 * p), _mm512_set1_ps(step));
    for (std::int64_t g = 0; g < column_panels; ++g) {
      const auto* column_panel = static_cast<const std::int32_t*>(columns) + g * pairs * kPanelColumns;
      typename Number::Sum sum[kPanelColumns][kPanelVectors];
      for (int r = 0; r < kPanelColumns; ++r) {
        for (int p = 0; p < kPanelVectors; ++p) sum[r][p] = Number::zero();
      }
      for (std::int64_t j = 0; j < pairs; ++j) {
        __m512i x[kPanelVectors];
        for (int p = 0; p < kPanelVectors; ++p) x[p] = _mm512_loadu_si512(rows + j * kLanes + 16 * p);
        for (int r = 0; r < kPanelColumns; ++r) {
          const __m512i c = _mm512_set1_epi32(column_panel[j * kPanelColumns + r]);
          for (int p = 0; p < kPanelVectors; ++p) sum[r][p] = Number::multiply_add(sum[r][p], x[p], c);
        }
      }
      for (int r = 0; r < kPanelColumns; ++r) {
        for (int p = 0; p < kPanelVectors; ++p) {
          _mm512_storeu_ps(tile + (g * kPanelColumns + r) * kLanes + 16 * p, Number::product(sum[r][p], factor[p]));
        }
      }
    }
  }

  static double multiply_adds(std::int64_t rounds, float* result) {
    constexpr int kChains = 12;
    typename Number::Sum sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = Number::zero();
    __m512i x = _mm512_set1_epi32(0);
    for (std::int64_t round = 0; round < rounds; ++round) {
      asm volatile("" : "+v"(x));  // keeps the compiler from removing the loop
      for (int i = 0; i < kChains; ++i) sum[i] = Number::multiply_add(sum[i], x, x);
    }
    __m512 total = _mm512_setzero_ps();
    for (int i = 0; i < kChains; ++i) {
      total = _mm512_add_ps(total, Number::product(sum[i], _mm512_set1_ps(1.0F)));
    }
    *result = _mm512_cvtss_f32(total);
    return 2.0 * kChains * 32 * static_cast<double>(rounds);
  }
};

/// The shape of a tile of products, for the operations on its scores.
template <class Number>
struct TileShape : Avx512 {
  static constexpr int panel_vectors = Number::kPanelVectors, panel_columns = Number::kPanelColumns;
};

/// The screen of an instruction set that multiplies pairs in vectors.
template <class Number>
constexpr ScreenKernels pair_screen(const char* arithmetic, double (*accumulation)(std::int64_t d)) {
  using P = Pairs<Number>;
  return {.arithmetic = arithmetic,
          .lanes = P::kLanes,
          .panel_columns = Number::kPanelColumns,
          .padding = Number::kPadding,
          .value_bytes = sizeof(std::int16_t),
          .smallest = 0x1p-110,
          .scan_cost = 32,
          .accumulation = accumulation,
          .pack_rows = {P::template pack<float>, P::template pack<double>, P::template pack<std::uint8_t>,
                        P::template pack<std::int8_t>},
          .pack_columns = P::pack_column_panels,
          .products = P::products,
          .scores = score_kernels_of<TileShape<Number>>(),
          .multiply_adds = P::multiply_adds};
}

}  // namespace
}  // namespace kith::cpu
