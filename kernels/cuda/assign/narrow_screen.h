// The float32 screen for rows of few columns: a thread keeps whole rows in registers.
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

/// The screening pass over the first rows.rows rows of a block, of up to kMostNarrowColumns columns. Sets
/// nearest[position] of decided rows and appends the others to `ambiguous`; all are ambiguous if scores may leave the
/// range of float32. Requires screen.prepare(). Queues only.
template <class T>
void screen_narrow(const HeldRows<T>& held, const Float32Screen& screen, const PointOperand<T>& rows,
                   std::int32_t* nearest, const AmbiguousRows& ambiguous);

}  // namespace kith::cuda
