// The steps of the float32 search between scores and lists: a limit for the scores of each query, the candidates up to
// it, and the merge of measured candidates into the lists. One thread block per query throughout.
#pragma once

#include <cstdint>

#include "core/numbers/screen.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/search/device_lists.h"

namespace kith::cuda {

inline constexpr int kGroupColumns = kWarpColumns;  // scores per group minimum

/// Scores of some queries against a slice of the rows.
struct ScoreBlock {
  float* scores = nullptr;     // (queries, pitch); columns from `rows` on hold +inf
  float* group_min = nullptr;  // (queries, pitch / kGroupColumns) the smallest score of each group of columns
  std::int64_t pitch = 0;      // a multiple of the tile's columns
  std::int64_t rows = 0;
  std::int64_t queries = 0;
  std::int64_t excluded = -1;  // if has_excluded: query i excludes column excluded + i
  bool has_excluded = false;

  __host__ __device__ std::int64_t groups() const { return pitch / kGroupColumns; }
};

/// Candidates of consecutive queries; those of query q are at offset[q] .. offset[q + 1] - 1.
struct CandidateList {
  std::int32_t* row = nullptr;    // position in the slice, ascending per query
  std::int32_t* query = nullptr;  // position in the batch
  const std::int64_t* offset = nullptr;
};

/// Sets bound[q] to a score that at least `neighbors` rows so far do not exceed, and limit[q] = bound[q] + margin.
struct LimitRequest {
  std::int64_t neighbors = 0;
  ScreenMargin margin;
  const float* norm = nullptr;  // (queries) |x^|
  float* bound = nullptr;       // (queries) in, unless first_slice, and out
  float* limit = nullptr;       // (queries) out
  bool first_slice = true;
};

void find_limits(const Stream& stream, const ScoreBlock& block, const LimitRequest& request);

/// counts[q] = number of candidates of query q in the slice: rows whose score is not above the limit.
void count_candidates(const Stream& stream, const ScoreBlock& block, const float* limit, std::int64_t* counts);

/// Lists the candidates of queries first .. first + count - 1.
void list_candidates(const Stream& stream, const ScoreBlock& block, const float* limit, std::int64_t first,
                     std::int64_t count, const CandidateList& list);

/// New neighbours of some queries, sorted by (distance, row); those of query q are at offset[q] .. offset[q + 1] - 1.
struct NewNeighbors {
  const double* distance = nullptr;
  const std::int32_t* row = nullptr;
  const std::int64_t* offset = nullptr;
  std::int64_t first_row = 0;  // row number of position 0
};

/// to = the `neighbors` smallest of `from` and `added`, for queries first .. first + count - 1.
void merge_lists(const Stream& stream, const DeviceLists& from, const DeviceLists& to, std::int64_t neighbors,
                 const NewNeighbors& added, std::int64_t first, std::int64_t count);

}  // namespace kith::cuda
