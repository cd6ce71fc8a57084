// What is done with half-precision scores while they are in registers: epilogues of screen/wgmma_product.h.
//
// Minima run at half the rate of additions, and what a thread does to its scores is hardly hidden behind the products,
// so instructions are what counts: KeepTwo takes 4.5 per score (two additions and five fp16 of a minimum), KeepGroups
// 1.5 and ten per group. The integer units' three-operand minima and add-and-minimum are those of compute capability
// 9.0; elsewhere the same functions take more.
#pragma once

#include "kernels/cuda/assign/fp16_groups.h"
#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/refinement.h"
#include "kernels/cuda/screen/scores.h"
#include "kernels/cuda/screen/screening_input.h"

namespace kith::cuda {

static_assert(kNumbered == kGroupColumns, "a coarse score holds its column's number among a thread's");

/// What deciding a row takes.
struct RowBounds {
  const float* norm;      // (rows) of a block
  const float* residual;  // (rows)
  const Fp16Bound* bound;
  AmbiguousRows ambiguous;  // out; without a count none is listed, and rows keep their best
  BoundOutput bounds;       // out
};

/// A load that stays where it is written, among what else may not be moved.
__device__ inline float load_here(const float* from) {
  float value;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(from));
  return value;
}

/// What the margin of the row that a thread will decide is made of, asked for before it is needed.
struct RowAhead {
  float norm = 0.0F, residual = 0.0F;

  __device__ void fetch(const RowBounds& bounds, std::int64_t row, std::int64_t rows) {
    if (row >= rows) return;
    norm = load_here(bounds.norm + row);
    residual = load_here(bounds.residual + row);
  }
  __device__ float margin(const RowBounds& bounds) const { return bounds.bound->at(norm, residual); }
};

/// The two smallest scores of a row among those that a thread sees, and the tile of the smallest.
struct SmallestTwo : QuantizedBestTwo {
  unsigned tile = 0;
};

/// A row's after its four threads joined: `name` of the smallest.
struct JoinedTwo {
  int best, second;
  std::int32_t name;

  /// With what the other three threads of the row found.
  __device__ void join() {
#pragma unroll
    for (int w = 1; w <= 2; w *= 2) {
      const int other_best = __shfl_xor_sync(kAllLanes, best, w), other_second = __shfl_xor_sync(kAllLanes, second, w);
      const int other_name = __shfl_xor_sync(kAllLanes, name, w);
      second = __vimin3_s32(second, other_second, max(best, other_best));
      name = other_best < best ? other_name : name;
      best = min(best, other_best);
    }
  }
};

/// The four threads that share four rows decide one each.
__device__ inline std::int64_t row_of_quarter(std::int64_t row) { return row_at(row, quarter()); }
/// kept(r): what this thread has found for row r.
template <class Kept>
__device__ inline JoinedTwo joined_of_quarter(const Kept& kept) {
  JoinedTwo chosen{};
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    JoinedTwo row = kept(r);
    row.join();
    if (r == quarter()) chosen = row;
  }
  return chosen;
}

/// Finds the nearest column of every row, for few columns: the best two of all scores, on the coarse grid, each with
/// the number of its column in its last bits.
class KeepTwo {
 public:
  static constexpr bool kAnyColumns = false;
  struct Arguments {
    RowBounds rows;
    std::int32_t* nearest;  // out
  };

  __device__ KeepTwo(const Arguments& arguments, std::int64_t rows)
      : arguments_(arguments), rows_(rows), offset_(arguments.rows.bound->grid.offset()) {}

  __device__ void begin(std::int64_t row) {
    row_ = row_of_quarter(row);
    fetched_ = false;
#pragma unroll
    for (int r = 0; r < 4; ++r) kept_[r] = SmallestTwo{};
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    // Not at the row's beginning: the first scores would wait for it with what is added to them.
    if (kHalf == 1 && !fetched_) {
      ahead_.fetch(arguments_.rows, row_, rows_);
      fetched_ = true;
    }
    const int before[2] = {kept_[2 * kHalf].best, kept_[2 * kHalf + 1].best};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        SmallestTwo& kept = kept_[2 * kHalf + r];
        kept.take_pair(quantized_score(base.x, product_of<0>(product, i, r), offset_),
                       quantized_score(base.y, product_of<1>(product, i, r), offset_), 4 * i);
        kept.take_pair(quantized_score(base.z, product_of<2>(product, i, r), offset_),
                       quantized_score(base.w, product_of<3>(product, i, r), offset_), 4 * i + 2);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      SmallestTwo& kept = kept_[2 * kHalf + r];
      kept.tile = kept.best != before[r] ? tile : kept.tile;
    }
  }

  __device__ void finish(std::int64_t) const {
    decide(joined_of_quarter([&](int r) {
             const SmallestTwo& kept = kept_[r];
             const int number = quantized_column(kept.best);
             return JoinedTwo{kept.best, kept.second,
                              static_cast<int>(kept.tile) * kFp16Columns + quarter() * kGroupColumns + number};
           }),
           row_);
  }

 private:
  __device__ void decide(const JoinedTwo& found, std::int64_t row) const {
    const float best = quantized_value(found.best), second = quantized_value(found.second);
    const RowBounds& bounds = arguments_.rows;
    const bool mine = row < rows_;
    const float margin = mine ? __fadd_ru(ahead_.margin(bounds), bounds.bound->grid.error) : 0.0F;
    const bool decided = __fsub_rd(second, best) > margin;
    const float limit = bounds.bound->grid.limit(best, margin);
    if (mine && (decided || !bounds.ambiguous)) arguments_.nearest[row] = found.name;
    if (mine && bounds.bounds) {
      if (decided) {
        bounds.bounds.keep(row, limit, __fsub_rd(second, bounds.bound->grid.scale), bounds.bound->grid.bias);
      } else {
        bounds.bounds.clear(row);
      }
    }
    if (bounds.ambiguous) bounds.ambiguous.append(mine && !decided, row, limit);
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  float offset_;
  std::int64_t row_ = 0;  // that this thread decides
  bool fetched_ = false;
  RowAhead ahead_;
  SmallestTwo kept_[4];
};

