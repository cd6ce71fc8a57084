// The interface of an epilogue: what an fp16 product does with its scores while they are in registers.
//
// An epilogue E has
//   E::Arguments      what a launch passes to it
//   E::kAnyColumns    true: a row may be processed several times, with other columns each time
//   E::kColumnRanges  present and true: columns come in ranges whose length the launch gives
//   E(arguments, rows), begin(row), take<H>(products, score_base, tile) for the parts H = 0, 1 of the rows,
//   finish(row)
// A thread has rows `row` and row + 8 (part 0), row + 64 and row + 72 (part 1), and 32 columns of each column tile, a
// group; score_base points to the addends of the first of them.
//
// Also what epilogues share: which rows and columns a thread has, and the scores in its registers.
#pragma once

#include <climits>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/fp16_columns.h"

namespace kith::cuda {

template <class Epilogue>
inline constexpr bool has_column_ranges = requires {
  Epilogue::kColumnRanges;
};

/// The index of this thread among the four that share four rows, and of the 32 columns of a tile that it has.
__device__ inline int quarter() { return static_cast<int>(threadIdx.x) % 4; }

/// Row r of the four rows of a thread, after begin(row).
__device__ inline std::int64_t row_at(std::int64_t row, int r) { return row + r / 2 * 64 + r % 2 * 8; }

/// The addends of the scores of columns 4 i .. 4 i + 3 of a thread's 32.
__device__ inline float4 base_of(const float* score_base, int i) {
  return __ldg(reinterpret_cast<const float4*>(score_base) + 4 * i);
}
/// The product of column 4 i + kColumn with row r of the two rows that a thread has in 64 rows of a tile.
template <int kColumn>
__device__ inline float product_of(const float (&product)[64], int i, int r) {
  return product[8 * i + kColumn / 2 * 4 + 2 * r + kColumn % 2];
}

/// The bits of a positive score, which order like the score.
__device__ inline int positive_score(float base, float product) { return __float_as_int(__fsub_rn(base, product)); }
/// The smaller of `smallest` and the scores of columns 4 i .. 4 i + 3 of row r, as positive_score.
__device__ inline int smallest_of(int smallest, const float4& base, const float (&product)[64], int i, int r) {
  smallest = __vimin3_s32(smallest, positive_score(base.x, product_of<0>(product, i, r)),
                          positive_score(base.y, product_of<1>(product, i, r)));
  return __vimin3_s32(smallest, positive_score(base.z, product_of<2>(product, i, r)),
                      positive_score(base.w, product_of<3>(product, i, r)));
}
/// The smallest scores of these two rows over a thread's 32 columns, as positive_score.
__device__ inline void smallest_scores(const float (&product)[64], const float* score_base, int (&smallest)[2]) {
  smallest[0] = smallest[1] = INT_MAX;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float4 base = base_of(score_base, i);
#pragma unroll
    for (int r = 0; r < 2; ++r) smallest[r] = smallest_of(smallest[r], base, product, i, r);
  }
}
/// Sets the bits of those of columns 4 i .. 4 i + 3 whose score is within the limit. A NaN counts as within: of a
/// score, where an fp16 value overflowed, or of the limit.
__device__ inline void add_within(unsigned& within, float limit, const float4& base, const float (&product)[64], int i,
                                  int r) {
  if (!(__fsub_rn(base.x, product_of<0>(product, i, r)) > limit)) within |= 1U << (4 * i);
  if (!(__fsub_rn(base.y, product_of<1>(product, i, r)) > limit)) within |= 2U << (4 * i);
  if (!(__fsub_rn(base.z, product_of<2>(product, i, r)) > limit)) within |= 4U << (4 * i);
  if (!(__fsub_rn(base.w, product_of<3>(product, i, r)) > limit)) within |= 8U << (4 * i);
}

}  // namespace kith::cuda
