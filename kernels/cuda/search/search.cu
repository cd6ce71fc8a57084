// The nearest rows of each query: on the tensor cores if possible (fp16_search.h), otherwise, and for the queries whose
// lists fp16 could not complete, by the float32 screen (float32_search.h).
#include <vector>

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

}  // namespace

template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const std::int64_t q = queries.values.rows, k = lists.distance.columns();
  if (q == 0 || k == 0) return;
  if (!is_unfilled(lists) || !can_search_fp16(held, queries.measure, k)) {
    return search_float32(held, queries, {{0, q}}, lists);
  }
  std::vector<std::int64_t> fallback;
  try {
    fallback = search_fp16(held, queries, lists);
  } catch (const OutOfMemory&) {  // thrown before a list is filled; the float32 search needs less memory
    return search_float32(held, queries, {{0, q}}, lists);
  }
  lists.fallback_queries += static_cast<std::int64_t>(fallback.size());
  if (fallback.empty()) return;
  try {
    search_float32(held, queries, ranges_of(fallback), lists);
  } catch (const OutOfMemory&) {  // the caller frees memory and searches again
    lists = NeighborLists(q, k);
    throw;
  }
}

#define KITH_INSTANTIATE(T) template void search(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