/// The smallest scores of three groups of columns, and which groups the first two are.
struct SmallestGroups {
  int best = INT_MAX, second = INT_MAX, third = INT_MAX;
  std::int32_t best_name = 0, second_name = 0;

  __device__ void take(int smallest, std::int32_t name) {
    third = min(third, max(second, smallest));
    second_name = smallest < best ? best_name : smallest < second ? name : second_name;
    second = min(second, max(best, smallest));
    best_name = smallest < best ? name : best_name;
    best = min(best, smallest);
  }
  /// With what the other three threads of the row found.
  __device__ void join() {
#pragma unroll
    for (int w = 1; w <= 2; w *= 2) {
      SmallestGroups other;
      other.best = __shfl_xor_sync(kAllLanes, best, w);
      other.second = __shfl_xor_sync(kAllLanes, second, w);
      other.third = __shfl_xor_sync(kAllLanes, third, w);
      other.best_name = __shfl_xor_sync(kAllLanes, best_name, w);
      other.second_name = __shfl_xor_sync(kAllLanes, second_name, w);
      third = min(min(third, other.third), min(max(best, other.second), max(second, other.best)));
      const int worse = max(best, other.best);
      const std::int32_t worse_name = other.best < best ? best_name : other.best_name;
      best_name = other.best < best ? other.best_name : best_name;
      best = min(best, other.best);
      second_name = other.second < second ? other.second_name : second_name;
      second = min(second, other.second);
      second_name = worse < second ? worse_name : second_name;
      second = min(second, worse);
    }
  }
};

/// Finds the groups of 32 columns that may have the nearest one, for many columns: the smallest score of each group,
/// and the best three of these. One group, two, or the row is left.
class KeepGroups {
 public:
  static constexpr bool kAnyColumns = false;
  struct Arguments {
    RowBounds rows;
    RowGroups groups;  // out
  };

  __device__ KeepGroups(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    ahead_.fetch(arguments_.rows, row_of_quarter(row), rows_);
#pragma unroll
    for (int r = 0; r < 4; ++r) kept_[r] = SmallestGroups{};
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    int smallest[2];
    smallest_scores(product, score_base, smallest);
#pragma unroll
    for (int r = 0; r < 2; ++r) kept_[2 * kHalf + r].take(smallest[r], static_cast<std::int32_t>(tile));
  }

  __device__ void finish(std::int64_t row) const {
    SmallestGroups found;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      constexpr int kGroups = kFp16Columns / kGroupColumns;
      SmallestGroups joined = kept_[r];
      joined.best_name = joined.best_name * kGroups + quarter();
      joined.second_name = joined.second_name * kGroups + quarter();
      joined.join();
      if (r == quarter()) found = joined;
    }
    decide(found, row_of_quarter(row));
  }

 private:
  __device__ void decide(const SmallestGroups& found, std::int64_t row) const {
    const bool mine = row < rows_, listed = static_cast<bool>(arguments_.rows.ambiguous);
    const float limit = mine ? __fadd_ru(__int_as_float(found.best), ahead_.margin(arguments_.rows)) : 0.0F;
    const bool one = __int_as_float(found.second) > limit, two = __int_as_float(found.third) > limit;
    if (mine) {
      const RowGroups& groups = arguments_.groups;
      groups.first[row] = two || !listed ? found.best_name : RowGroups::kNone;
      groups.second[row] = two && !one && listed ? found.second_name : RowGroups::kNone;
      groups.limit[row] = limit;
      // The second step makes a bound of what other groups score.
      const BoundOutput& bounds = arguments_.rows.bounds;
      if (bounds) bounds.bound[row] = one ? __int_as_float(found.second) : 0.0F;
    }
    if (listed) arguments_.rows.ambiguous.append(mine && !two, row, limit);
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  RowAhead ahead_;
  SmallestGroups kept_[4];
};

/// Lists every column whose score is within its row's limit: the second look at ambiguous rows.
class WithinLimit {
 public:
  static constexpr bool kAnyColumns = true;
  struct Arguments {
    const float* limit;    // (rows)
    std::int64_t columns;  // that exist
    CandidateOutput candidates;
  };

  __device__ WithinLimit(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    row_ = row;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t at = row_at(row, r);
      limit_[r] = at < rows_ ? arguments_.limit[at] : 0.0F;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    unsigned within[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) add_within(within[r], limit_[2 * kHalf + r], base, product, i, r);
    }
    if (!__any_sync(kAllLanes, (within[0] | within[1]) != 0)) return;
    const std::int32_t first = static_cast<std::int32_t>(tile) * kFp16Columns + quarter() * kGroupColumns;
    const std::int64_t columns = arguments_.columns - first;
    const unsigned exist = columns >= kGroupColumns ? ~0U : columns > 0 ? (1U << columns) - 1U : 0U;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      within[r] &= row_at(row_, 2 * kHalf + r) < rows_ ? exist : 0U;
      arguments_.candidates.add(within[r], static_cast<std::int32_t>(row_ + kHalf * 64 + r * 8), first);
    }
  }

  __device__ void finish(std::int64_t) const {}

 private:
  const Arguments& arguments_;
  std::int64_t rows_;
  std::int64_t row_ = 0;
  float limit_[4] = {};
};

}  // namespace kith::cuda
