// What is done with half-precision scores while they are in registers: epilogues of device/half_product.h.
//
// Minima run at half the rate of additions, and what a thread does to its scores is hardly hidden behind the products,
// so instructions are what counts: KeepTwo takes 4.5 per score (two additions and five halves of a minimum), KeepGroups
// 1.5 and some per group. The integer units' three-operand minima and add-and-minimum are those of compute capability
// 9.0; elsewhere the same functions take more.
#pragma once

#include <climits>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/half_columns.h"
#include "kernels/cuda/recheck.h"

namespace kith::cuda {

inline constexpr int kNumberBits = 5;  // of a coarse score that hold its column among a thread's 32
static_assert(1 << kNumberBits == kGroupColumns);

/// What deciding a row takes.
struct RowBounds {
  const float* norm;      // (rows) of a block
  const float* residual;  // (rows)
  const HalfBound* bound;
  Undecided undecided;  // out

  __device__ float margin(std::int64_t row) const { return bound->at(norm[row], residual[row]); }
  /// Called by all lanes.
  __device__ void leave(bool undecided_row, std::int64_t row, float limit) const {
    const Word place = append(undecided_row, undecided.count);
    if (!undecided_row) return;
    undecided.row[place] = static_cast<std::int32_t>(row);
    undecided.limit[place] = limit;
  }
};

/// The two smallest scores of a row among those that a thread sees, as integers (positive floats order alike), and the
/// tile of the smallest.
struct SmallestTwo {
  int best = INT_MAX, second = INT_MAX;
  unsigned tile = 0;
};

/// A row's after its four threads joined: `name` of the smallest.
struct JoinedTwo {
  float best, second;
  std::int32_t name;
};
__device__ inline JoinedTwo join_row(int best, int second, std::int32_t name, int mask) {
#pragma unroll
  for (int w = 1; w <= 2; w *= 2) {
    const int other_best = __shfl_xor_sync(kAllLanes, best, w), other_second = __shfl_xor_sync(kAllLanes, second, w);
    const int other_name = __shfl_xor_sync(kAllLanes, name, w);
    second = __vimin3_s32(second, other_second, max(best, other_best));
    name = other_best < best ? other_name : name;
    best = min(best, other_best);
  }
  return {__int_as_float(best & mask), __int_as_float(second & mask), name};
}

__device__ inline int quarter() { return static_cast<int>(threadIdx.x) % 4; }

/// The four numbers added to the scores of columns 4 i .. 4 i + 3 of a thread's 32.
__device__ inline float4 base_of(const float* score_base, int i) {
  return __ldg(reinterpret_cast<const float4*>(score_base) + 4 * i);
}
/// Products 4 i .. 4 i + 3 of row r (of two) of a half.
template <int kColumn>
__device__ inline float product_of(const float (&product)[64], int i, int r) {
  return product[8 * i + kColumn / 2 * 4 + 2 * r + kColumn % 2];
}

/// Finds the nearest column of every row, for few columns: the best two of all scores, on the coarse grid, each with
/// the number of its column in its last bits.
class KeepTwo {
 public:
  struct Arguments {
    RowBounds rows;
    std::int32_t* nearest;  // out
  };

  __device__ KeepTwo(const Arguments& arguments, std::int64_t rows)
      : arguments_(arguments), rows_(rows), lift_(-31.0F * arguments.rows.bound->top) {}

  __device__ void begin(std::int64_t) {
#pragma unroll
    for (int r = 0; r < 4; ++r) kept_[r] = SmallestTwo{};
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    const int before[2] = {kept_[2 * kHalf].best, kept_[2 * kHalf + 1].best};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int a = coarse(base.x, product_of<0>(product, i, r)), b = coarse(base.y, product_of<1>(product, i, r));
        const int c = coarse(base.z, product_of<2>(product, i, r)), d = coarse(base.w, product_of<3>(product, i, r));
        keep_pair(kept_[2 * kHalf + r], a, b, 4 * i);
        keep_pair(kept_[2 * kHalf + r], c, d, 4 * i + 2);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      SmallestTwo& kept = kept_[2 * kHalf + r];
      kept.tile = kept.best != before[r] ? tile : kept.tile;
    }
  }

  /// row: of the first score.
  __device__ void finish(std::int64_t row) const {
#pragma unroll
    for (int r = 0; r < 4; ++r) decide(kept_[r], row + r / 2 * 64 + r % 2 * 8);
  }

 private:
  __device__ int coarse(float base, float product) const {
    return __float_as_int(__fadd_rn(__fsub_rn(base, product), lift_));
  }
  /// Columns number and number + 1.
  __device__ static void keep_pair(SmallestTwo& kept, int a, int b, int number) {
    const int above_a = __viaddmax_s32(a, number, kept.best);
    kept.best = __viaddmin_s32(a, number, kept.best);
    const int above_b = __viaddmax_s32(b, number + 1, kept.best);
    kept.best = __viaddmin_s32(b, number + 1, kept.best);
    kept.second = __vimin3_s32(kept.second, above_a, above_b);
  }
  __device__ void decide(const SmallestTwo& kept, std::int64_t row) const {
    constexpr int kMask = ~(kGroupColumns - 1);
    const int number = kept.best & ~kMask;
    const JoinedTwo found = join_row(
        kept.best, kept.second, static_cast<int>(kept.tile) * kHalfColumns + quarter() * kGroupColumns + number, kMask);
    const RowBounds& bounds = arguments_.rows;
    const bool mine = quarter() == 0 && row < rows_;
    const float margin = mine ? __fadd_ru(bounds.margin(row), bounds.bound->coarse) : 0.0F;
    const bool decided = __fsub_rd(found.second, found.best) > margin;
    if (mine && decided) arguments_.nearest[row] = found.name;
    bounds.leave(mine && !decided, row, __fadd_ru(__fsub_ru(found.best, bounds.bound->top), margin));
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  float lift_;
  SmallestTwo kept_[4];
};

/// Finds the group of 32 columns that has the nearest one, for many columns: the smallest score of each group, and the
/// best two of these.
class KeepGroups {
 public:
  struct Arguments {
    RowBounds rows;
    std::int32_t* group;  // (rows) out, -1: undecided
    float* limit;         // (rows) out: only columns up to it can be the nearest
  };

