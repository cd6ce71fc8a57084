// The steps of the float32 search, for batches of queries and slices of the rows: scores, a limit for the scores of
// each query, the candidates up to it, their distances, and the merge of measured candidates into the lists.
//
// Scores are those of the float32 screen for squared Euclidean distances, and distances by the definition, rounded down
// to float32, for other measures. Those of rows of bits are in search/bits.cu.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/numbers/distance.h"
#include "core/numbers/screen.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/search/device_lists.h"

namespace kith::cuda {

inline constexpr int kBlockColumns = kWarpColumns;  // scores per group minimum

/// Scores of some queries against a slice of the rows.
struct ScoreBlock {
  float* scores = nullptr;     // (queries, pitch); columns from `rows` on hold +inf
  float* group_min = nullptr;  // (queries, pitch / kBlockColumns) the smallest score of each group of columns
  std::int64_t pitch = 0;      // a multiple of the tile's columns
  std::int64_t rows = 0;
  std::int64_t queries = 0;
  std::int64_t excluded = -1;  // if has_excluded: query i excludes column excluded + i
  bool has_excluded = false;
  /// (queries) of score_bits(): scores of groups whose minimum is above it are not stored; null: all are.
  const float* stored_limit = nullptr;

  __host__ __device__ std::int64_t groups() const { return pitch / kBlockColumns; }
};

/// Candidates of consecutive queries; those of query q are at offset[q] .. offset[q + 1] - 1.
struct CandidateList {
  std::int32_t* row = nullptr;    // position in the slice, ascending per query
  std::int32_t* query = nullptr;  // position in the batch
  const std::int64_t* offset = nullptr;
};

/// Sets bound[q] to a score that at least `neighbors` rows so far do not exceed, and limit[q] = bound[q] + margin, or
/// leaves a limit that is lower.
struct LimitRequest {
  std::int64_t neighbors = 0;
  ScreenMargin margin;
  const float* norm = nullptr;  // (queries) |x^|
  float* bound = nullptr;       // (queries) in, unless first_slice, and out
  float* limit = nullptr;       // (queries) out
  bool first_slice = true;
  bool has_limit = false;  // whether there are limits already, of limit_by_lists()
};

/// Whether the rank-th smallest group minimum is a bound that is close to the rank-th smallest score.
__host__ __device__ inline bool takes_group_minima(std::int64_t rank, std::int64_t rows) {
  return rank * 4 <= (rows + kBlockColumns - 1) / kBlockColumns;
}

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

/// Sizes of the steps of a search.
struct ScoreSizes {
  std::int64_t rows = 0;        // of a slice
  std::int64_t pitch = 0;       // of its scores: rows rounded up to whole tiles
  std::int64_t queries = 0;     // of a batch
  std::int64_t candidates = 0;  // capacity, at least that of one query
};
/// Sizes for `rows` rows and `queries` queries. query_bytes: memory per query besides its scores. Most scores of bits
/// are not written, so that their slices and batches are larger.
ScoreSizes score_sizes(std::int64_t rows, std::int64_t queries, Measure measure, std::int64_t spare_bytes,
                       std::int64_t query_bytes, std::int64_t candidate_bytes);

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

// Of rows of bits, on GPUs that multiply them (search/bits.cu). Their numbers are exact in float32.

inline bool multiplies_bits(const Context& context, Measure measure, std::int64_t columns) {
  return is_of_bits(measure) && context.screen != ScreenPath::float32 && 8 * columns <= std::int64_t{1} << 24;
}
/// The packed queries, instead of screened ones, and the bits of each in place of half_sq_norm.
void pack_bit_queries(const Context& context, const double* queries, std::int64_t count, std::int64_t d,
                      ScreenedCopies& out);
/// score_rows() for queries that have been packed.
void score_bits(const HeldRows<std::uint8_t>& held, const QueryBatch& batch, const std::uint8_t* values,
                const ScoreBlock& block);
/// limit[q] of LimitRequest: no row from first_row on with a higher score enters list q.
void limit_by_lists(const Context& context, const DeviceLists& lists, std::int64_t neighbors, Measure measure,
                    std::int64_t columns, std::int64_t queries, std::int64_t first_row, float* limit);

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

/// Queries first .. first + count - 1.
struct QueryRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// The fewest ranges that cover `queries`, which are in ascending order.
inline std::vector<QueryRange> ranges_of(const std::vector<std::int64_t>& queries) {
  std::vector<QueryRange> ranges;
  for (const std::int64_t query : queries) {
    if (ranges.empty() || ranges.back().first + ranges.back().count != query) ranges.push_back({query, 0});
    ++ranges.back().count;
  }
  return ranges;
}

/// The number of queries in the longest range.
inline std::int64_t longest(const std::vector<QueryRange>& ranges) {
  std::int64_t count = 0;
  for (const QueryRange& range : ranges) count = std::max(count, range.count);
  return count;
}

/// Device memory of a search by scores.
struct ScoreWorkspace {
  template <class T>
  ScoreWorkspace(const HeldRows<T>& held, const ScoreSizes& sizes)
      : pitch(sizes.pitch),
        queries(held.pool(), sizes.queries * held.columns()),
        screened(allocate_screened(held, sizes.queries)),
        scores(held.pool(), sizes.queries * pitch),
        group_min(held.pool(), sizes.queries * (pitch / kBlockColumns)),
        limit(held.pool(), sizes.queries),
        counts(held.pool(), sizes.queries),
        offset(held.pool(), sizes.queries + 1),
        row(held.pool(), sizes.candidates),
        query(held.pool(), sizes.candidates),
        distance(held.pool(), sizes.candidates) {}

