// Searches among many equal rows: only those with the lowest numbers can be neighbours.
//
// All copies of a row are at the same D from a query, and ties go to the lowest rows. So a list of k neighbours has
// none of a row that follows k copies of itself. Data with few different values, such as counts in few columns, are
// searched as the few rows that remain.
#pragma once

#include <memory>

#include "core/points/point_neighbors.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// The rows that follow fewer than `copies` copies of themselves, in their order.
template <class T>
struct FirstCopies {
  std::int64_t copies;
  Matrix<T> values;
  std::vector<std::int64_t> number;  // positions in the held rows
  HeldRows<T> rows;                  // of the values, numbered from 0
};

/// The first copies for a search of the `copies` nearest rows, if a sample says that they are few and the searches so
/// far would have saved the time to find them; else null. They stay in held.copies.
template <class T>
std::shared_ptr<const FirstCopies<T>> first_copies_for(const HeldRows<T>& held, const Queries& queries,
                                                       std::int64_t copies);

/// Merges the nearest of the held rows into the lists. search(rows, queries, lists): a search of the first copies.
template <class T, class Search>
void search_first_copies(const HeldRows<T>& held, const FirstCopies<T>& first, const Queries& queries,
                         NeighborLists& lists, const Search& search) {
  const std::int64_t count = queries.values.rows, k = lists.index.columns();
  const bool excludes = queries.excluded_row >= 0;
  NeighborLists among(count, k + (excludes ? 1 : 0));
  Queries all = queries;
  all.excluded_row = -1;  // a query may be a copy that is left out
  search(first.rows, all, among);
  lists.products += among.products;
  lists.candidates += among.candidates;
  lists.fallback_queries += among.fallback_queries;
  constexpr std::int64_t kQueriesPerTask = 256;
  held.threads.run(ceil_div(count, kQueriesPerTask), [&](std::int64_t task, int) {
    std::vector<Neighbor> merged;
    for (std::int64_t q = task * kQueriesPerTask; q < std::min((task + 1) * kQueriesPerTask, count); ++q) {
      merged.clear();
      for (std::int64_t i = 0; i < k && lists.index(q, i) >= 0; ++i)
        merged.push_back({lists.distance(q, i), lists.index(q, i)});
      const auto middle = std::ssize(merged);
      for (std::int64_t i = 0; i < among.index.columns() && among.index(q, i) >= 0; ++i) {
        const std::int64_t row = held.first_row + first.number[among.index(q, i)];
        if (!excludes || row != queries.excluded_row + q) merged.push_back({among.distance(q, i), row});
      }
      std::inplace_merge(merged.begin(), merged.begin() + middle, merged.end());
      for (std::int64_t i = 0; i < std::min(k, std::ssize(merged)); ++i) {
        lists.distance(q, i) = merged[i].distance;
        lists.index(q, i) = merged[i].row;
      }
    }
  });
}

}  // namespace kith::cpu
