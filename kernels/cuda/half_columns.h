// Centroids of one assignment as the half-precision screen sees them: values, what is added to their products, and the
// bound of what the screen may get wrong. Everything is computed on the device; nothing waits.
#pragma once

#include <cstdint>

#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/held_rows.h"

namespace kith::cuda {

inline constexpr int kHalfColumns = 128;  // of a tile
static_assert(kPieceRows == kHalfColumns, "rows and columns are cut into the same pieces");

/// A score is |c'|^2 / 2 - x^.c^ + a bias that makes it positive, so that scores order as integers.
///
/// On the coarse grid a score is computed as (score + 32 top) - 31 top, which rounds it to 2^-18 top and leaves a float
/// in [top, 2 top) whose last five bits are zero: room for the number of its column.
struct HalfBound {
  ScreenMargin margin;        // 2 E without the rounding of the row itself
  float per_residual = 0.0F;  // 2 E per unit of a row's residual
  float coarse = 0.0F;        // what the coarse grid adds to 2 E
  float top = 1.0F;           // a power of two above every score

  /// 2 E of a row. A comparison with it must be written so that NaN certifies nothing.
  __device__ float at(float norm, float residual) const {
    return __fadd_ru(margin.at(norm), __fmul_ru(per_residual, residual));
  }
};

struct HalfColumns {
  HalfCentroids centroids;
  Buffer<float> score_base;   // (k, padded), in the order of base_place
  Buffer<float> coarse_base;  // the same + 32 top
  Buffer<HalfBound> bound;    // (1)
  std::int64_t count = 0;
};

/// Where what is added for centroid c stands: a thread finds those of four of its 32 columns in 16 bytes, and the four
/// threads that share a row find theirs side by side.
__host__ __device__ inline std::int64_t base_place(std::int64_t c) {
  const std::int64_t in_tile = c % kHalfColumns, q = in_tile / kGroupColumns, i = in_tile % kGroupColumns;
  return c - in_tile + i / 4 * 16 + q * 4 + i % 4;
}

HalfColumns room_for_half_columns(Pool& pool, std::int64_t count, std::int64_t columns);

/// centroids (count, d) on the device. held.half must have been made.
template <class T>
void make_half_columns(const HeldRows<T>& held, const double* centroids, HalfColumns& out);

}  // namespace kith::cuda
