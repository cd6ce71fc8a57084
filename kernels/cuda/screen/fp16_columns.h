// The centroids of one assignment for the fp16 screen: values, the addends of their scores, and a bound of
// the screen's error. Everything is computed on the device; nothing waits.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/divided_margin.h"
#include "kernels/cuda/screen/fp16_rows.h"

namespace kith::cuda {

inline constexpr int kFp16Columns = 128;  // of a column tile
static_assert(kFp16TileRows == kFp16Columns, "rows and columns have the same tiles");

/// The error bound E of a score |c'|^2 / 2 - x^.c^ + bias, where the bias is that of the quantization grid.
struct Fp16Bound {
  ScreenMargin margin;        // 2 E without the rounding of the row
  float per_residual = 0.0F;  // 2 E per unit of a row's residual
  QuantizationGrid grid;      // quantized scores have its error in addition

  /// 2 E of a row. Write comparisons with it so that a NaN certifies nothing.
  __device__ float at(float norm, float residual) const {
    return __fadd_ru(margin.at(norm), __fmul_ru(per_residual, residual));
  }
};

/// Scores that are not quantized are rounded when the bias is added and when the product is subtracted.
KITH_BOTH inline float bias_rounding(const QuantizationGrid& grid) { return grid.scale * 0x1.1p-21F; }

/// The bound for rows with norms up to `rows` and columns with norms up to `columns`, both of d dimensions, in units of
/// 2^exponent. Infinite when nothing can be certified.
KITH_BOTH inline Fp16Bound fp16_bound(LargestNorms rows, LargestNorms columns, std::int64_t d, int exponent,
                                      double accumulation) {
  constexpr double kMostAccumulation = 0.01;  // for a larger A(d) the bias is too small
  Fp16Bound bound;
  bound.margin = screen_margin(columns, d, exponent, {0.0, accumulation});
  bound.per_residual = static_cast<float>(2.01 * columns.norm);
  const bool usable = quantization_grid(rows, columns, bound.grid) && accumulation < kMostAccumulation;
  bound.margin.constant += bias_rounding(bound.grid);
  if (!usable) bound.margin.constant = std::numeric_limits<float>::infinity();
  return bound;
}

/// The bound of lowered scores (kernels/cuda/screen/divided_margin.h) |c'|^2 / 2 - x^.c^ + bias.
struct LoweredBound {
  DividedMargin margin;
  QuantizationGrid grid;  // quantized scores have its error in addition
  // Rows longer than this are not screened; no row of up to this length is nearest to a column that is left out.
  float longest = std::numeric_limits<float>::infinity();
  double longest_column = std::numeric_limits<double>::infinity();  // longer columns are left out

  /// How far above the lowest score of a row that of its nearest column may be; infinite if the row is too long.
  /// lowest: the lowest score, bias included; part: the part of the margin of its column, or a bound. A NaN certifies
  /// nothing.
  __device__ float of_row(float norm, float residual, float lowest, float part) const {
    const float unbiased = __fadd_ru(__fsub_ru(lowest, grid.bias), grid.error);
    return norm <= longest ? margin.at(norm, residual, unbiased, part) : std::numeric_limits<float>::infinity();
  }
};

struct Fp16Columns {
  Fp16Centroids centroids;
  Buffer<float> score_base;      // (k, padded), in the order of base_place
  Buffer<float> quantized_base;  // the same for quantized scores
  Buffer<LoweredBound> bound;    // (1)
  std::int64_t count = 0;
  Buffer<float> part;        // (k, padded) of the margin
  Buffer<float> group_part;  // (k, padded, / 32) the largest of each group of 32 columns
};

/// The index of the addend of centroid c: a thread loads those of four of its 32 columns as 16 bytes, next to those of
/// the other three threads of its rows.
__host__ __device__ inline std::int64_t base_place(std::int64_t c) {
  const unsigned in_tile = static_cast<unsigned>(c) % kFp16Columns, q = in_tile / kGroupColumns,
                 i = in_tile % kGroupColumns;
  return c - in_tile + (i / 4 * 16 + q * 4 + i % 4);
}

/// The addends of the scores that a lane has of a column tile.
__device__ inline const float* base_of_lane(const float* score_base, unsigned tile, int lane) {
  return score_base + static_cast<std::int64_t>(tile) * kFp16Columns + lane % 4 * 4;
}

Fp16Columns allocate_fp16_columns(Pool& pool, std::int64_t count, std::int64_t columns);

/// Fills `out` from centroids (count, d) on the device. If some rows are too long to be screened, columns that are too
/// long to be nearest to the others are left out: they score 10^37. Requires held.fp16. Does not wait.
template <class T>
void make_fp16_columns(const HeldRows<T>& held, const double* centroids, Fp16Columns& out);

}  // namespace kith::cuda
