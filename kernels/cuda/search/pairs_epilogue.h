// The epilogue of a self-join: the scores of a pair of rows decide for both whether the other one is within its limit.
//
// With u = base(b) - product for the pair (q, b), q wants b where u is within q's limit, and b wants q where base(q) -
// product is within b's: where u <= reach(b) - base(q), with reach(b) = limit(b) + base(b). So the smallest u of a
// thread's 32 columns, compared with the larger of q's limit and the largest reach of these columns less base(q), says
// whether there is anything to note: 1.5 instructions per score, and seven more where there is. Pairs go to a log of
// the warp, as nobody then has to wait for an atomic addition while products do.
#pragma once

#include "kernels/cuda/search/minima_epilogue.h"

namespace kith::cuda {

/// Two rows, of which the first has the lower number, or the same. kWants: it has the other one within its limit.
struct NotedPair {
  static constexpr unsigned kWants = 0x80000000U;
  unsigned first, second;
};

/// What the warps of a product note: each takes a chunk of the log for itself, and another one when that is full.
struct PairLog {
  static constexpr unsigned kChunk = 2048;
  static_assert(kChunk >= kWarp * kGroupColumns, "a warp has room for what it writes at a time");

  NotedPair* pairs = nullptr;  // (capacity) zero where nothing is noted
  Word* used = nullptr;        // (1) also what there was no room for
  Word capacity = 0;           // below 2^32 - kChunk
};

/// Pairs of rows, of which the product has some as its rows, some as its columns. The first of each are multiples of
/// kFp16Columns.
struct RowPairs {
  PairLog log;
  const float* limit = nullptr;         // (rows) of scores; negative: nothing is wanted
  const float* base = nullptr;          // (rows, padded) of all rows, in the order of base_place_of_row
  const float* column_limit = nullptr;  // (the same) limits in that order, negative where a row does not exist
  const float* group_reach = nullptr;   // (tiles, kQuarters) the largest reach of a group, rounded up
  std::int64_t rows = 0;                // that exist
  std::int64_t first_row = 0;           // of the product's rows
  std::int64_t first_column = 0;        // of its columns
  bool with_itself = false;             // a row may be in its own list
};

/// Notes pairs of which one wants the other.
class NotePairs {
 public:
  static constexpr bool kAnyColumns = true;
  static constexpr bool kColumnRanges = true;

  using Arguments = RowPairs;

  __device__ NotePairs(const Arguments& pairs, std::int64_t) : pairs_(pairs) {}

