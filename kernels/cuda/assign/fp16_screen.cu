// The fp16 screen: the screening pass over all rows, in one step for few centroids and in two for many, and
// the refinement pass over ambiguous rows.
//
// One step compares every score with the best two so far. Two steps keep only the smallest score of each group of 32
// columns, with a third of the instructions, and then multiply only the one or two groups that may contain the nearest
// column (fp16_groups.cu), which reads the rows once more. The refinement pass gathers the ambiguous rows, multiplies
// them again and lists every column within their limits; its cost is their share of the screening pass.
//
// The epilogues of an assignment's fp16 products (screen/epilogue.h): the nearest column of each row, its
// groups of columns, or all columns within a limit.
//
// Minima run at half the rate of additions, and the products hide little of the epilogue, so its instructions count:
// KeepTwo takes 4.5 per score (two additions and 2.5 minima), KeepGroups 1.5, and ten per group. Three-operand minima
// and add-and-minimum are single integer instructions since compute capability 9.0; earlier, they take several.
#include "kernels/cuda/assign/fp16_screen.h"

#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/epilogue.h"
#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/product_launch.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {
namespace {

static_assert(kNumbered == kGroupColumns, "a quantized score has the number of its column among a thread's");

/// The inputs and outputs of deciding rows.
struct DecisionArguments {
  const float* norm;      // (rows) of a block
  const float* residual;  // (rows)
  const LoweredBound* bound;
  const float* part;        // of the margin: of each column for KeepTwo, the largest of each group for KeepGroups
  AmbiguousRows ambiguous;  // out; without a count, rows keep their best column
};

/// A load that the compiler does not move across other volatile statements.
__device__ float load_here(const float* from) {
  float value;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(from));
  return value;
}

/// The norms in the margin of the row that a thread decides, loaded before they are needed.
struct RowNorms {
  float norm = 0.0F, residual = 0.0F;

  __device__ void fetch(const DecisionArguments& given, std::int64_t row, std::int64_t rows) {
    if (row >= rows) return;
    norm = load_here(given.norm + row);
    residual = load_here(given.residual + row);
  }
  /// lowest: the lowest score of the row, bias included; at: its column, or the group of that.
  __device__ float margin(const DecisionArguments& given, float lowest, std::int32_t at) const {
    return given.bound->of_row(norm, residual, lowest, __ldg(given.part + at));
  }
  /// Whether another screen decides the row, which is too long for this one.
  __device__ bool is_longer(const DecisionArguments& given) const { return norm > given.bound->longest; }
};

/// The two smallest scores of a row among those of a thread, and the tile of the smallest.
struct SmallestTwo : QuantizedBestTwo {
  unsigned tile = 0;
};

/// The two smallest scores of a row over its four threads, and the column of the smallest.
struct JoinedTwo {
  int best, second;
  std::int32_t column;

  /// Combines the results of the four threads of the row.
  __device__ void join() {
#pragma unroll
    for (int w = 1; w <= 2; w *= 2) {
      const int other_best = __shfl_xor_sync(kAllLanes, best, w), other_second = __shfl_xor_sync(kAllLanes, second, w);
      const int other_column = __shfl_xor_sync(kAllLanes, column, w);
      second = __vimin3_s32(second, other_second, max(best, other_best));
      column = other_best < best ? other_column : column;
      best = min(best, other_best);
    }
  }
};

/// The row that this thread decides: the four threads that share four rows decide one each.
__device__ std::int64_t row_of_quarter(std::int64_t row) { return row_at(row, quarter()); }
/// The joined result of the row that this thread decides. kept(r): this thread's result for row r.
template <class Kept>
__device__ JoinedTwo joined_of_quarter(const Kept& kept) {
  JoinedTwo chosen{};
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    JoinedTwo row = kept(r);
    row.join();
    if (r == quarter()) chosen = row;
  }
  return chosen;
}

