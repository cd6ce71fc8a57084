// Decides ambiguous rows of few columns by their distances to all of a few centroids; no candidates are listed.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/count.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

inline constexpr std::int64_t kMostAmongAllColumns = 8;

/// Whether this costs less than finding candidates first.
inline bool few_pairs(std::int64_t columns, std::int64_t clusters) {
  constexpr std::int64_t kMostValues = 6144;  // of centroids, as float64 in a block's shared memory
  return columns <= kMostAmongAllColumns && clusters * columns <= kMostValues;
}

/// nearest[p] = argmin of D, ties to the lowest, over all centroids (k, d) for positions p = chosen[0 .. count - 1].
/// rows: of the block. Requires few_pairs(). Queues only.
template <class T>
void decide_among_all(const HeldRows<T>& held, const PointOperand<T>& rows, const std::int32_t* chosen, Count count,
                      const double* centroids, std::int64_t clusters, std::int32_t* nearest);

}  // namespace kith::cuda
