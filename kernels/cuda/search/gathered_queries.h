// Some of the queries of a search, searched once more together: those that another method could not complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/neighbors/merge_lists.h"

namespace kith::cuda {

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
    merge_list(lists, q, found, i, excludes ? queries.excluded_row + q : -1, merged);
  }
}

}  // namespace kith::cuda
