// The rows with the largest kept distances.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/points/point_set.h"

namespace kith {

/// The `count` rows with the largest distance among those added; ties: the lowest row. At most n log(count).
class FarthestRows {
 public:
  explicit FarthestRows(std::int64_t count) : count_(static_cast<std::size_t>(count)) {}
  void add(const FarRow& row) {
    if (kept_.size() == count_) {
      if (count_ == 0 || !is_farther(row, kept_.front())) return;
      std::pop_heap(kept_.begin(), kept_.end(), is_farther);
      kept_.pop_back();
    }
    kept_.push_back(row);
    std::push_heap(kept_.begin(), kept_.end(), is_farther);
  }
  /// By (distance descending, row ascending). Leaves nothing.
  std::vector<FarRow> take() {
    std::sort_heap(kept_.begin(), kept_.end(), is_farther);
    return std::exchange(kept_, {});
  }

 private:
  static bool is_farther(const FarRow& a, const FarRow& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  }

  std::size_t count_;
  std::vector<FarRow> kept_;  // a heap; the nearest of them is in front
};

}  // namespace kith
