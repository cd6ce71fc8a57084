// The k nearest rows of a stream, ordered by (D, row).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/points/backend.h"

namespace kith::cpu {

/// Keeps up to 2 k + 64 rows between selections, so that adding one takes constant time on average.
class NearestList {
 public:
  explicit NearestList(std::int64_t k) : k_(k) {}

  void add(Neighbor neighbor) {
    if (!(neighbor < kth_score_)) return;
    kept_.push_back(neighbor);
    if (static_cast<std::int64_t>(kept_.size()) >= 2 * k_ + 64) select();
  }
  void add(const NearestList& other) {
    for (const Neighbor& neighbor : other.kept_) add(neighbor);
  }
  /// At most k rows, in order.
  const std::vector<Neighbor>& sorted() {
    select();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  void select() {
    if (static_cast<std::int64_t>(kept_.size()) <= k_) return;
    std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end());
    kept_.resize(k_);
    kth_score_ = kept_[k_ - 1];
  }

  std::int64_t k_;
  Neighbor kth_score_{std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()};
  std::vector<Neighbor> kept_;
};

/// Writes the list of query q.
inline void store(NearestList& nearest, std::int64_t q, NeighborLists& lists) {
  std::int64_t place = 0;
  for (const Neighbor& neighbor : nearest.sorted()) {
    lists.distance(q, place) = neighbor.distance;
    lists.index(q, place++) = neighbor.row;
  }
}

}  // namespace kith::cpu
