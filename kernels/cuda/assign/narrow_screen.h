// The float32 screen of rows of few columns: a thread keeps whole rows in registers, and no tile of products is made.
#pragma once

#include <cstdint>

#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/fp16_rows.h"

namespace kith::cuda {

/// Up to this many columns the screen below is the fastest against few centroids; up to kMostFloat32Columns, against
/// any number.
inline constexpr std::int64_t kMostNarrowColumns = 8;
inline bool narrow_is_best(std::int64_t columns, std::int64_t clusters) {
  constexpr std::int64_t kFewClusters = 128;
  return columns <= kMostFloat32Columns || (columns <= kMostNarrowColumns && clusters <= kFewClusters);
}

/// Queues the first look at the first rows.rows rows of a block, up to kMostNarrowColumns wide: nearest[position] where
/// it is decided, the others are listed in `ambiguous`, all where scores may leave the range of float32. `screen` has
/// been prepared.
template <class T>
void screen_narrow(const HeldRows<T>& held, const FloatScreen& screen, const PointOperand<T>& rows,
                   std::int32_t* nearest, const AmbiguousRows& ambiguous);

}  // namespace kith::cuda