  ScoreBlock block(std::int64_t rows, std::int64_t query_count, std::int64_t excluded, bool has_excluded) const {
    return {scores.data(), group_min.data(), pitch, rows, query_count, excluded, has_excluded};
  }

  /// The numbers of candidates of all queries of the block. Waits for the device.
  std::vector<std::int64_t> candidate_counts(const Stream& stream, const ScoreBlock& block) const {
    std::vector<std::int64_t> found(static_cast<std::size_t>(block.queries));
    count_candidates(stream, block, limit.data(), counts.data());
    stream.download(found.data(), counts.data(), block.queries);
    return found;
  }

  /// work(range, offsets of its candidates), also on the device, for as many queries at a time as their candidates fit;
  /// those of one query always fit.
  template <class Work>
  void for_fitting(const Stream& stream, const std::vector<std::int64_t>& counts, const Work& work) const {
    const std::int64_t count = std::ssize(counts);
    for (std::int64_t q = 0; q < count;) {
      std::vector<std::int64_t> offsets{0};
      std::int64_t last = q;
      while (last < count && (last == q || offsets.back() + counts[last] <= row.size())) {
        offsets.push_back(offsets.back() + counts[last++]);
      }
      stream.upload(offset.data() + q, offsets.data(), last - q + 1);
      work(QueryRange{q, last - q}, offsets);
      q = last;
    }
  }

  /// Lists the `count` candidates of a range of the batch, and measures them. values: as of score_rows().
  template <class T>
  void measure_candidates(const HeldRows<T>& held, const QueryBatch& batch, const T* values, const ScoreBlock& block,
                          const QueryRange& range, std::int64_t count) const {
    list_candidates(held.stream(), block, limit.data(), range.first, range.count,
                    {row.data(), query.data(), offset.data()});
    measure_pairs(held, batch, values, {row.data(), query.data(), count}, distance.data());
  }

  std::int64_t pitch;
  Buffer<double> queries;
  ScreenedCopies screened;
  Buffer<float> scores, group_min, limit;
  Buffer<std::int64_t> counts, offset;
  Buffer<std::int32_t> row, query;
  Buffer<double> distance;
};

/// Merges the nearest rows of the queries in `ranges` into their lists. Throws OutOfMemory, before it changes a list.
/// Waits for the device.
template <class T>
void search_float32(const HeldRows<T>& held, const Queries& queries, const std::vector<QueryRange>& ranges,
                    NeighborLists& lists);

}  // namespace kith::cuda
