// How far a centroid has shifted, measured by one warp.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/definition.h"

namespace kith::cuda {

/// D of a centroid (d) from where it was before; copies `now` to `before`. Every lane receives it.
__device__ inline double squared_shift_of(const double* now, double* before, std::int64_t d) {
  double sum[1] = {0.0};
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const double value = now[j];
    sum[0] = add_square(value, before[j], sum[0]);
    before[j] = value;
  }
  return add_lanes<1>(sum);
}

}  // namespace kith::cuda