/// Finds the nearest column of every row, for few columns: the best two of all quantized scores, each with the number
/// of its column in its last bits.
class KeepTwo {
 public:
  static constexpr bool kAnyColumns = false;
  struct Arguments {
    DecisionArguments rows;
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
    // Not in begin(): the first scores would wait for these loads.
    if (kHalf == 1 && !fetched_) {
      norms_.fetch(arguments_.rows, row_, rows_);
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
  __device__ void decide(const JoinedTwo& result, std::int64_t row) const {
    const float best = quantized_value(result.best), second = quantized_value(result.second);
    const DecisionArguments& given = arguments_.rows;
    const bool mine = row < rows_;
    const QuantizationGrid& grid = given.bound->grid;
    const float margin =
        mine ? __fadd_ru(norms_.margin(given, __fsub_ru(best, grid.scale), result.column), grid.error) : 0.0F;
    const bool decided = __fsub_rd(second, best) > margin;
    const float limit = grid.limit(best, margin);
    if (mine) arguments_.nearest[row] = result.column;  // of an ambiguous row, a guess
    if (given.ambiguous) given.ambiguous.append(mine && !decided && !norms_.is_longer(given), row, limit);
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  float offset_;
  std::int64_t row_ = 0;  // decided by this thread
  bool fetched_ = false;
  RowNorms norms_;
  SmallestTwo kept_[4];
};

/// The smallest scores of the best three groups of columns, and the first two of these groups.
struct SmallestGroups {
  int best = INT_MAX, second = INT_MAX, third = INT_MAX;
  std::int32_t best_group = 0, second_group = 0;

  __device__ void take(int smallest, std::int32_t group) {
    third = min(third, max(second, smallest));
    second_group = smallest < best ? best_group : smallest < second ? group : second_group;
    second = min(second, max(best, smallest));
    best_group = smallest < best ? group : best_group;
    best = min(best, smallest);
  }
  /// Combines the results of the four threads of the row.
  __device__ void join() {
#pragma unroll
    for (int w = 1; w <= 2; w *= 2) {
      SmallestGroups other;
      other.best = __shfl_xor_sync(kAllLanes, best, w);
      other.second = __shfl_xor_sync(kAllLanes, second, w);
      other.third = __shfl_xor_sync(kAllLanes, third, w);
      other.best_group = __shfl_xor_sync(kAllLanes, best_group, w);
      other.second_group = __shfl_xor_sync(kAllLanes, second_group, w);
      third = min(min(third, other.third), min(max(best, other.second), max(second, other.best)));
      const int worse = max(best, other.best);
      const std::int32_t worse_group = other.best < best ? best_group : other.best_group;
      best_group = other.best < best ? other.best_group : best_group;
      best = min(best, other.best);
      second_group = other.second < second ? other.second_group : second_group;
      second = min(second, other.second);
      second_group = worse < second ? worse_group : second_group;
      second = min(second, worse);
    }
  }
};

/// Finds the groups of 32 columns that may contain the nearest column, for many columns: keeps the best three of the
/// groups' smallest scores. If more than two groups are within the limit, the row is ambiguous.
class KeepGroups {
 public:
  static constexpr bool kAnyColumns = false;
  struct Arguments {
    DecisionArguments rows;
    RowGroups groups;  // out
  };

  __device__ KeepGroups(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    norms_.fetch(arguments_.rows, row_of_quarter(row), rows_);
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
    SmallestGroups result;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      constexpr int kGroups = kFp16Columns / kGroupColumns;
      SmallestGroups joined = kept_[r];
      joined.best_group = joined.best_group * kGroups + quarter();
      joined.second_group = joined.second_group * kGroups + quarter();
      joined.join();
      if (r == quarter()) result = joined;
    }
    decide(result, row_of_quarter(row));
  }

 private:
  __device__ void decide(const SmallestGroups& result, std::int64_t row) const {
    const bool mine = row < rows_, listed = static_cast<bool>(arguments_.rows.ambiguous);
    const float lowest = __int_as_float(result.best);
    const float limit = mine ? __fadd_ru(lowest, norms_.margin(arguments_.rows, lowest, result.best_group)) : 0.0F;
    const bool one = __int_as_float(result.second) > limit, two = __int_as_float(result.third) > limit;
    if (mine) {
      const RowGroups& groups = arguments_.groups;
      const bool decided = two || !listed;
      groups.first[row] = decided ? result.best_group : RowGroups::kNone;
      groups.second[row] = !decided                ? RowGroups::of_ambiguous(result.best_group)
                           : two && !one && listed ? result.second_group
                                                   : RowGroups::kNone;
      groups.limit[row] = limit;
    }
    if (listed) {
      arguments_.rows.ambiguous.append(mine && !two && !norms_.is_longer(arguments_.rows), row, limit);
    }
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  RowNorms norms_;
  SmallestGroups kept_[4];
};

/// Lists every column whose score is within its row's limit: the refinement pass over ambiguous rows.
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

/// The product of rows, given as tiles, with the columns.
template <class T>
Fp16Problem problem_of(const HeldRows<T>& held, const Fp16Columns& columns, const uint4* points, Count rows) {
  return {.points = points,
          .rows = rows,
          .columns = columns.centroids.values.data(),
          .count = columns.count,
          .score_base = columns.score_base.data(),
          .shape = held.fp16.shape};
}

/// Gathers the fp16 rows at `chosen` positions of a block (at most kBatch) in screen.gathered(). Does not wait.
template <class T>
void gather_fp16_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                      const std::int32_t* chosen, Count count) {
  const Fp16Layout shape = held.fp16.shape;
  if (held.fp16.by_block && !held.is_on_device(block) && count.known == nullptr) {
    const ChosenValues<T> rows = held.chosen_on_device(block, chosen, count.most);
    if (rows.chosen == nullptr) return queue_fp16_tiles(held, rows.values, count.most, screen.gathered());
  }
  gather_fp16_tiles(*held.context, fp16_tiles(held, block), chosen, count, shape, screen.gathered());
}

}  // namespace

bool device_multiplies_fp16(ScreenPath path, int device) { return device_has_product<KeepTwo>(path, device); }

template <class T>
Fp16Screen::Fp16Screen(const HeldRows<T>& held, std::int64_t count, bool in_groups)
    : columns(allocate_fp16_columns(held.pool(), count, held.columns())),
      row_(held.pool(), held.largest_block()),
      limit_(held.pool(), held.largest_block()),
      counts_(held.pool(), (held.rows() + held.block_rows - 1) / held.block_rows),
      block_rows_(held.block_rows) {
  if (in_groups) groups = GroupWorkspace(held.pool(), held.largest_block(), count);
  const Fp16Layout shape = held.fp16.shape;
  const std::int64_t batch = row_groups_of(std::min(held.largest_block(), kBatch)) * shape.depth_tiles;
  gathered_ = Buffer<uint4>(held.pool(), batch * (shape.tile_bytes() / 16));
}

template <class T>
ScreeningInput whole_block(const HeldRows<T>& held, const Block<T>& block) {
  return {.count = block.rows,
          .tiles = fp16_tiles(held, block),
          .norm = held.fp16.norm.data() + block.first,
          .residual = held.fp16.residual.data() + block.first,
          .nearest = held.label.data() + block.first};
}

template <class T>
void screen_fp16(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block, const ScreeningInput& rows,
                 const RefinementWorkspace& workspace) {
  const Fp16Columns& columns = screen.columns;
  const bool in_groups = screen.groups.groups > 0;
  const float* part = in_groups ? columns.group_part.data() : columns.part.data();
  const DecisionArguments arguments{rows.norm, rows.residual, columns.bound.data(), part, screen.ambiguous(block)};
  Fp16Problem problem = problem_of(held, columns, rows.tiles, rows.count);
  held.stream().fill(screen.counts(block), 0, 1);
  if (in_groups) {
    launch_product<KeepGroups>(*held.context, problem, {arguments, screen.groups.rows()});
    nearest_in_groups(held, columns, rows, screen.groups, workspace, screen.counts(block));
  } else {
    problem.score_base = columns.quantized_base.data();
    launch_product<KeepTwo>(*held.context, problem, {arguments, rows.nearest});
  }
}

template <class T>
void append_listed_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const ScreeningInput& rows) {
  append_listed_rows(held, rows, screen.groups, screen.ambiguous(block));
}

template <class T>
void collect_fp16_candidates(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                             const AmbiguousRows& ambiguous, const CandidateOutput& candidates, std::int64_t first,
                             Count count) {
  gather_fp16_rows(held, screen, block, ambiguous.row + first, count);
  launch_product<WithinLimit>(*held.context, problem_of(held, screen.columns, screen.gathered(), count),
                              {ambiguous.limit + first, screen.columns.count, candidates});
}

#define KITH_INSTANTIATE(T)                                                                                           \
  template Fp16Screen::Fp16Screen(const HeldRows<T>&, std::int64_t, bool);                                            \
  template ScreeningInput whole_block(const HeldRows<T>&, const Block<T>&);                                           \
  template void screen_fp16(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const ScreeningInput&,            \
                            const RefinementWorkspace&);                                                              \
  template void append_listed_rows(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const ScreeningInput&);    \
  template void collect_fp16_candidates(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const AmbiguousRows&, \
                                        const CandidateOutput&, std::int64_t, Count);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
