// Lists of neighbours that are merged: each ascending by (D, row).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/points/points.h"

namespace kith {

/// Writes neighbours, ascending, as the first of the list of query q, which has at least so many places.
inline void set_list(const std::vector<Neighbor>& neighbors, std::int64_t q, NeighborLists& lists) {
  std::int64_t place = 0;
  for (const Neighbor& neighbor : neighbors) {
    lists.distance(q, place) = neighbor.distance;
    lists.index(q, place++) = neighbor.row;
  }
}

/// The same of the k nearest of neighbours in any order.
inline void set_nearest(std::vector<Neighbor>& neighbors, std::int64_t q, NeighborLists& lists) {
  const std::int64_t k = lists.index.columns();
  if (std::ssize(neighbors) > k) {
    std::nth_element(neighbors.begin(), neighbors.begin() + (k - 1), neighbors.end());
    neighbors.resize(static_cast<std::size_t>(k));
  }
  std::sort(neighbors.begin(), neighbors.end());
  set_list(neighbors, q, lists);
}

/// Merges `count` neighbours, ascending, into the list of query q. other(i): the i-th of them; if its row is negative,
/// it is left out. merged: memory that is used again.
template <class Other>
void merge_list(NeighborLists& lists, std::int64_t q, std::int64_t count, const Other& other,
                std::vector<Neighbor>& merged) {
  const std::int64_t k = lists.index.columns();
  std::int64_t own = 0;
  merged.clear();
  const auto take_own_before = [&](const Neighbor* theirs) {
    for (; own < k && lists.index(q, own) >= 0 && std::ssize(merged) < k; ++own) {
      const Neighbor mine{lists.distance(q, own), lists.index(q, own)};
      if (theirs != nullptr && !(mine < *theirs)) return;
      merged.push_back(mine);
    }
  };
  for (std::int64_t i = 0; i < count && std::ssize(merged) < k; ++i) {
    const Neighbor theirs = other(i);
    if (theirs.row < 0) continue;
    take_own_before(&theirs);
    if (std::ssize(merged) < k) merged.push_back(theirs);
  }
  take_own_before(nullptr);
  set_list(merged, q, lists);
}

/// Merges the list of query i of `from`, without the row `excluded` (-1: none).
inline void merge_list(NeighborLists& lists, std::int64_t q, const NeighborLists& from, std::int64_t i,
                       std::int64_t excluded, std::vector<Neighbor>& merged) {
  merge_list(
      lists, q, from.index.columns(),
      [&](std::int64_t at) {
        const std::int64_t row = from.index(i, at);
        return Neighbor{from.distance(i, at), row == excluded ? -1 : row};
      },
      merged);
}

}  // namespace kith
