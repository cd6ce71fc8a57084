// For every centroid, the other centroids sorted by their distance from it; and rows by the centroid that is their
// guess of the nearest one.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// A centroid of a list, with a lower bound of its distance.
struct alignas(8) ListedCentroid {
  float distance;
  std::int32_t column;
};

/// The lists on the device.
struct CentroidListsView {
  const ListedCentroid* entries;  // (clusters, length), each nearest first
  std::int64_t length;
  bool complete;  // whether a list contains all other centroids; otherwise the nearest ones
};

class CentroidLists {
 public:
  CentroidLists() = default;
  /// Lists for `clusters` centroids, at least 2.
  CentroidLists(Pool& pool, std::int64_t clusters);

  /// Makes the lists of centroids (clusters, d) on the device; distances are in units of 1 / unit. Does not wait.
  void make(const Context& context, const double* centroids, std::int64_t d, double unit);

  CentroidListsView view() const { return {entries_.data(), length_, length_ == clusters_ - 1}; }
  /// The number of distances that make() computes, for a cost model.
  static double distances(std::int64_t clusters) {
    return static_cast<double>(clusters) * static_cast<double>(clusters);
  }

 private:
  std::int64_t clusters_ = 0, length_ = 0;
  Buffer<ListedCentroid> entries_;
  Buffer<float> distance_;  // (rows of a batch, clusters)
};

/// The label as a guess of the nearest centroid; centroid 0 if it is missing or out of range.
__device__ inline std::int32_t guess_of(std::int32_t label, std::int64_t clusters) {
  return label >= 0 && label < clusters ? label : 0;
}

/// Rows sorted by the centroid that they are expected to be nearest to, so that neighbouring warps read the same
/// centroids.
class RowsByGuess {
 public:
  RowsByGuess() = default;
  /// Allocates for up to `rows` rows.
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

/// A guess is merged with those that are up to this many times as far from it as the nearest.
inline constexpr float kMergedDistance = 1.5F;

/// Guesses near each other that share one list of the local screen: fewer lists are rounded, and tiles are fuller. In
/// many dimensions all centroids of a dense part are about equally far from each other and from its rows, so that
/// another of them serves a row as well as its own guess.
class MergedGuesses {
 public:
  MergedGuesses() = default;
  MergedGuesses(Pool& pool, std::int64_t clusters) : clusters_(clusters), standing_(pool, clusters) {}

  /// (clusters) The guess that stands for each: the lowest of those that it is merged with. lists: the same in every
  /// call. Does not wait.
  const std::int32_t* standing(const Context& context, const CentroidListsView& lists);
  /// Replaces the labels of chosen rows by the guesses that stand for them. Does not wait.
  void replace(const Context& context, const CentroidListsView& lists, const RowChoice& rows, std::int32_t* label);

 private:
  std::int64_t clusters_ = 0;
  bool known_ = false;
  Buffer<std::int32_t> standing_;
};

}  // namespace kith::cuda
