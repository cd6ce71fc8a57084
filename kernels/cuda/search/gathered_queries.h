// Some of the queries of a search, searched once more together: those that another method could not complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/points/points.h"

namespace kith::cuda {

/// Merges list i of `from` into list q of `to`, which is not longer. own: a row that is left out; -1: none. merged:
/// memory that is used again.
inline void merge_list(const NeighborLists& from, std::int64_t i, std::int64_t own, NeighborLists& to, std::int64_t q,
                       std::vector<Neighbor>& merged) {
  const auto entry = [](const NeighborLists& lists, std::int64_t list, std::int64_t at) {
    const bool exists = at < lists.index.columns() && lists.index(list, at) >= 0;
    return exists ? Neighbor{lists.distance(list, at), lists.index(list, at)} : Neighbor{0.0, -1};
  };
  const std::int64_t k = to.index.columns();
  if (to.index(q, 0) < 0) {
    for (std::int64_t at = 0, b = 0; at < k && b < from.index.columns(); ++b) {
      if (own >= 0 && from.index(i, b) == own) continue;
      to.distance(q, at) = from.distance(i, b);
      to.index(q, at++) = from.index(i, b);
    }
    return;
  }
  merged.clear();
  for (std::int64_t a = 0, b = 0; std::ssize(merged) < k;) {
    const Neighbor kept = entry(to, q, a), added = entry(from, i, b);
    if (kept.row < 0 && added.row < 0) break;
    if (added.row < 0 || (kept.row >= 0 && kept < added)) {
      merged.push_back(kept);
      ++a;
    } else {
      if (added.row != own) merged.push_back(added);
      ++b;
    }
  }
  for (std::size_t j = 0; j < merged.size(); ++j) {
    to.distance(q, static_cast<std::int64_t>(j)) = merged[j].distance;
    to.index(q, static_cast<std::int64_t>(j)) = merged[j].row;
  }
}

/// Merges the nearest rows of the queries at positions `chosen` into their lists. search(queries, lists): fills
/// unfilled lists. The chosen queries are not consecutive rows of the base, so that each finds itself if it is one, and
/// is then excluded from a list that is longer by one.
template <class Search>
void search_gathered(const Queries& queries, const std::vector<std::int64_t>& chosen, NeighborLists& lists,
                     const Search& search) {
  if (chosen.empty()) return;
  const std::int64_t count = std::ssize(chosen), k = lists.index.columns();
  const bool excludes = queries.excluded_row >= 0;
  Matrix<double> values(count, queries.values.columns);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = queries.values.row(chosen[static_cast<std::size_t>(i)]);
    std::copy(from.begin(), from.end(), values.row(i).begin());
  }
  NeighborLists found(count, k + (excludes ? 1 : 0));
  search(Queries{std::as_const(values).view(), -1, queries.measure, queries.working_bytes}, found);
  lists.candidates += found.candidates;
  std::vector<Neighbor> merged;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t q = chosen[static_cast<std::size_t>(i)];
    merge_list(found, i, excludes ? queries.excluded_row + q : -1, lists, q, merged);
  }
}

}  // namespace kith::cuda
