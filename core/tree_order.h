// The columns of a row in the order in which a depth-first walk of the definition's tree of additions needs them.
//
// The tree of core/distance.h adds lane l + w to lane l for w = 16, 8, 4, 2, 1. Walked depth first it needs six numbers
// at a time in place of thirty-two, so that one thread, or one lane of a vector, has several distances in its
// registers; and rows packed in this order are read from front to back.
#pragma once

#include <cstdint>
#include <vector>

#include "core/distance.h"

namespace kith {

/// Appends the columns of lane `lane`, then of the lanes that join it after step `width` of the tree, and so on.
inline void append_tree_order(std::int64_t lane, std::int64_t width, std::int64_t d, std::vector<std::int32_t>& order) {
  if (lane >= d) return;
  if (width == kLanes) {
    for (std::int64_t j = lane; j < d; j += kLanes) order.push_back(static_cast<std::int32_t>(j));
    return;
  }
  append_tree_order(lane, 2 * width, d, order);
  append_tree_order(lane + width, 2 * width, d, order);
}

/// All d columns, each once.
inline std::vector<std::int32_t> tree_order(std::int64_t d) {
  std::vector<std::int32_t> order;
  append_tree_order(0, 1, d, order);
  return order;
}

}  // namespace kith
