// The k nearest of a stream of rows, ordered by (D, row).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/backend.h"

namespace kith::cpu {

/// Keeps up to twice k rows between clean-ups, so that adding one costs constant time on average.
class NearestList {
 public:
  explicit NearestList(std::int64_t k) : k_(k) {}

  void add(Neighbor neighbor) {
    if (!(neighbor < worst_)) return;
    kept_.push_back(neighbor);
    if (static_cast<std::int64_t>(kept_.size()) >= 2 * k_ + 64) tighten();
  }
  void add(const NearestList& other) {
    for (const Neighbor& neighbor : other.kept_) add(neighbor);
  }
  /// At most k rows, in order.
  const std::vector<Neighbor>& sorted() {
    tighten();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  void tighten() {
    if (static_cast<std::int64_t>(kept_.size()) <= k_) return;
    std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end());
    kept_.resize(k_);
    worst_ = kept_[k_ - 1];
  }

  std::int64_t k_;
  Neighbor worst_{std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()};
  std::vector<Neighbor> kept_;
};

/// The list of query q, from its first place on.
inline void store(NearestList& nearest, std::int64_t q, NeighborLists& lists) {
  std::int64_t place = 0;
  for (const Neighbor& neighbor : nearest.sorted()) {
    lists.distance(q, place) = neighbor.distance;
    lists.index(q, place++) = neighbor.row;
  }
}

}  // namespace kith::cpu
