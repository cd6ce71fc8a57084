// Decides few rows by their distances from all centroids: walks of the lists of pruned_assign.h, one distance after
// another, would leave most of the device idle.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/pruned_assign.h"

namespace kith::cuda {

/// Whether the distances of so many rows from all centroids take less time than a long walk.
inline bool are_few_rows(std::int64_t rows, std::int64_t clusters, std::int64_t columns) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;  // multiply-adds: 0.02 ms on an H100
  constexpr std::int64_t kMostRows = 512;                // more fill the device with their walks
  return rows <= kMostRows && rows * clusters * columns <= kMost;
}

/// nearest[position] = argmin of D, ties to the lowest, and the bounds, for all the rows. values: of their block.
/// distances: (1) on the device, ADDED to. Throws OutOfMemory. Queues only.
template <class T>
void decide_few_rows(const HeldRows<T>& held, const T* values, const double* centroids, std::int64_t clusters,
                     const PrunedRows& rows, Word* distances);

}  // namespace kith::cuda
