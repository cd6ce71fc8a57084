// The epilogues of a search. KeepMinima stores the smallest score of each group of base rows. ListBelowLimit lists the
// rows with scores up to a limit, for lists so long that rescoring the groups within the limit would take longer.
//
// A group is the 32 base rows of a tile whose scores one thread holds. Group minima are reduced again over 16 tiles, to
// block minima, so that a selection reads fewer values. KeepMinima takes 1.5 instructions per score and writes 1/8
// byte, ListBelowLimit takes about four instructions.
#pragma once

#include "kernels/cuda/screen/epilogue.h"

namespace kith::cuda {

inline constexpr int kBlockTiles = 16;                          // tiles that a block minimum covers
inline constexpr int kQuarters = kFp16Columns / kGroupColumns;  // groups of a tile

/// The smallest scores of queries (rows of a product) in groups of base rows (its columns). Scores are positive.
struct GroupMinima {
  float* group_min = nullptr;  // (queries, tiles / 2, kQuarters, 2)
  float* block_min = nullptr;  // (queries, tile_blocks(), kQuarters)
  std::int64_t tiles = 0;      // an even number

  __host__ __device__ std::int64_t tile_blocks() const { return (tiles + kBlockTiles - 1) / kBlockTiles; }
  /// Group minima per query.
  __host__ __device__ std::int64_t groups() const { return tiles * kQuarters; }
  /// Block minima per query.
  __host__ __device__ std::int64_t blocks() const { return tile_blocks() * kQuarters; }
  /// Index of a group's minimum among those of its query.
  __device__ static std::int64_t place(std::int64_t tile, int quarter) {
    return (tile / 2 * kQuarters + quarter) * 2 + tile % 2;
  }
};

/// Index of the score base of row i (base_place). Base rows are columns in their own order, whereas centroids are
/// permuted (slot_of_column): the thread of quarter q holds the scores of rows 2 q and 2 q + 1 of every eight.
__host__ __device__ inline std::int64_t base_place_of_row(std::int64_t i) {
  const std::int64_t in_tile = i % kFp16Columns, quarter = in_tile % 8 / 2, number = in_tile / 8 * 2 + in_tile % 2;
  return base_place(i - in_tile + quarter * kGroupColumns + number);
}

/// Prefetches the score bases of the next tile into the L1 cache, since all warps of a consumer would wait for them.
/// The array must have one tile of padding.
class ScoreBasePrefetch {
 public:
  /// score_base: the pointer of this lane in the current tile.
  __device__ void fetch(const float* score_base) {
    asm volatile("" ::"f"(value_));  // keeps the register of the previous load until that load has finished
    value_ = __ldg(score_base - quarter() * 4 + kFp16Columns + lane_index() * 4);
  }

 private:
  float value_ = 0.0F;
};

/// Stores group minima and block minima.
class KeepMinima {
 public:
  static constexpr bool kAnyColumns = true;
  static constexpr bool kColumnRanges = true;  // of a multiple of kBlockTiles tiles

  using Arguments = GroupMinima;

  __device__ KeepMinima(const Arguments& minima, std::int64_t rows) : minima_(minima), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    group_min_ = minima_.group_min + row * minima_.groups() + GroupMinima::place(0, quarter());
    block_min_ = minima_.block_min + row * minima_.blocks() + quarter();
    exists_ = 0;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      exists_ |= row_at(row, r) < rows_ ? 1U << r : 0U;
      smallest_[r] = INT_MAX;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) prefetch_.fetch(score_base);
    int smallest[2];
    smallest_scores(product, score_base, smallest);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int slot = 2 * kHalf + r;
      smallest_[slot] = min(smallest_[slot], smallest[r]);
      if (tile % 2 != 0 && (exists_ & 1U << slot) != 0) {
        float* out = group_min_ + row_at(0, slot) * minima_.groups() + GroupMinima::place(tile - 1, 0);
        __stcs(reinterpret_cast<int2*>(out),
               make_int2(even_min_[slot], smallest[r]));  // one 8-byte store; not read soon
      }
      even_min_[slot] = smallest[r];
    }
    if (completes_block(tile)) {
#pragma unroll
      for (int r = 0; r < 2; ++r) store_block_min(2 * kHalf + r, tile);
    }
    if (kHalf == 1) tile_ = tile;
  }

  __device__ void finish(std::int64_t) {
    if (completes_block(tile_)) return;
#pragma unroll
    for (int r = 0; r < 4; ++r) store_block_min(r, tile_);
  }

 private:
  /// Whether this tile is the thread's last one of a block minimum.
  __device__ static bool completes_block(unsigned tile) { return tile % kBlockTiles == kBlockTiles - 1; }

  __device__ void store_block_min(int slot, unsigned tile) {
    float* out = block_min_ + row_at(0, slot) * minima_.blocks() + tile / kBlockTiles * kQuarters;
    if ((exists_ & 1U << slot) != 0) *out = __int_as_float(smallest_[slot]);
    smallest_[slot] = INT_MAX;
  }

  const GroupMinima& minima_;
  std::int64_t rows_;
  float* group_min_ = nullptr;  // of the thread's first row
  float* block_min_ = nullptr;  // of the thread's first row
  unsigned exists_ = 0;         // a bit for each row that exists
  unsigned tile_ = 0;
  int even_min_[4] = {};  // of the even tile before
  int smallest_[4] = {};  // over the tiles since the last store
  ScoreBasePrefetch prefetch_;
};

