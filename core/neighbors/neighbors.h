// Exact nearest neighbours by exhaustive search, ordered by (D, index), in blocks of queries.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/points/backend.h"
#include "core/points/communicator.h"
#include "core/points/observer.h"

namespace kith {

struct NeighborOptions {
  std::int64_t neighbors = 0;      // k, 1 .. candidates per query
  bool base_is_queries = false;    // search the neighbours of every row of the base
  bool include_self = false;       // with base_is_queries: keep each row in its own list
  std::int64_t block_queries = 0;  // queries per block; 0: chosen. Results do not depend on it.
  Measure measure = Measure::squared_euclidean;
  std::int64_t join_bytes = std::int64_t{1} << 30;  // host memory for a join, or for a tree
  std::int64_t first_query = 0;                     // the sink receives the lists of queries from this one on
  bool soon = false;                                // blocks of a few seconds, so that the sink can keep finished lists
};

/// The memory of a block of queries: its lists, its values, and twice as many candidates as neighbours.
inline constexpr std::int64_t kQueryBlockBytes = std::int64_t{128} << 20;
inline std::int64_t bytes_per_query(std::int64_t neighbors, std::int64_t columns) {
  return 48 * neighbors + 2048 + 8 * columns;
}

/// Receives the finished lists of queries first_query, first_query + 1, ...
using NeighborSink = std::function<void(std::int64_t first_query, const NeighborLists&)>;

/// Copies queries first .. first + out.rows - 1 to out (rows, d) as float64.
void copy_queries(const PointsView& queries, std::int64_t first, MatrixView<double> out);

/// The largest magnitude of all values.
double largest_value(const PointsView& values);

/// Throws Error(data) if the numbers of columns differ, or if inner products could leave the range of float64.
void check_queries(const Points& base, const PointsView& queries, Measure measure);

/// The rows of a set in itself, for the lists that a join has left empty.
struct JoinedRows {
  std::int64_t first_row = 0;  // the number of the first row of all
  std::int64_t columns = 0;
  Shard own;  // the rows whose lists may be empty
  std::function<void(std::span<const std::int64_t> numbers, MatrixView<double> out)> copy;  // of rows of `own`
  std::function<void(const Queries&, NeighborLists&)> search;                               // among all rows
};
/// What completing lists took.
struct CompletedLists {
  std::int64_t queries = 0, candidates = 0;
};

/// Searches the rows whose lists (all rows, k) a join has left empty. Returns nothing, and does nothing, if there are
/// so many that searches of all rows are faster.
std::optional<CompletedLists> complete_join(const JoinedRows& rows, const SelfJoin& join, NeighborLists& lists);

/// Finds the nearest rows of `base` for every row of `queries` (n_q, d) and passes them to `sink` in order. Throws
/// Error(usage) if k exceeds the number of candidates, and what check_queries() throws.
void nearest_neighbors(const Points& base, PointsView queries, const NeighborOptions& options, const NeighborSink& sink,
                       Observer& observer);

}  // namespace kith
