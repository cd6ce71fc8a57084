// Decides few rows by their distances from all centroids: walks of the lists of pruned_assign.h, one distance after
// another, and tiles of products would leave most of the device idle.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/pruned_assign.h"

namespace kith::cuda {

/// nearest[position] = argmin of D, ties to the lowest, and the bounds, for all the rows. values: of their block.
/// distances: (1) on the device, ADDED to. False, and nothing is done, if the rows are not few or there is no memory.
/// Queues only.
template <class T>
bool decide_few_rows(const HeldRows<T>& held, const T* values, const double* centroids, std::int64_t clusters,
                     const PrunedRows& rows, Word* distances);

}  // namespace kith::cuda
