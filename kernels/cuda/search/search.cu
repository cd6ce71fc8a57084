// The nearest rows of each query: in the tree of boxes where the rows have few columns or structure (cell_search.h);
// else on the tensor cores if possible (fp16_search.h); otherwise, and for queries whose lists those two could not
// complete, by the float32 screen (float32_search.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/search/cell_search.h"
#include "kernels/cuda/search/float32_search.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/operations.h"

namespace kith::cuda {
namespace {

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

/// The lists by the fastest method. Returns the fallback queries, whose lists do not change. Throws OutOfMemory, before
/// it changes a list.
template <class T>
std::vector<std::int64_t> search_fast(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists,
                                      bool unfilled) {
  if (prefers_cells(held, queries, lists.index.columns())) return search_cells(held, queries, lists);
  if (unfilled && can_search_fp16(held, queries.measure, lists.index.columns())) {
    const std::vector<std::int64_t> fallback = search_fp16(held, queries, lists);
    if (fallback.empty()) return {};
    try {
      return search_long_queries(held, queries, fallback, lists);
    } catch (const OutOfMemory&) {
      return fallback;
    }
  }
  search_float32(held, queries, {{0, queries.values.rows}}, lists);
  return {};
}

}  // namespace

template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const std::int64_t q = queries.values.rows, k = lists.distance.columns();
  if (q == 0 || k == 0) return;
  const bool unfilled = is_unfilled(lists);
  NeighborLists initial(q, k);
  if (!unfilled) copy_entries(lists, initial);
  std::vector<std::int64_t> fallback;
  try {
    fallback = search_fast(held, queries, lists, unfilled);
  } catch (const OutOfMemory&) {  // the float32 search needs less memory
    return search_float32(held, queries, {{0, q}}, lists);
  }
  lists.fallback_queries += static_cast<std::int64_t>(fallback.size());
  if (fallback.empty()) return;
  try {
    search_float32(held, queries, ranges_of(fallback), lists);
  } catch (const OutOfMemory&) {  // the caller frees memory and searches again
    lists = std::move(initial);
    throw;
  }
}

#define KITH_INSTANTIATE(T) template void search(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
