// The epilogues of a search: of every query's scores only the smallest of each group of base rows go to memory; and a
// second one lists the rows below a limit, for lists so long that most of the first look's groups would be read again.
//
// A group is what a thread sees of a tile, 32 base rows; of sixteen tiles it keeps the smallest of these once more, so
// that who looks for the smallest reads few. 1.5 instructions and an eighth of a byte per score, and about four
// instructions of the second.
#pragma once

#include "kernels/cuda/screen/nearest_epilogues.h"

namespace kith::cuda {

inline constexpr int kTogether = 16;                            // tiles of a coarse minimum
inline constexpr int kQuarters = kFp16Columns / kGroupColumns;  // groups of a tile

/// Smallest scores of queries, rows of a product, in groups of base rows, its columns. Scores are positive.
struct GroupMinima {
  float* each = nullptr;    // (queries, tiles / 2, kQuarters, 2)
  float* coarse = nullptr;  // (queries, coarse_tiles(), kQuarters) of kTogether tiles
  std::int64_t tiles = 0;   // an even number

  __host__ __device__ std::int64_t coarse_tiles() const { return (tiles + kTogether - 1) / kTogether; }
  __host__ __device__ std::int64_t groups() const { return tiles * kQuarters; }
  __host__ __device__ std::int64_t coarse_groups() const { return coarse_tiles() * kQuarters; }
  /// Where the minimum of a group of a query is, among the query's.
  __device__ static std::int64_t place(std::int64_t tile, int quarter) {
    return (tile / 2 * kQuarters + quarter) * 2 + tile % 2;
  }
};

/// Base rows are columns in their own order, where centroids change places (slot_of_column): the thread of quarter q
/// sees rows 2 q and 2 q + 1 of every eight. Where what is added to the score of row i stands, see base_place.
__host__ __device__ inline std::int64_t base_place_of_row(std::int64_t i) {
  const std::int64_t in_tile = i % kFp16Columns, quarter = in_tile % 8 / 2, number = in_tile / 8 * 2 + in_tile % 2;
  return base_place(i - in_tile + quarter * kGroupColumns + number);
}

/// Takes what is added to the scores of the next tile into the nearest cache, a tile ahead: every tile has its own, and
/// all warps of a consumer would wait for it. There has to be memory behind the last tile for one more.
class NextBase {
 public:
  /// score_base: as a lane has it of the present tile.
  __device__ void fetch(const float* score_base) {
    asm volatile("" ::"f"(value_));  // the load before has to be finished before its register is used again
    value_ = __ldg(score_base - quarter() * 4 + kFp16Columns + lane_index() * 4);
  }

 private:
  float value_ = 0.0F;
};

/// Keeps the minima. kShared: two threads see a row, pairs of tiles in turn; coarse minima have to be above all scores
/// before.
template <bool kShared>
class MinimaKeeper {
 public:
  static constexpr bool kAnyColumns = true;
  static constexpr bool kColumnRanges = true;  // of a multiple of kTogether tiles
  static constexpr bool kSharesRows = kShared;

  using Arguments = GroupMinima;

  __device__ MinimaKeeper(const Arguments& minima, std::int64_t rows) : minima_(minima), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    each_ = minima_.each + row * minima_.groups() + GroupMinima::place(0, quarter());
    coarse_out_ = minima_.coarse + row * minima_.coarse_groups() + quarter();
    there_ = 0;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      there_ |= row_at(row, r) < rows_ ? 1U << r : 0U;
      coarse_[r] = INT_MAX;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) next_.fetch(score_base);
    int smallest[2];
    smallest_scores(product, score_base, smallest);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = 2 * kHalf + r;
      coarse_[at] = min(coarse_[at], smallest[r]);
      if (tile % 2 != 0 && (there_ & 1U << at) != 0) {
        float* out = each_ + row_at(0, at) * minima_.groups() + GroupMinima::place(tile - 1, 0);
        __stcs(reinterpret_cast<int2*>(out), make_int2(even_[at], smallest[r]));  // both at once, read much later
      }
      even_[at] = smallest[r];
    }
    if (completes_coarse(tile)) {
#pragma unroll
      for (int r = 0; r < 2; ++r) store_coarse(2 * kHalf + r, tile);
    }
    if (kHalf == 1) tile_ = tile;
  }

  __device__ void finish(std::int64_t) {
    if (completes_coarse(tile_)) return;
#pragma unroll
    for (int r = 0; r < 4; ++r) store_coarse(r, tile_);
  }

 private:
  /// Whether this tile is the last of a coarse minimum that this thread sees.
  __device__ static bool completes_coarse(unsigned tile) {
    return tile % kTogether >= kTogether - (kShared ? 4 : 2) && tile % 2 != 0;
  }

  __device__ void store_coarse(int at, unsigned tile) {
    float* out = coarse_out_ + row_at(0, at) * minima_.coarse_groups() + tile / kTogether * kQuarters;
    if ((there_ & 1U << at) != 0) {
      if constexpr (kShared) {
        atomicMin(reinterpret_cast<int*>(out), coarse_[at]);  // positive floats order like their bits
      } else {
        *out = __int_as_float(coarse_[at]);
      }
    }
    coarse_[at] = INT_MAX;
  }

  const GroupMinima& minima_;
  std::int64_t rows_;
  float* each_ = nullptr;        // of the first of this thread's rows
  float* coarse_out_ = nullptr;  // the same
  unsigned there_ = 0;           // a bit for each row that exists
  unsigned tile_ = 0;
  int even_[4] = {};    // of the tile before
  int coarse_[4] = {};  // of the tiles since the last store
  NextBase next_;
};

