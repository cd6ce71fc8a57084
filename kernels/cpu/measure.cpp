// The distance of every row to the centroid of its label by the definition, and the inertia as integers: one pass over
// the points.
#include <mutex>

#include "kernels/cpu/operations.h"

namespace kith::cpu {

template <class T>
void measure(HeldRows<T>& held, const MeasureRequest& request, std::span<Limbs> inertia) {
  const std::int64_t d = held.columns();
  const double low_scale = power_of_two(request.inertia_bits);
  const auto distance = held.set.template rows<T>().distance;
  std::mutex merging;
  held.for_ranges(held.rows_per_task(8 * d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    std::vector<Limbs> part(inertia.size());
    std::int64_t high[kMaxLanes], low[kMaxLanes];
    for (std::int64_t i = first; i < last; i += kMaxLanes) {
      const int count = static_cast<int>(std::min<std::int64_t>(kMaxLanes, last - i));
      for (std::int64_t row = i; row < i + count; ++row) {
        held.distance[row] = distance(held.row(row), request.centroids.row(held.label[row]).data(), d);
      }
      held.set.to_grid(held.distance.data() + i, count, request.inertia, low_scale, high, low);
      for (int r = 0; r < count; ++r) {
        Limbs& sum = part[held.label[i + r]];
        sum.high += high[r];
        sum.low += low[r];
      }
    }
    const std::lock_guard lock(merging);
    for (std::size_t c = 0; c < part.size(); ++c) {
      inertia[c].high += part[c].high;
      inertia[c].low += part[c].low;
    }
  });
}

#define KITH_INSTANTIATE(T) template void measure(HeldRows<T>&, const MeasureRequest&, std::span<Limbs>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
