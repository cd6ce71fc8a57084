// Lists of more than a few neighbours: groups of base rows that may have one of a query's are multiplied with all
// queries that want them, together.
#pragma once

#include <cstdint>

#include "kernels/cuda/half_lists.h"

namespace kith::cuda {

/// Device memory for the pairs of a query and a group of up to `queries` queries.
struct PairRoom {
  PairRoom() = default;
  PairRoom(Pool& pool, const GroupMinima& minima, std::int64_t queries, std::int64_t neighbors, const Stream& stream);

  std::int64_t capacity = 0;    // groups of a query
  std::int64_t groups = 0;      // of the base
  Buffer<int2> pair;            // (queries, capacity) group, and its place among those of its group
  Buffer<std::int32_t> order;   // (queries x capacity) queries by group
  Buffer<std::uint32_t> count;  // (groups + 1), then with those of the groups before, where each begins in `order`
  Buffer<std::uint32_t> begin;  // (groups + 1)
  Buffer<std::byte> temporary;  // of the sum
  std::size_t temporary_bytes = 0;
};

/// Bytes of a query in it.
std::int64_t pair_bytes(std::int64_t neighbors);

/// Whether that takes less than to multiply each group with one query alone.
bool brings_together(std::int64_t rows, std::int64_t queries, std::int64_t neighbors);

/// Lists the rows within the limits, which find_limits has found. A query with more groups than there is room for gets
/// a negative limit and no rows. Queues only.
template <class T>
void list_in_groups(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                    const PairRoom& room, float* limit, const RowLists& lists);

}  // namespace kith::cuda
