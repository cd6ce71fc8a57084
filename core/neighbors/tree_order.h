// The order of columns in a depth-first traversal of the tree of additions of the definition.
//
// The tree of core/numbers/distance.h adds lane l + w to lane l for w = 16, 8, 4, 2, 1. A depth-first traversal needs
// six partial sums at a time rather than thirty-two, so one thread, or one lane of a vector, keeps several distances in
// registers. Rows packed in this order are read sequentially.
#pragma once

#include <cstdint>
#include <vector>

#include "core/numbers/distance.h"

namespace kith {

/// Appends the columns of lane `lane` and, recursively, of the lanes that the tree adds to it from step `width` on.
inline void append_tree_order(std::int64_t lane, std::int64_t width, std::int64_t d, std::vector<std::int32_t>& order) {
  if (lane >= d) return;
  if (width == kLanes) {
    for (std::int64_t j = lane; j < d; j += kLanes) order.push_back(static_cast<std::int32_t>(j));
    return;
  }
  append_tree_order(lane, 2 * width, d, order);
  append_tree_order(lane + width, 2 * width, d, order);
}

/// A permutation of the d columns.
inline std::vector<std::int32_t> tree_order(std::int64_t d) {
  std::vector<std::int32_t> order;
  append_tree_order(0, 1, d, order);
  return order;
}

}  // namespace kith
