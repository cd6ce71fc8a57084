// The clusters that can be the nearest other cluster of a row: the others need no distances for its exact silhouette.
//
// With m the mean of a cluster's rows y and v the mean of |y - m|^2, the mean distance from a row x lies between |x -
// m| (the norm is convex) and sqrt(|x - m|^2 + v) (the square root is concave): J. L. W. V. Jensen: Sur les fonctions
// convexes et les inegalites entre les valeurs moyennes (1906). A cluster whose lower bound exceeds the upper bound of
// another cannot be the nearest. Costs two distances per row and cluster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/backend.h"
#include "core/scores/silhouette.h"

namespace kith {

class SilhouetteCandidates {
 public:
  /// request.means are the centres m; any points will do, means are best. scale: grid of the sums of distances.
  SilhouetteCandidates(const Points& points, const SilhouetteRequest& request, FixedScale scale);

  /// Whether the i-th scored row needs its distances to a cluster: its own, and those that can be the nearest.
  bool needs(std::int64_t i, std::int64_t cluster) const {
    return needed_[static_cast<std::size_t>(i * clusters_ + cluster)];
  }
  /// The indices of the scored rows, ordered so that rows that need distances to the same clusters are adjacent.
  const std::vector<std::int64_t>& order() const { return order_; }
  /// The share of the pairs (scored row, row) whose distances are needed.
  double share() const;
  /// The largest part of share() that tighter bounds could prune.
  double excess() const;

  /// Leaves fewer clusters to the i-th scored row. lower, upper: (k) bounds of the means of its distances, before their
  /// rounding to the grid; anything for clusters that are not needed.
  void refine(std::int64_t i, std::span<const double> lower, std::span<const double> upper);
  /// Orders a range of order() again, after refine().
  void sort(std::int64_t first, std::int64_t count);

 private:
  std::int64_t row_of(std::int64_t i) const { return request_.scored.empty() ? i : request_.scored[i]; }
  /// Upper and lower bounds of the mean as the sums of integers give it.
  double above(double mean) const { return mean * (1.0 + rounding_) + grid_; }
  double below(double mean) const { return mean * (1.0 - rounding_) - grid_; }
  std::vector<bool>::reference needed(std::int64_t i, std::int64_t cluster) {
    return needed_[static_cast<std::size_t>(i * clusters_ + cluster)];
  }

  const SilhouetteRequest& request_;
  std::int64_t rows_, clusters_;
  double rounding_;                     // relative: at least that of any sum here and in the silhouettes
  double grid_;                         // at least what rounding each distance to the grid changes in a mean
  std::vector<bool> needed_;            // (scored, k)
  std::vector<std::int32_t> probable_;  // (scored) the other cluster with the smallest upper bound
  std::vector<std::int64_t> order_;
};

}  // namespace kith
