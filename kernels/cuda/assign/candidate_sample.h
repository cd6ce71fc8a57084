// How many centroids the triangle inequality leaves to rows, measured on a sample of them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// The numbers of candidates of some rows.
struct Candidates {
  double mean = 0.0;
  std::int64_t usual = 0;            // nine rows in ten have at most as many
  double guesses = 0.0;              // estimate of the number of different guesses
  std::vector<std::int32_t> counts;  // of the sampled rows, in ascending order

  std::int64_t most() const { return counts.empty() ? 0 : counts.back(); }
  /// The candidates of those rows that have more than `most`, per row.
  double beyond(std::int64_t most) const;
};

/// Those of a sample of rows with their own guesses, and with guesses that are merged (PrunedRows::merged).
struct CandidateSample {
  Candidates own, merged;
};

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
