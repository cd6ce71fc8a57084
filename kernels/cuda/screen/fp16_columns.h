// Centroids of one assignment as the half-precision screen sees them: values, what is added to their products, and the
// bound of what the screen may get wrong. Everything is computed on the device; nothing waits.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/fp16_rows.h"

namespace kith::cuda {

inline constexpr int kFp16Columns = 128;  // of a tile
static_assert(kFp16TileRows == kFp16Columns, "rows and columns are cut into the same tiles");

/// A score is |c'|^2 / 2 - x^.c^ + the grid's bias.
struct Fp16Bound {
  ScreenMargin margin;        // 2 E without the rounding of the row itself
  float per_residual = 0.0F;  // 2 E per unit of a row's residual
  QuantizationGrid grid;      // its error is to be added where scores are on it

  /// 2 E of a row. A comparison with it must be written so that NaN certifies nothing.
  __device__ float at(float norm, float residual) const {
    return __fadd_ru(margin.at(norm), __fmul_ru(per_residual, residual));
  }
};

/// Of rows with norms up to `rows` against columns with norms up to `columns`, both of d dimensions, in units of
/// 2^exponent. Infinite when nothing can be certified.
KITH_BOTH inline Fp16Bound fp16_bound(LargestNorms rows, LargestNorms columns, std::int64_t d, int exponent,
                                      double accumulation) {
  constexpr double kMostAccumulation = 0.01;  // beyond this A(d) the bias would not do
  Fp16Bound bound;
  bound.margin = screen_margin(columns, d, exponent, {0.0, accumulation});
  bound.per_residual = static_cast<float>(2.01 * columns.norm);
  const bool usable = quantization_grid(rows, columns, bound.grid) && accumulation < kMostAccumulation;
  // Scores off the grid are rounded when the bias is added, and when the product is subtracted.
  bound.margin.constant += bound.grid.scale * 0x1.1p-21F;
  if (!usable) bound.margin.constant = std::numeric_limits<float>::infinity();
  return bound;
}

struct Fp16Columns {
  Fp16Centroids centroids;
  Buffer<float> score_base;      // (k, padded), in the order of base_place
  Buffer<float> quantized_base;  // the same + 32 scale
  Buffer<Fp16Bound> bound;       // (1)
  std::int64_t count = 0;
};

/// Where what is added for centroid c stands: a thread finds those of four of its 32 columns in 16 bytes, and the four
/// threads that share a row find theirs side by side.
__host__ __device__ inline std::int64_t base_place(std::int64_t c) {
  const unsigned in_tile = static_cast<unsigned>(c) % kFp16Columns, q = in_tile / kGroupColumns,
                 i = in_tile % kGroupColumns;
  return c - in_tile + (i / 4 * 16 + q * 4 + i % 4);
}

/// What is added to the scores that a lane sees of a tile.
__device__ inline const float* base_of_lane(const float* score_base, unsigned tile, int lane) {
  return score_base + static_cast<std::int64_t>(tile) * kFp16Columns + lane % 4 * 4;
}

Fp16Columns allocate_fp16_columns(Pool& pool, std::int64_t count, std::int64_t columns);

/// centroids (count, d) on the device. held.fp16 must have been made.
template <class T>
void make_fp16_columns(const HeldRows<T>& held, const double* centroids, Fp16Columns& out);

}  // namespace kith::cuda