  __device__ KeepGroups(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t) {
#pragma unroll
    for (int r = 0; r < 4; ++r) kept_[r] = SmallestTwo{};
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    int smallest[2] = {INT_MAX, INT_MAX};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        smallest[r] = __vimin3_s32(smallest[r], score(base.x, product_of<0>(product, i, r)),
                                   score(base.y, product_of<1>(product, i, r)));
        smallest[r] = __vimin3_s32(smallest[r], score(base.z, product_of<2>(product, i, r)),
                                   score(base.w, product_of<3>(product, i, r)));
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      SmallestTwo& kept = kept_[2 * kHalf + r];
      kept.second = min(kept.second, max(kept.best, smallest[r]));
      kept.tile = smallest[r] < kept.best ? tile : kept.tile;
      kept.best = min(kept.best, smallest[r]);
    }
  }

  __device__ void finish(std::int64_t row) const {
#pragma unroll
    for (int r = 0; r < 4; ++r) decide(kept_[r], row + r / 2 * 64 + r % 2 * 8);
  }

 private:
  __device__ static int score(float base, float product) { return __float_as_int(__fsub_rn(base, product)); }
  __device__ void decide(const SmallestTwo& kept, std::int64_t row) const {
    constexpr int kGroups = kHalfColumns / kGroupColumns;
    const JoinedTwo found = join_row(kept.best, kept.second, static_cast<int>(kept.tile) * kGroups + quarter(), -1);
    const bool mine = quarter() == 0 && row < rows_;
    const float limit = mine ? __fadd_ru(found.best, arguments_.rows.margin(row)) : 0.0F;
    const bool decided = found.second > limit;
    if (mine) {
      arguments_.group[row] = decided ? found.name : -1;
      arguments_.limit[row] = limit;
    }
    arguments_.rows.leave(mine && !decided, row, limit);
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  SmallestTwo kept_[4];
};

/// Lists every column whose score is within its row's limit: the second look at undecided rows.
class WithinLimit {
 public:
  struct Arguments {
    const float* limit;  // (rows)
    Candidate* list;     // out
    std::int64_t capacity;
    Word* count;  // out
  };

  __device__ WithinLimit(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    constexpr float kNone = -1.0F;  // scores are positive
    row_ = row;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t at = row + r / 2 * 64 + r % 2 * 8;
      limit_[r] = at < rows_ ? arguments_.limit[at] : kNone;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    unsigned within[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float limit = limit_[2 * kHalf + r];
        // Written so that a NaN is within. Columns that do not exist score 10^37, above every limit.
        if (!(__fsub_rn(base.x, product_of<0>(product, i, r)) > limit)) within[r] |= 1U << (4 * i);
        if (!(__fsub_rn(base.y, product_of<1>(product, i, r)) > limit)) within[r] |= 2U << (4 * i);
        if (!(__fsub_rn(base.z, product_of<2>(product, i, r)) > limit)) within[r] |= 4U << (4 * i);
        if (!(__fsub_rn(base.w, product_of<3>(product, i, r)) > limit)) within[r] |= 8U << (4 * i);
      }
    }
    if (__any_sync(kAllLanes, (within[0] | within[1]) != 0)) list(within, kHalf * 64, tile);
  }

  __device__ void finish(std::int64_t) const {}

 private:
  /// Lists the columns of rows row_ + offset and row_ + offset + 8. All lanes call it.
  __device__ void list(const unsigned (&within)[2], int offset, unsigned tile) const {
    const int found = __popc(within[0]) + __popc(within[1]);
    int before = found;
#pragma unroll
    for (int w = 1; w < kWarp; w *= 2) {
      const int lower = __shfl_up_sync(kAllLanes, before, w);
      if (lane_index() >= w) before += lower;
    }
    Word at = 0;
    if (lane_index() == kWarp - 1) at = atomicAdd(arguments_.count, static_cast<Word>(before));
    at = __shfl_sync(kAllLanes, at, kWarp - 1) + static_cast<Word>(before - found);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      for (unsigned bits = within[r]; bits != 0; bits &= bits - 1, ++at) {
        if (at >= static_cast<Word>(arguments_.capacity)) return;
        arguments_.list[at] = {static_cast<std::int32_t>(row_ + offset + r * 8),
                               static_cast<std::int32_t>(tile) * kHalfColumns + quarter() * kGroupColumns +
                                   __ffs(static_cast<int>(bits)) - 1};
      }
    }
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  std::int64_t row_ = 0;
  float limit_[4] = {};
};

}  // namespace kith::cuda
