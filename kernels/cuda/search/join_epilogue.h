// The epilogue of a self-join: one score of a pair of rows decides for both rows whether the other one is within their
// limit.
//
// Let u = base(b) - product be the score of row b for row q. q accepts b if u <= limit(q). b accepts q if base(q) -
// product <= limit(b), that is, u <= threshold(b) - base(q) with threshold(b) = limit(b) + base(b). So the smallest u
// of a thread's 32 columns, compared with max(limit(q), largest threshold of these columns - base(q)), decides whether
// any pair is accepted: 1.5 instructions per score, and seven more if one is. Each warp appends its pairs to its own
// segment of a log, so that products do not wait for an atomic addition per pair.
#pragma once

#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {

/// A pair of rows, first <= second. A row with the flag kAccepts has the other row within its limit.
struct JoinPair {
  static constexpr unsigned kAccepts = 0x80000000U;
  unsigned first, second;
};

/// The pairs found by the warps of a product. Each warp reserves a segment of the log, and a new one when it is full.
struct PairLog {
  static constexpr unsigned kSegment = 2048;
  static_assert(kSegment >= kWarp * kGroupColumns, "a segment holds what a warp appends at a time");

  JoinPair* pairs = nullptr;  // (capacity) zero where there is no pair
  Word* used = nullptr;       // (1) reserved entries, including those beyond the capacity
  Word capacity = 0;          // below 2^32 - kSegment
};

/// A product of some rows of a join with some of its rows as columns.
struct JoinProduct {
  PairLog log;
  const float* limit = nullptr;            // (rows) of scores; negative: the row accepts none
  const float* base = nullptr;             // (rows, padded) score bases in the order of base_place_of_row
  const float* column_limit = nullptr;     // (rows, padded) limits in that order, negative in the padding
  const float* group_threshold = nullptr;  // (tiles, kQuarters) the largest threshold of a group, rounded up
  std::int64_t rows = 0;                   // number of rows of the join
  std::int64_t first_row = 0;              // first row of the product, a multiple of kFp16Columns
  std::int64_t first_column = 0;           // its first column, a multiple of kFp16Columns
  bool include_self = false;               // a row may be in its own list
};

/// Logs the pairs of which at least one row accepts the other.
class LogPairs {
 public:
  static constexpr bool kAnyColumns = true;
  static constexpr bool kColumnRanges = true;

  using Arguments = JoinProduct;

  __device__ LogPairs(const Arguments& join, std::int64_t) : join_(join) {}

