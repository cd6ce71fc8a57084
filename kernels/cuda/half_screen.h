// The first look at rows in half precision on the tensor cores of compute capability 9.0: most rows are decided here, the
// others go on to the float32 screen.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/held_rows.h"

namespace kith::cuda {

/// Centroids of one assignment in half precision, ready for every block of rows.
struct HalfColumns {
  HalfRows rows;
  Buffer<float> score_base;   // (k, padded to 128) |c'|^2 / 2 + bias: scores are positive then
  std::int64_t count = 0;
  ScreenMargin margin;        // 2 E without the rounding of the row itself
  float per_residual = 0.0F;  // 2 E per unit of a row's residual
  bool usable = false;        // false: centroids too far away for halves
};

/// centroids (k, d) on the device. held.half must have been made.
template <class T>
HalfColumns half_columns(const HeldRows<T>& held, const double* centroids, std::int64_t count);

/// Nearest column of rows first .. first + rows - 1 of the held ones (first a multiple of 128). Rows that are decided
/// get nearest[i]; the others are appended to undecided (positions from `first`), `count` of them.
template <class T>
void screen_halves(const HeldRows<T>& held, const HalfColumns& columns, std::int64_t first, std::int64_t rows,
                   std::int32_t* nearest, std::int32_t* undecided, Word* count);

}  // namespace kith::cuda
