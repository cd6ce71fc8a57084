// The sums of clusters of weighted rows.
//
// Each reassigned row is added by 64-bit integer atomics, one per column and limb, whose order does not matter: n d of
// them the first time, few later. Whole weights multiply integers, others multiply values (core/points/weights.h).
#include "kernels/cuda/assign/update.h"

namespace kith::cuda {
namespace {

/// The grid of the sums of weights. Their low limbs have the scale of those of the columns.
struct WeightGrid {
  double first, second;
};

/// Adds a row to a cluster, or subtracts it (sign -1). All lanes of a warp call it.
template <class T>
__device__ void add_row(const T* x, std::int64_t d, std::int64_t cluster, std::int64_t sign, RowWeight weight,
                        const SumGrid& grid, const WeightGrid& weight_grid, const WeightedTotals& totals) {
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const auto value = static_cast<double>(x[j]);
    const std::int64_t at = cluster * d + j;
    if (totals.low != nullptr) {
      const Limbs limbs = weighted_limbs(value, grid.first[j], grid.second[j], grid.low_scale, weight);
      atomicAdd(&totals.high[at], static_cast<Word>(sign * limbs.high));
      atomicAdd(&totals.low[at], static_cast<Word>(sign * limbs.low));
    } else {
      const std::int64_t q = weighted_fixed(value, grid.first[j], grid.second[j], weight);
      atomicAdd(&totals.high[at], static_cast<Word>(sign * q));
    }
  }
  if (lane_index() != 0) return;
  const Limbs own = weighted_limbs(1.0, weight_grid.first, weight_grid.second, grid.low_scale, weight);
  atomicAdd(&totals.weights[2 * cluster], static_cast<Word>(sign * own.high));
  atomicAdd(&totals.weights[2 * cluster + 1], static_cast<Word>(sign * own.low));
}

/// A warp processes a row at a time.
template <class T>
__global__ void update_kernel(const T* values, std::int64_t rows, std::int64_t d, RowWeights weights,
                              const std::int32_t* label, std::int32_t* summed, SumGrid grid, WeightGrid weight_grid,
                              WeightedTotals totals) {
  for (std::int64_t row = warp_index(); row < rows; row += warp_count()) {
    const std::int32_t now = label[row], before = summed[row];
    __syncwarp();  // every lane has read summed[row] before lane 0 overwrites it
    if (now == before) continue;
    const RowWeight weight = weights.of(row);
    const T* x = values + row * d;
    if (before >= 0) add_row(x, d, before, -1, weight, grid, weight_grid, totals);
    add_row(x, d, now, 1, weight, grid, weight_grid, totals);
    if (lane_index() == 0) summed[row] = now;
  }
}

}  // namespace

template <class T>
WeightedSumUpdater<T>::WeightedSumUpdater(const HeldRows<T>& held) : factors_(held.pool(), 2 * held.columns()) {
  held.stream().upload(factors_.data(), held.plan.scales.first.data(), held.columns());
  held.stream().upload(factors_.data() + held.columns(), held.plan.scales.second.data(), held.columns());
}

template <class T>
void WeightedSumUpdater<T>::update(HeldRows<T>& held, const Block<T>& block, const WeightedTotals& totals) const {
  const std::int64_t d = held.columns();
  const FixedScale weight_scale = held.plan.weights.grid();
  update_kernel<<<held.context->grid(block.rows, kBlockWarps), kBlock, 0, held.stream()>>>(
      held.on_device(block), block.rows, d, held.weights(block.first), held.label.data() + block.first,
      held.summed.data() + block.first, SumGrid{factors_.data(), factors_.data() + d, held.plan.scales.low_scale()},
      WeightGrid{weight_scale.first, weight_scale.second}, totals);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T) template class WeightedSumUpdater<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
