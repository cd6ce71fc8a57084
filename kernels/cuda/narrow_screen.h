// The float32 screen of rows of few columns: a thread keeps whole rows in registers, and no tile of products is made.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/held_rows.h"
#include "kernels/cuda/recheck.h"

namespace kith::cuda {

/// Up to so many columns the screen below is the fastest against any number of centroids, and half rows are not made.
inline constexpr std::int64_t kNarrowColumns = 4;
/// Up to so many it is against few centroids.
inline constexpr std::int64_t kMostNarrowColumns = 8;
inline bool narrow_is_best(std::int64_t columns, std::int64_t clusters) {
  constexpr std::int64_t kFewClusters = 128;
  return columns <= kNarrowColumns || (columns <= kMostNarrowColumns && clusters <= kFewClusters);
}

/// Centroids as the float32 screen sees them, and what is known of their scores.
struct NarrowColumns {
  ScreenedOperand rows;    // (k, pitch)
  const float* half_norm;  // (k)
  ScreenMargin margin;
  LargestNorms largest;  // of the centroids
};

/// Nearest column of all `rows`, up to kMostNarrowColumns wide: nearest[position] where it is decided, the others are
/// listed in `undecided`. Queues only. False, with nothing done, when scores may leave the range of float32.
template <class T>
bool screen_narrow(const HeldRows<T>& held, const PointOperand<T>& rows, const NarrowColumns& columns,
                   std::int32_t* nearest, const Undecided& undecided);

}  // namespace kith::cuda
