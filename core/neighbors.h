// Exact nearest neighbours, ordered by (D, index): blocks of queries take turns, each list is complete when it returns.
#pragma once

#include <cstdint>
#include <functional>

#include "core/backend.h"
#include "core/observer.h"

namespace kith {

struct NeighborOptions {
  std::int64_t neighbors = 0;    // k, 1 .. candidates per query
  bool base_is_queries = false;  // the set against itself
  bool include_self = false;     // with base_is_queries: keep each row in its own list
  std::int64_t block_queries =
      0;  // queries per block; 0: chosen so that lists stay small. Answers do not depend on it.
  Measure measure = Measure::squared_euclidean;
  std::int64_t join_bytes = std::int64_t{1} << 30;  // of host memory, for looking at each pair once
};

/// What a block of queries takes while it is searched: its lists, its values, and candidates of twice their number.
inline constexpr std::int64_t kQueryBlockBytes = std::int64_t{128} << 20;
inline std::int64_t bytes_per_query(std::int64_t neighbors, std::int64_t columns) {
  return 48 * neighbors + 2048 + 8 * columns;
}

/// Receives finished lists: first query, D and row numbers of the block.
using NeighborSink = std::function<void(std::int64_t first_query, const NeighborLists&)>;

/// Rows first .. first + out.rows - 1 of the queries as float64.
void copy_queries(const PointsView& queries, std::int64_t first, MatrixView<double> out);

/// Throws Error(data) unless the queries are as wide as the base, and, by inner product, unless no product can leave
/// the range of float64.
void check_queries(const PointNeighbors& base, const PointsView& queries, Measure measure);

/// Searches `base` for every row of `queries` (n_q, d). Throws Error(usage) when k exceeds the rows that can be found,
/// and what check_queries throws.
void nearest_neighbors(const PointNeighbors& base, PointsView queries, const NeighborOptions& options,
                       const NeighborSink& sink, Observer& observer);

}  // namespace kith
