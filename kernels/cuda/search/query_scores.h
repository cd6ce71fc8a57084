// Scores of a batch of queries against a piece of the rows, and distances of what the scores leave: by a float32
// screen, or, by measures that it does not know, by the definition rounded down to float32.
#pragma once

#include <cstdint>

#include "core/measure.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/float32_rows.h"
#include "kernels/cuda/search/search_lists.h"

namespace kith::cuda {

/// How much is scored at a time.
struct ScoreSizes {
  std::int64_t rows = 0;        // of a piece
  std::int64_t pitch = 0;       // of its scores: rows up to whole tiles
  std::int64_t queries = 0;     // of a batch
  std::int64_t candidates = 0;  // at least one query's
};
/// For `rows` rows against `queries` queries, which take so many bytes each besides their scores.
ScoreSizes score_sizes(std::int64_t rows, std::int64_t queries, std::int64_t spare_bytes, std::int64_t query_bytes,
                       std::int64_t candidate_bytes);

/// Queries on the device.
struct QueryBatch {
  const double* values = nullptr;  // (queries, d)
  std::int64_t queries = 0;
  Measure measure = Measure::squared_euclidean;
  const ScreenedCopies* screened = nullptr;  // of them
};

/// Screens the queries as their measure asks; norms are 0 where scores are exact but for their rounding.
template <class T>
void screen_queries(const HeldRows<T>& held, const QueryBatch& batch, ScreenedCopies& out);

/// The margin of the scores: of two rows of a query, one whose score is higher by more than at(norm of the query) is
/// truly farther.
template <class T>
ScreenMargin score_margin(const HeldRows<T>& held, Measure measure);

/// Fills the scores of a block, and the smallest of each group. values: (block.rows, d) on the device, of which row 0
/// is at position `first` of the held rows.
template <class T>
void score_rows(const HeldRows<T>& held, const QueryBatch& batch, const T* values, std::int64_t first,
                const ScoreBlock& block);

/// Rows and queries of `count` pairs, as positions.
struct QueryPairs {
  const std::int32_t* row = nullptr;
  const std::int32_t* query = nullptr;
  std::int64_t count = 0;
};
/// distances (count) = D of every pair. The rows are gathered: n d values for n pairs.
template <class T>
void measure_pairs(const HeldRows<T>& held, const QueryBatch& batch, const T* values, const QueryPairs& pairs,
                   double* distances);

}  // namespace kith::cuda
