// How many centroids the triangle inequality leaves to rows, measured on a sample of them.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/choice/assignment.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// Samples the chosen rows, with `nearest` as guesses. It overestimates, since the candidates of a row decrease as
/// nearer ones are found. values: of the block. Waits for the device.
template <class T>
CandidateSample sample_candidates(const HeldRows<T>& held, const T* values, const RowChoice& rows,
                                  const std::int32_t* nearest, const double* centroids, std::int64_t clusters);

/// The same where the lists of the centroids exist. standing: (clusters) of MergedGuesses.
template <class T>
CandidateSample sample_listed(const HeldRows<T>& held, const T* values, const RowChoice& rows,
                              const std::int32_t* nearest, const double* centroids, std::int64_t clusters,
                              const CentroidListsView& lists, const std::int32_t* standing);

}  // namespace kith::cuda