using KeepMinima = MinimaKeeper<false>;
using KeepMinimaOfFew = MinimaKeeper<true>;

/// Base rows within the limits of queries, in any order.
struct RowLists {
  const float* limit = nullptr;         // (queries) negative: none is wanted
  std::int32_t* row = nullptr;          // of list q at first(q) and on
  unsigned* count = nullptr;            // (queries) of all that are within, also those without room
  unsigned capacity = 0;                // of every list
  const std::int64_t* begin = nullptr;  // (queries + 1) of lists that are as long as they have to be, or null

  __device__ std::int64_t first(std::int64_t q) const { return begin != nullptr ? begin[q] : q * capacity; }
  __device__ std::int64_t last(std::int64_t q) const { return begin != nullptr ? begin[q + 1] : (q + 1) * capacity; }
};

/// The column of a tile that a thread sees as its number `number`.
__device__ inline int column_of_number(int number) { return number / 2 * 8 + quarter() * 2 + number % 2; }

/// Lists the rows within the limits.
class ListWithin {
 public:
  static constexpr bool kAnyColumns = true;
  static constexpr bool kColumnRanges = true;

  using Arguments = RowLists;

  __device__ ListWithin(const Arguments& lists, std::int64_t rows) : lists_(lists), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    row_ = row;
#pragma unroll
    for (int r = 0; r < 4; ++r) limit_[r] = row_at(row, r) < rows_ ? lists_.limit[row_at(row, r)] : -1.0F;
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) next_.fetch(score_base);
    unsigned within[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
      // Base rows that do not exist score 10^37, above every limit.
#pragma unroll
      for (int r = 0; r < 2; ++r) add_within(within[r], limit_[2 * kHalf + r], base, product, i, r);
    }
    // Scores of what is not wanted may be anything.
#pragma unroll
    for (int r = 0; r < 2; ++r) within[r] = limit_[2 * kHalf + r] >= 0 ? within[r] : 0;
    if (!__any_sync(kAllLanes, (within[0] | within[1]) != 0)) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) add(within[r], row_at(row_, 2 * kHalf + r), tile);
  }

  __device__ void finish(std::int64_t) const {}

 private:
  /// Adds the rows of this lane's bits to the list of a query, which four lanes share. Called by all lanes.
  __device__ void add(unsigned within, std::int64_t query, unsigned tile) const {
    const unsigned mine = __popc(within);
    unsigned inclusive = mine;
#pragma unroll
    for (int w = 1; w < kQuarters; w *= 2) {
      const unsigned lower = __shfl_up_sync(kAllLanes, inclusive, w, kQuarters);
      if (quarter() >= w) inclusive += lower;
    }
    unsigned at = 0;
    if (quarter() == kQuarters - 1 && inclusive > 0) at = atomicAdd(&lists_.count[query], inclusive);
    at = __shfl_sync(kAllLanes, at, kQuarters - 1, kQuarters) + inclusive - mine;
    if (within == 0) return;
    const std::int64_t last = lists_.last(query);
    for (std::int64_t place = lists_.first(query) + at; within != 0 && place < last; within &= within - 1, ++place) {
      const int row = column_of_number(__ffs(static_cast<int>(within)) - 1);
      lists_.row[place] = static_cast<std::int32_t>(tile * kFp16Columns) + row;
    }
  }

  const RowLists& lists_;
  std::int64_t rows_;
  std::int64_t row_ = 0;
  float limit_[4] = {};
  NextBase next_;
};

}  // namespace kith::cuda
