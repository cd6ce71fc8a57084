// The centroids near a centroid, nearest first, by lower bounds of their distances.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {

/// A centroid near the current one, and a lower bound of their squared distance in the scale of the screen.
struct NearCentroid {
  float squared;
  std::int32_t centroid;
  auto operator<=>(const NearCentroid&) const = default;
};

/// Lists the centroids near some others, on one thread.
template <class T>
class NearCentroids {
 public:
  /// columns: the centroids, packed for products in float32.
  NearCentroids(const HeldRows<T>& held, MatrixView<const double> centroids, const ScreenColumns& columns);

  /// The number of centroids that measure() takes at most.
  int group() const { return held_.set.float32.lanes; }
  /// Measures the distances between some centroids, of which each can then become the current one, and all centroids.
  void measure(std::span<const std::int64_t> some);
  /// Makes the centroid with this place among the measured ones the current one, and clears the list.
  void begin(int place);

  /// The number of centroids within a squared distance.
  std::int64_t count(float reach) const;
  /// Extends the list to all centroids within a squared distance.
  void extend(float reach);
  const std::vector<NearCentroid>& list() const { return list_; }
  /// All other centroids are farther than this, squared.
  float reach() const { return reach_; }

 private:
  const HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  const ScreenColumns& columns_;
  Matrix<std::byte> panel_;         // of the measured centroids
  Matrix<float> products_;          // (columns of a tile, lanes)
  Matrix<float> squared_;           // (lanes, k) lower bounds of the squared distances
  std::span<const float> current_;  // (k) of the current centroid
  std::vector<NearCentroid> list_;
  float reach_ = -1.0F;
};

}  // namespace kith::cpu