  __device__ void begin(std::int64_t row) {
    row_ = static_cast<int>(join_.first_row + row);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t q = row_at(row_, r);
      const bool exists = q < join_.rows;
      limit_[r] = exists ? join_.limit[q] : -1.0F;
      base_[r] = exists ? join_.base[base_place_of_row(q)] : QuantizationGrid::kNever;  // no column accepts it
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) prefetch_.fetch(score_base);
    const float threshold = __ldg(join_.group_threshold + (first_tile() + tile) * kQuarters + quarter());
    int smallest[2];
    smallest_scores(product, score_base, smallest);
    bool any = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float largest = fmaxf(limit_[2 * kHalf + r], __fsub_rn(threshold, base_[2 * kHalf + r]));
      any = any || !(__int_as_float(smallest[r]) > largest);
    }
    if (__any_sync(kAllLanes, any)) find_pairs<kHalf>(product, score_base, tile);
  }

  __device__ void finish(std::int64_t) const {}

 private:
  __device__ std::int64_t first_tile() const { return join_.first_column / kFp16Columns; }

  /// Logs the pairs of two rows with this thread's columns. Called by all lanes.
  template <int kHalf>
  __device__ void find_pairs(const float (&product)[64], const float* score_base, unsigned tile) {
    const float* column_limit = base_of_lane(join_.column_limit + join_.first_column, tile, lane_index());
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t q = row_at(row_, 2 * kHalf + r);
      const float limit = limit_[2 * kHalf + r], row_base = base_[2 * kHalf + r];
      unsigned accepted = 0, accepting = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        add_within(accepted, limit, reload(score_base, i), product, i, r);
        add_accepting(accepting, row_base, reload(column_limit, i), product, i, r);
      }
      const unsigned allowed = q < join_.rows ? columns_from(q, tile) : 0;
      append(limit >= 0 ? accepted & allowed : 0, accepting & allowed, static_cast<unsigned>(q), tile);
    }
  }

  /// Like base_of, for values that were read before. This path is rare, and keeping the values would take registers.
  __device__ static float4 reload(const float* from, int i) {
    float4 four;
    asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "l"(from + 16 * i));
    return four;
  }

  /// Appends this lane's pairs of row q to the log: columns that q accepts, and columns that accept q. Called by all
  /// lanes.
  __device__ void append(unsigned accepted, unsigned accepting, unsigned q, unsigned tile) {
    unsigned either = accepted | accepting;
    const unsigned count = __popc(either);
    unsigned inclusive = count;
#pragma unroll
    for (int w = 1; w < kWarp; w *= 2) {
      const unsigned lower = __shfl_up_sync(kAllLanes, inclusive, w);
      if (lane_index() >= w) inclusive += lower;
    }
    const unsigned warp_count = __shfl_sync(kAllLanes, inclusive, kWarp - 1);
    if (warp_count > free_) {
      Word segment = 0;
      if (lane_index() == 0) segment = atomicAdd(join_.log.used, Word{PairLog::kSegment});
      next_ = static_cast<unsigned>(__shfl_sync(kAllLanes, min(segment, join_.log.capacity), 0));
      free_ = PairLog::kSegment;
    }
    unsigned i = next_ + (inclusive - count);
    next_ += warp_count;
    free_ -= warp_count;
    for (; either != 0 && i < join_.log.capacity; either &= either - 1, ++i) {
      const int number = __ffs(static_cast<int>(either)) - 1;
      const unsigned bit = 1U << number, b = static_cast<unsigned>(column(tile, number));
      join_.log.pairs[i] = {(accepted & bit) != 0 ? q | JoinPair::kAccepts : q,
                            (accepting & bit) != 0 ? b | JoinPair::kAccepts : b};
    }
  }

  /// Sets the bits of the columns 4 i .. 4 i + 3 that accept the row with this score base. limit: of the columns.
  __device__ static void add_accepting(unsigned& accepts, float base, const float4& limit, const float (&product)[64],
                                       int i, int r) {
    if (__fsub_rn(base, product_of<0>(product, i, r)) <= limit.x) accepts |= 1U << (4 * i);
    if (__fsub_rn(base, product_of<1>(product, i, r)) <= limit.y) accepts |= 2U << (4 * i);
    if (__fsub_rn(base, product_of<2>(product, i, r)) <= limit.z) accepts |= 4U << (4 * i);
    if (__fsub_rn(base, product_of<3>(product, i, r)) <= limit.w) accepts |= 8U << (4 * i);
  }

  __device__ std::int64_t column(unsigned tile, int number) const {
    return join_.first_column + static_cast<std::int64_t>(tile) * kFp16Columns + column_of_number(number);
  }

  /// The bits of a thread's columns that come after row q, or are row q itself if include_self.
  __device__ unsigned columns_from(std::int64_t q, unsigned tile) const {
    const std::int64_t first = join_.first_column + static_cast<std::int64_t>(tile) * kFp16Columns;
    if (first > q) return ~0U;
    unsigned allowed = 0;
    for (int number = 0; number < kGroupColumns; ++number) {
      const std::int64_t b = column(tile, number);
      if (b > q || (b == q && join_.include_self)) allowed |= 1U << number;
    }
    return allowed;
  }

  const JoinProduct& join_;
  unsigned next_ = 0, free_ = 0;  // the next entry of this warp's segment, and its free entries
  int row_ = 0;
  float limit_[4] = {}, base_[4] = {};
  ScoreBasePrefetch prefetch_;
};

}  // namespace kith::cuda
