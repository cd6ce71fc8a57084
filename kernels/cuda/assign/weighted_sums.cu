// The sums of clusters of weighted rows.
//
// Each reassigned row is added by 64-bit integer atomics, one per column and limb, whose order does not matter: n d of
// them the first time, few later. Whole weights multiply integers, others multiply values (core/weights.h).
#include <vector>

#include "kernels/cuda/assign/update.h"

namespace kith::cuda {
namespace {

/// The totals to which reassigned rows are added; signed numbers as their bits.
struct WeightedTotals {
  Word* high;     // (k, d)
  Word* low;      // (k, d), null with one limb
  Word* weights;  // (k, 2) both limbs
};

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
    __syncwarp();  // all lanes have read it
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
void update_weighted_sums(HeldRows<T>& held, ClusterSums& sums) {
  const std::int64_t d = held.columns(), limbs = sums.limbs;
  const auto cells = static_cast<std::int64_t>(sums.high.size());
  const std::int64_t clusters = cells / d;
  const Stream& stream = held.stream();
  const ColumnScales& scales = held.plan.scales;
  const FixedScale weight_scale = held.plan.weights.grid();
  Buffer<double> factors(held.pool(), 2 * d);
  Buffer<Word> changes(held.pool(), limbs * cells + 2 * clusters);
  stream.upload(factors.data(), scales.first.data(), d);
  stream.upload(factors.data() + d, scales.second.data(), d);
  stream.fill(changes.data(), 0, changes.size());
  const SumGrid grid{factors.data(), factors.data() + d, scales.low_scale()};
  const WeightGrid weight_grid{weight_scale.first, weight_scale.second};
  const WeightedTotals totals{changes.data(), limbs == 2 ? changes.data() + cells : nullptr,
                              changes.data() + limbs * cells};
  held.for_blocks([&](const Block<T>& block) {
    update_kernel<<<held.context->grid(block.rows, kBlockWarps), kBlock, 0, stream>>>(
        held.on_device(block), block.rows, d, held.weights(block.first), held.label.data() + block.first,
        held.summed.data() + block.first, grid, weight_grid, totals);
    check(cudaGetLastError());
  });
  std::vector<Word> downloaded(static_cast<std::size_t>(changes.size()));
  stream.download(downloaded.data(), changes.data(), changes.size());
  for (std::int64_t i = 0; i < cells; ++i) {
    sums.high[i] += static_cast<std::int64_t>(downloaded[i]);
    if (limbs == 2) sums.low[i] += static_cast<std::int64_t>(downloaded[cells + i]);
  }
  for (std::int64_t c = 0; c < clusters; ++c) {
    sums.weights[c].high += static_cast<std::int64_t>(downloaded[limbs * cells + 2 * c]);
    sums.weights[c].low += static_cast<std::int64_t>(downloaded[limbs * cells + 2 * c + 1]);
  }
}

#define KITH_INSTANTIATE(T) template void update_weighted_sums(HeldRows<T>&, ClusterSums&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
