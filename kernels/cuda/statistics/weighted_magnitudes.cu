// Magnitudes of the columns of weighted rows: a weight of w has the same effect as repeating the row w times
// (core/points/weights.h).
//
// Reads n d values once, like statistics.cu. Integer weights multiply the rounded values, others the values.
#include "kernels/cuda/statistics/column_magnitudes.h"
#include "kernels/cuda/statistics/column_walk.h"

namespace kith::cuda {
namespace {

/// factors: (2, d) the two factors of each column's grid.
template <class T>
__global__ void magnitude_kernel(const T* values, std::int64_t rows, std::int64_t d, int width, RowWeights weights,
                                 const double* factors, MagnitudeSums out) {
  const ColumnWalk walk(rows, width);
  if (walk.first >= walk.last) return;
  for (std::int64_t j = walk.column; j < d; j += walk.column_step) {
    const double first = factors[j], second = factors[d + j];
    Word sum = 0, absolute_sum = 0, off_grid = 0, small = 0, lost = 0;
    for (std::int64_t i = walk.first; i < walk.last; ++i) {
      const RowWeight weight = weights.of(i);
      const auto value = static_cast<double>(values[i * d + j]);
      const double scaled = value * first * (second * weight.factor);
      const double rounded = rint(scaled);
      const auto q = static_cast<std::int64_t>(rounded);
      const auto copies = static_cast<Word>(weight.copies);
      sum += static_cast<Word>(q) * copies;
      absolute_sum += static_cast<Word>(q < 0 ? -q : q) * copies;
      if (rounded != scaled) off_grid = 1;
      if (value == 0.0) continue;
      if (fabs(scaled) < out.small_limit) small += copies;
      if (fabs(scaled) < out.lost_limit) lost += copies;
    }
    atomicAdd(&out.sum[j], sum);
    atomicAdd(&out.absolute_sum[j], absolute_sum);
    if (off_grid != 0) atomicOr(&out.off_grid[j], off_grid);
    if (small != 0) atomicAdd(&out.small[j], small);
    if (lost != 0) atomicAdd(&out.lost[j], lost);
  }
}

}  // namespace

template <class T>
void add_weighted_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes) {
  const RowWeights weights{held.weight.data(), scales.integral_weights};
  sum_magnitudes(held, scales, magnitudes, [&](const double* factors, const MagnitudeSums& out) {
    held.for_blocks([&](const Block<T>& block) {
      const WalkShape shape = walk_shape(*held.context, block.rows, held.columns());
      magnitude_kernel<<<shape.grid, kBlock, 0, held.stream()>>>(held.on_device(block), block.rows, held.columns(),
                                                                 shape.width, weights.from(block.first), factors, out);
      check(cudaGetLastError());
    });
  });
}

#define KITH_INSTANTIATE(T) \
  template void add_weighted_magnitudes(const HeldRows<T>&, const ColumnScales&, ColumnMagnitudes&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
