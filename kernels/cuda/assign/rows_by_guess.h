// Sorts rows by the centroid that they are expected to be nearest to, so that neighbouring warps read the same
// centroids.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// The label as a guess of the nearest centroid; centroid 0 if it is missing or out of range.
__device__ inline std::int32_t guess_of(std::int32_t label, std::int64_t clusters) {
  return label >= 0 && label < clusters ? label : 0;
}

class RowsByGuess {
 public:
  RowsByGuess() = default;
  /// For up to `rows` rows.
  RowsByGuess(Pool& pool, std::int64_t rows, std::int64_t clusters)
      : clusters_(clusters), order_(pool, rows), next_(pool, clusters) {}

  /// Sorts the indices of the chosen rows by guess_of(label[position]). The order of equal guesses may vary. Queues
  /// only.
  void sort(const Context& context, const RowChoice& rows, const std::int32_t* label);
  const std::int32_t* order() const { return order_.data(); }  // indices in the choice
  const std::uint32_t* ends() const { return next_.data(); }   // (clusters) behind the last row of each guess

 private:
  std::int64_t clusters_ = 0;
  Buffer<std::int32_t> order_;
  Buffer<std::uint32_t> next_;  // (clusters) number of rows of each guess, then the position of its next row
};

}  // namespace kith::cuda
