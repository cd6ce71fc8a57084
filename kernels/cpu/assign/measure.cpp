// The distance of every row to the centroid of its label by the definition, and the inertia as integers: n d float64
// operations in one pass over the points.
#include <mutex>

#include "kernels/cpu/points.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kBlock = 256;  // rows per block, whose distances stay in the first-level cache

/// Both limbs of each weighted distance.
void weighted_to_grid(const RowWeights& weights, const double* distance, std::int64_t count,
                      const MeasureRequest& request, std::int64_t* high, std::int64_t* low) {
  const double low_scale = power_of_two(request.inertia_bits);
  for (std::int64_t r = 0; r < count; ++r) {
    const Limbs limbs =
        weighted_limbs(distance[r], request.inertia.first, request.inertia.second, low_scale, weights.of(r));
    high[r] = limbs.high;
    low[r] = limbs.low;
  }
}

}  // namespace

template <class T>
void CpuPoints<T>::measure(const MeasureRequest& request, std::span<Limbs> inertia) {
  held_.pristine = false;
  const std::int64_t d = held_.columns();
  const double low_scale = power_of_two(request.inertia_bits);
  const std::int64_t k = request.centroids.rows;
  // Consecutive rows often have the same label; two sums avoid dependent additions.
  constexpr std::int64_t kWays = 2;
  held_.totals.current = false;
  std::mutex merging;
  held_.for_ranges(held_.rows_per_task(8 * d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    std::vector<Limbs> part(static_cast<std::size_t>(kWays * k));
    std::int64_t high[kBlock], low[kBlock];
    for (std::int64_t i = first; i < last; i += kBlock) {
      const std::int64_t count = std::min(kBlock, last - i);
      const std::int32_t* label = held_.label.data() + i;
      double* distance = held_.distance.data() + i;
      held_.set.narrow.template rows<T>().label_distances(held_.row(i), count, d, request.centroids.data, label,
                                                          distance);
      if (held_.weights.weight == nullptr) {
        held_.set.to_grid(distance, count, request.inertia, low_scale, high, low);
      } else {
        weighted_to_grid(held_.weights.from(i), distance, count, request, high, low);
      }
      for (std::int64_t r = 0; r < count; ++r) {
        Limbs& sum = part[r % kWays * k + label[r]];
        sum.high += high[r];
        sum.low += low[r];
      }
    }
    const std::lock_guard lock(merging);
    for (std::size_t c = 0; c < part.size(); ++c) {
      inertia[c % k].high += part[c].high;
      inertia[c % k].low += part[c].low;
    }
  });
}

#define KITH_INSTANTIATE(T) template void CpuPoints<T>::measure(const MeasureRequest&, std::span<Limbs>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
