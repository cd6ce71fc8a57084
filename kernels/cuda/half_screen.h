// The first look at rows in half precision on the tensor cores of compute capability 9.0: most rows are decided here,
// the others go on to the float32 screen.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/held_rows.h"

namespace kith::cuda {

/// Centroids of one assignment in half precision, ready for every block of rows.
struct HalfColumns {
  HalfRows rows;
  Buffer<float> score_base;  // (k, padded) |c'|^2 / 2 + bias: scores are positive then
  std::int64_t count = 0;
  ScreenMargin margin;        // 2 E without the rounding of the row itself
  float per_residual = 0.0F;  // 2 E per unit of a row's residual
  bool usable = false;        // false: centroids too far away for halves
};

/// centroids (k, d) and their half norms of the float32 screen (k), on the device. held.half must have been made.
template <class T>
HalfColumns half_columns(const HeldRows<T>& held, const double* centroids, const float* half_norm, std::int64_t count);

/// Whether this device and this build have the kernel.
bool device_multiplies_halves(int device);

/// Nearest column of a block of the held rows. Rows that are decided get nearest[position]; the positions of the others
/// are written to undecided, and their number is returned. `count` is a word of device memory. Waits for the device.
template <class T>
std::int64_t screen_halves(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                           std::int32_t* nearest, std::int32_t* undecided, Word* count);

}  // namespace kith::cuda