  __device__ void begin(std::int64_t row) {
    row_ = static_cast<int>(pairs_.first_row + row);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t q = row_at(row_, r);
      const bool exists = q < pairs_.rows;
      limit_[r] = exists ? pairs_.limit[q] : -1.0F;
      base_[r] = exists ? pairs_.base[base_place_of_row(q)] : QuantizationGrid::kNever;  // nothing is within reach
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) next_.fetch(score_base);
    const float reach = __ldg(pairs_.group_reach + (first_tile() + tile) * kQuarters + quarter());
    int smallest[2];
    smallest_scores(product, score_base, smallest);
    bool any = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float most = fmaxf(limit_[2 * kHalf + r], __fsub_rn(reach, base_[2 * kHalf + r]));
      any = any || !(__int_as_float(smallest[r]) > most);
    }
    if (__any_sync(kAllLanes, any)) note<kHalf>(product, score_base, tile);
  }

  __device__ void finish(std::int64_t) const {}

 private:
  __device__ std::int64_t first_tile() const { return pairs_.first_column / kFp16Columns; }

  /// Called by all lanes.
  template <int kHalf>
  __device__ void note(const float (&product)[64], const float* score_base, unsigned tile) {
    const float* column_limit = base_of_lane(pairs_.column_limit + pairs_.first_column, tile, lane_index());
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t q = row_at(row_, 2 * kHalf + r);
      const float limit = limit_[2 * kHalf + r], own = base_[2 * kHalf + r];
      unsigned wanted = 0, wanting = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        add_within(wanted, limit, read_again(score_base, i), product, i, r);
        add_wanting(wanting, own, read_again(column_limit, i), product, i, r);
      }
      const unsigned allowed = q < pairs_.rows ? columns_behind(q, tile) : 0;
      write(limit >= 0 ? wanted & allowed : 0, wanting & allowed, static_cast<unsigned>(q), tile);
    }
  }

  /// As base_of, of what was read before: to keep it until it is wanted, which is seldom, would take registers.
  __device__ static float4 read_again(const float* from, int i) {
    float4 four;
    asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "l"(from + 16 * i));
    return four;
  }

  /// Appends this lane's pairs of row q to the log. Called by all lanes.
  __device__ void write(unsigned wanted, unsigned wanting, unsigned q, unsigned tile) {
    unsigned either = wanted | wanting;
    const unsigned mine = __popc(either);
    unsigned inclusive = mine;
#pragma unroll
    for (int w = 1; w < kWarp; w *= 2) {
      const unsigned lower = __shfl_up_sync(kAllLanes, inclusive, w);
      if (lane_index() >= w) inclusive += lower;
    }
    const unsigned all = __shfl_sync(kAllLanes, inclusive, kWarp - 1);
    if (all > left_) {
      Word chunk = 0;
      if (lane_index() == 0) chunk = atomicAdd(pairs_.log.used, Word{PairLog::kChunk});
      next_pair_ = static_cast<unsigned>(__shfl_sync(kAllLanes, min(chunk, pairs_.log.capacity), 0));
      left_ = PairLog::kChunk;
    }
    unsigned place = next_pair_ + (inclusive - mine);
    next_pair_ += all;
    left_ -= all;
    for (; either != 0 && place < pairs_.log.capacity; either &= either - 1, ++place) {
      const int number = __ffs(static_cast<int>(either)) - 1;
      const unsigned bit = 1U << number, b = static_cast<unsigned>(column(tile, number));
      pairs_.log.pairs[place] = {(wanted & bit) != 0 ? q | NotedPair::kWants : q,
                                 (wanting & bit) != 0 ? b | NotedPair::kWants : b};
    }
  }

  /// Sets the bits of those of these columns that want the row, whose base this is.
  __device__ static void add_wanting(unsigned& wants, float base, const float4& limit, const float (&product)[64],
                                     int i, int r) {
    if (__fsub_rn(base, product_of<0>(product, i, r)) <= limit.x) wants |= 1U << (4 * i);
    if (__fsub_rn(base, product_of<1>(product, i, r)) <= limit.y) wants |= 2U << (4 * i);
    if (__fsub_rn(base, product_of<2>(product, i, r)) <= limit.z) wants |= 4U << (4 * i);
    if (__fsub_rn(base, product_of<3>(product, i, r)) <= limit.w) wants |= 8U << (4 * i);
  }

  __device__ std::int64_t column(unsigned tile, int number) const {
    return pairs_.first_column + static_cast<std::int64_t>(tile) * kFp16Columns + column_of_number(number);
  }

  /// The bits of a thread's columns that come after row q, or are row q where it may be in its own list.
  __device__ unsigned columns_behind(std::int64_t q, unsigned tile) const {
    const std::int64_t first = pairs_.first_column + static_cast<std::int64_t>(tile) * kFp16Columns;
    if (first > q) return ~0U;
    unsigned behind = 0;
    for (int number = 0; number < kGroupColumns; ++number) {
      const std::int64_t b = column(tile, number);
      if (b > q || (b == q && pairs_.with_itself)) behind |= 1U << number;
    }
    return behind;
  }

  const RowPairs& pairs_;
  unsigned next_pair_ = 0, left_ = 0;  // of the log, and places of the chunk
  int row_ = 0;
  float limit_[4] = {}, base_[4] = {};
  NextBase next_;
};

}  // namespace kith::cuda
