// The input of a screening pass in fp16: all rows of a block, or a batch of gathered rows.
#pragma once

#include <cstdint>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/screen/fp16_rows.h"

namespace kith::cuda {

/// Stores the bounds of rows (core/kmeans/bounds.h) as the rows are decided.
struct BoundOutput {
  float* bound = nullptr;               // (rows) out; null: not requested
  const float* half_sq_norm = nullptr;  // (rows) float(|x'|^2 / 2) in the screen's chunk

  __host__ __device__ explicit operator bool() const { return bound != nullptr; }

  /// The row's own column scores at most `limit`, all others at least `other`. The two differ by the certificate's
  /// margin and include the grid's bias, which is larger than any score.
  __device__ void keep(std::int64_t row, float limit, float other, float bias) const {
    constexpr float kUnit = 2.0F * (1 << 2 * kFp16Shift) * (1 + 0x1p-22F);  // half_sq_norm is rounded to nearest
    const float norm = __fadd_ru(__fmul_ru(half_sq_norm[row], kUnit), 0x1p-110F);
    const float own = __fadd_ru(norm, 2.0F * __fsub_ru(limit, bias));
    bound[row] = bound_of(own, 2.0F * __fsub_rd(other, limit));
  }
  /// Stores a bound that certifies nothing: the row was not decided.
  __device__ void clear(std::int64_t row) const { bound[row] = 0.0F; }
};

struct ScreeningInput {
  std::int64_t count = 0;
  const uint4* tiles = nullptr;
  const float* norm = nullptr;           // (count) |x^|, rounded up
  const float* residual = nullptr;       // (count) |x' - x^|, rounded up
  const std::int32_t* chosen = nullptr;  // (count) positions in the block; null: all its rows
  std::int32_t* nearest = nullptr;       // (count) out
  BoundOutput bounds;
};

}  // namespace kith::cuda
