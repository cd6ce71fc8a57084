// For every centroid, the other centroids sorted by their distance from it.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"

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
  /// For `clusters` centroids, at least 2.
  CentroidLists(Pool& pool, std::int64_t clusters);

  /// Makes the lists of centroids (clusters, d) on the device; distances are in units of 1 / unit. Queues only.
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

}  // namespace kith::cuda
