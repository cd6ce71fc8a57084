// Searches among many equal rows: only those with the lowest numbers can be neighbours.
//
// All copies of a row are at the same D from a query, and ties go to the lowest rows. So a list of k neighbours has
// none of a row that follows k copies of itself. Data with few different values, such as counts in few columns, are
// searched as the few rows that remain.
#pragma once

#include <memory>

#include "core/neighbors/merge_lists.h"
#include "core/points/points.h"
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

/// The first copies for lists of `copies` rows, which stay in held.first_copies; null if most rows are first copies or
/// memory is short.
template <class T>
std::shared_ptr<const FirstCopies<T>> find_first_copies(const HeldRows<T>& held, std::int64_t copies);

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
      merge_list(
          lists, q, among.index.columns(),
          [&](std::int64_t i) {
            const std::int64_t copy = among.index(q, i), row = copy < 0 ? -1 : held.first_row + first.number[copy];
            return Neighbor{among.distance(q, i), excludes && row == queries.excluded_row + q ? -1 : row};
          },
          merged);
    }
  });
}

}  // namespace kith::cpu
