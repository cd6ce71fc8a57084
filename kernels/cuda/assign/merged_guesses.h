// Guesses near each other that share one list of the local screen: fewer lists are rounded, and tiles are fuller.
//
// In many dimensions all centroids of a dense part are about equally far from each other and from its rows, so that
// another of them serves a row as well as its own guess.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// A guess is merged with those that are up to this many times as far from it as the nearest.
inline constexpr float kMergedDistance = 1.5F;

class MergedGuesses {
 public:
  MergedGuesses() = default;
  MergedGuesses(Pool& pool, std::int64_t clusters) : clusters_(clusters), standing_(pool, clusters) {}

  /// (clusters) The guess that stands for each: the lowest of those that it is merged with. lists: the same in every
  /// call. Queues only.
  const std::int32_t* standing(const Context& context, const CentroidListsView& lists);
  /// Replaces the labels of chosen rows by the guesses that stand for them. Queues only.
  void replace(const Context& context, const CentroidListsView& lists, const RowChoice& rows, std::int32_t* label);

 private:
  std::int64_t clusters_ = 0;
  bool known_ = false;
  Buffer<std::int32_t> standing_;
};

}  // namespace kith::cuda