/// Lists of the base rows with scores up to each query's limit, in any order.
struct RowLists {
  const float* limit = nullptr;         // (queries) negative: the list stays empty
  std::int32_t* row = nullptr;          // list q begins at first(q)
  unsigned* count = nullptr;            // (queries) rows within the limit, including those beyond the capacity
  unsigned capacity = 0;                // of each list, if begin is null
  const std::int64_t* begin = nullptr;  // (queries + 1) where each list begins, or null

  __device__ std::int64_t first(std::int64_t q) const { return begin != nullptr ? begin[q] : q * capacity; }
  __device__ std::int64_t last(std::int64_t q) const { return begin != nullptr ? begin[q + 1] : (q + 1) * capacity; }
};

/// The column within a tile of a thread's score number `number`.
__device__ inline int column_of_number(int number) { return number / 2 * 8 + quarter() * 2 + number % 2; }

/// Lists the rows with scores up to the limits.
class ListBelowLimit {
 public:
  static constexpr bool kAnyColumns = true;
  static constexpr bool kColumnRanges = true;

  using Arguments = RowLists;

  __device__ ListBelowLimit(const Arguments& lists, std::int64_t rows) : lists_(lists), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    row_ = row;
#pragma unroll
    for (int r = 0; r < 4; ++r) limit_[r] = row_at(row, r) < rows_ ? lists_.limit[row_at(row, r)] : -1.0F;
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) prefetch_.fetch(score_base);
    unsigned within[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
      // Padding rows have a score of 10^37, above every limit.
#pragma unroll
      for (int r = 0; r < 2; ++r) add_within(within[r], limit_[2 * kHalf + r], base, product, i, r);
    }
    // With a negative limit the scores may have any value.
#pragma unroll
    for (int r = 0; r < 2; ++r) within[r] = limit_[2 * kHalf + r] >= 0 ? within[r] : 0;
    if (!__any_sync(kAllLanes, (within[0] | within[1]) != 0)) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) append(within[r], row_at(row_, 2 * kHalf + r), tile);
  }

  __device__ void finish(std::int64_t) const {}

 private:
  /// Appends the rows of this lane's bits to the list of a query, which four lanes share. Called by all lanes.
  __device__ void append(unsigned within, std::int64_t query, unsigned tile) const {
    const unsigned count = __popc(within);
    unsigned inclusive = count;
#pragma unroll
    for (int w = 1; w < kQuarters; w *= 2) {
      const unsigned lower = __shfl_up_sync(kAllLanes, inclusive, w, kQuarters);
      if (quarter() >= w) inclusive += lower;
    }
    unsigned first = 0;
    if (quarter() == kQuarters - 1 && inclusive > 0) first = atomicAdd(&lists_.count[query], inclusive);
    first = __shfl_sync(kAllLanes, first, kQuarters - 1, kQuarters) + inclusive - count;
    if (within == 0) return;
    const std::int64_t last = lists_.last(query);
    for (std::int64_t i = lists_.first(query) + first; within != 0 && i < last; within &= within - 1, ++i) {
      const int row = column_of_number(__ffs(static_cast<int>(within)) - 1);
      lists_.row[i] = static_cast<std::int32_t>(tile * kFp16Columns) + row;
    }
  }

  const RowLists& lists_;
  std::int64_t rows_;
  std::int64_t row_ = 0;
  float limit_[4] = {};
  ScoreBasePrefetch prefetch_;
};

}  // namespace kith::cuda
