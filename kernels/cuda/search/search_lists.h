// What the neighbour search does per query between the screen and the finished lists: a limit for candidates, the
// candidates themselves, and merging them into the lists. One block of threads per query throughout.
#pragma once

#include <cstdint>

#include "core/screen.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

inline constexpr int kGroupColumns = kWarpColumns;  // scores per minimum

/// Screened scores of some queries against a piece of the rows.
struct ScoreBlock {
  float* scores = nullptr;    // (queries, pitch); columns from `rows` on hold +inf
  float* smallest = nullptr;  // (queries, pitch / kGroupColumns) of each group of columns
  std::int64_t pitch = 0;     // a multiple of the tile's columns
  std::int64_t rows = 0;
  std::int64_t queries = 0;
  std::int64_t excluded = -1;  // column that query 0 leaves out, query i leaves out `excluded` + i; see leaves_out
  bool leaves_out = false;

  __host__ __device__ std::int64_t groups() const { return pitch / kGroupColumns; }
};

/// A list per query, ordered by (distance, index); unfilled places hold (+inf, -1).
struct DeviceLists {
  double* distance = nullptr;     // (queries, k)
  std::int64_t* index = nullptr;  // (queries, k)
};

/// Candidates of consecutive queries, those of query q at offset[q] .. offset[q + 1] - 1.
struct CandidateList {
  std::int32_t* row = nullptr;    // position in the piece of the rows, ascending per query
  std::int32_t* query = nullptr;  // position in the batch
  const std::int64_t* offset = nullptr;
};

/// limit[q] = bound[q] + margin, where bound[q] becomes the smallest score so far that at least `neighbors` rows do not
/// exceed. first_piece: there is no bound yet.
struct LimitRequest {
  std::int64_t neighbors = 0;
  ScreenMargin margin;
  const float* norm = nullptr;  // (queries) |x^|
  float* bound = nullptr;       // (queries) in and out
  float* limit = nullptr;       // (queries) out
  bool first_piece = true;
};

void find_limits(const Stream& stream, const ScoreBlock& block, const LimitRequest& request);

/// counts[q] = rows of the piece that are candidates of query q: all but those with a score above its limit.
void count_candidates(const Stream& stream, const ScoreBlock& block, const float* limit, std::int64_t* counts);

/// Lists the candidates of queries first .. first + count - 1.
void list_candidates(const Stream& stream, const ScoreBlock& block, const float* limit, std::int64_t first,
                     std::int64_t count, const CandidateList& list);

/// Newly found rows of some queries, sorted by (distance, row); those of query q at offset[q] .. offset[q + 1] - 1.
struct FoundRows {
  const double* distance = nullptr;
  const std::int32_t* row = nullptr;
  const std::int64_t* offset = nullptr;
  std::int64_t first_row = 0;  // row number of position 0
};

/// to = the k smallest of `from` and the found rows, for queries first .. first + count - 1.
void merge_lists(const Stream& stream, const DeviceLists& from, const DeviceLists& to, std::int64_t neighbors,
                 const FoundRows& found, std::int64_t first, std::int64_t count);

}  // namespace kith::cuda
