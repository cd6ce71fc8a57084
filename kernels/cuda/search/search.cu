// The nearest rows of each query: in the tree of boxes where the rows have few columns or structure (tree.h); in
// cells of rows where they are in a few dense clusters (cells.h); else on the tensor cores if possible
// (fp16_search.h); otherwise, and for queries whose lists those two could not complete, by the float32 screen
// (float32_search.h).
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/neighbors/merge_lists.h"
#include "kernels/cuda/search/cells.h"
#include "kernels/cuda/search/float32_scores.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {
namespace {

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

/// Whether all lists are empty, so that a search has no entries to keep or to merge.
bool is_unfilled(const NeighborLists& lists) {
  for (std::int64_t i = 0; i < lists.index.rows(); ++i) {
    if (lists.index(i, 0) >= 0) return false;
  }
  return true;
}

void copy_entries(const NeighborLists& from, NeighborLists& to) {
  std::copy_n(from.distance.data(), from.distance.size(), to.distance.data());
  std::copy_n(from.index.data(), from.index.size(), to.index.data());
}

/// Merges lists of other rows.
void merge(const NeighborLists& from, NeighborLists& to) {
  std::vector<Neighbor> merged;
  for (std::int64_t q = 0; q < to.index.rows(); ++q) merge_list(to, q, from, q, -1, merged);
  to.products += from.products;
  to.candidates += from.candidates;
  to.fallback_queries += from.fallback_queries;
}

/// Fills unfilled lists without the tree. May throw OutOfMemory when some lists are filled.
template <class T>
void search_products(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const auto search_all = [&](const Queries& all, NeighborLists& out) {
    search_float32(held, all, {{0, all.values.rows}}, out);
  };
  if (!can_search_fp16(held, queries.measure, lists.index.columns())) return search_all(queries, lists);
  std::vector<std::int64_t> fallback;
  try {
    fallback = search_fp16(held, queries, lists);
  } catch (const OutOfMemory&) {  // thrown before a list is filled; the float32 search needs less memory
    return search_all(queries, lists);
  }
  lists.fallback_queries += std::ssize(fallback);
  search_gathered(queries, fallback, lists, search_all);
}

/// Completes the lists of fallback queries of a search in the tree or in cells.
template <class T>
void search_fallback(const HeldRows<T>& held, const Queries& queries, const std::vector<std::int64_t>& fallback,
                     NeighborLists& lists) {
  lists.fallback_queries += std::ssize(fallback);
  search_gathered(queries, fallback, lists,
                  [&](const Queries& gathered, NeighborLists& found) { search_products(held, gathered, found); });
}

}  // namespace

template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const std::int64_t q = queries.values.rows, k = lists.distance.columns();
  if (q == 0 || k == 0) return;
  const bool unfilled = is_unfilled(lists);
  NeighborLists initial(unfilled ? 0 : q, k);
  if (!unfilled) copy_entries(lists, initial);
  try {
    const SearchMethod method = choose_search(held, queries, k, q);
    const auto search_unfilled = [&](NeighborLists& out) {
      if (method != SearchMethod::cells) return search_products(held, queries, out);
      search_fallback(held, queries, search_cells(held, queries, out), out);
    };
    if (method == SearchMethod::tree) {
      search_fallback(held, queries, search_tree(held, queries, unfilled, lists), lists);
    } else if (unfilled) {
      search_unfilled(lists);
    } else if (method == SearchMethod::cells || can_search_fp16(held, queries.measure, k)) {
      NeighborLists found(q, k);
      search_unfilled(found);
      merge(found, lists);
    } else {
      search_float32(held, queries, {{0, q}}, lists);
    }
  } catch (const OutOfMemory&) {  // the caller frees memory and searches again
    lists = unfilled ? NeighborLists(q, k) : std::move(initial);
    throw;
  }
}

#define KITH_INSTANTIATE(T) template void search(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
