// The nearest of some columns of a row, as lanes and warps find it together.
#pragma once

#include <climits>
#include <cstdint>
#include <limits>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// The nearest of some columns, with the lowest index if several are equally near, and the distance of the second
/// nearest.
template <bool kKeepsBounds>
struct NearestColumn {
  double best = std::numeric_limits<double>::infinity(), second = std::numeric_limits<double>::infinity();
  std::int32_t column = INT_MAX;

  __device__ void merge(const NearestColumn& other) {
    const bool nearer = other.best < best || (other.best == best && other.column < column);
    if constexpr (kKeepsBounds) second = fmin(fmin(second, other.second), nearer ? best : other.best);
    best = nearer ? other.best : best;
    column = nearer ? other.column : column;
  }
  __device__ void merge_lanes(int w) {
    NearestColumn other;
    other.best = __shfl_xor_sync(kAllLanes, best, w);
    other.column = __shfl_xor_sync(kAllLanes, column, w);
    if constexpr (kKeepsBounds) other.second = __shfl_xor_sync(kAllLanes, second, w);
    merge(other);
  }
};

}  // namespace kith::cuda
