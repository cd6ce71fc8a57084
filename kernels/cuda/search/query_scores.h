// Scores of a batch of queries against a slice of the rows, and distances of candidates. Scores are those of the
// float32 screen for squared Euclidean distances, and distances by the definition, rounded down to float32, for other
// measures.
#pragma once

#include <cstdint>

#include "core/numbers/measure.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/float32_rows.h"
#include "kernels/cuda/search/candidate_lists.h"

namespace kith::cuda {

/// Sizes of the steps of a search.
struct ScoreSizes {
  std::int64_t rows = 0;        // of a slice
  std::int64_t pitch = 0;       // of its scores: rows rounded up to whole tiles
  std::int64_t queries = 0;     // of a batch
  std::int64_t candidates = 0;  // capacity, at least that of one query
};
/// Sizes for `rows` rows and `queries` queries. query_bytes: memory per query besides its scores.
ScoreSizes score_sizes(std::int64_t rows, std::int64_t queries, std::int64_t spare_bytes, std::int64_t query_bytes,
                       std::int64_t candidate_bytes);

/// Queries on the device.
struct QueryBatch {
  const double* values = nullptr;  // (queries, d)
  std::int64_t queries = 0;
  Measure measure = Measure::squared_euclidean;
  const ScreenedCopies* screened = nullptr;  // screened copies of the queries
};

/// Screens the queries for their measure. Sets norms to 0 if scores are distances by the definition.
template <class T>
void screen_queries(const HeldRows<T>& held, const QueryBatch& batch, ScreenedCopies& out);

/// The margin of the scores: a row whose score exceeds another's by more than at(norm of the query) is farther.
template <class T>
ScreenMargin score_margin(const HeldRows<T>& held, Measure measure);

/// Fills block.scores and block.group_min. values: (block.rows, d) on the device, the held rows from position `first`.
template <class T>
void score_rows(const HeldRows<T>& held, const QueryBatch& batch, const T* values, std::int64_t first,
                const ScoreBlock& block);

/// `count` pairs of a row and a query, as positions.
struct QueryPairs {
  const std::int32_t* row = nullptr;
  const std::int32_t* query = nullptr;
  std::int64_t count = 0;
};
/// distances (count) = D of each pair. Reads d values of a row per pair.
template <class T>
void measure_pairs(const HeldRows<T>& held, const QueryBatch& batch, const T* values, const QueryPairs& pairs,
                   double* distances);

}  // namespace kith::cuda
