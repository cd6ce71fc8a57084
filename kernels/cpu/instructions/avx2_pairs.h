// AVX2: products of pairs of 16-bit integers, added as 32-bit integers; panels [pair][lane].
//
// A multiplication of pairs does sixteen products where one in float32 does eight, and on many processors the following
// addition has its own port. Only quantization to 16 bits loses precision.
#pragma once

#include "kernels/cpu/instructions/avx2.h"
#include "kernels/cpu/instructions/int16.h"

namespace kith::cpu {
namespace {

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

}  // namespace
}  // namespace kith::cpu
