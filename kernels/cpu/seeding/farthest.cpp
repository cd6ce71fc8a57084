// The rows farthest from their centroids: one pass over the kept distances.
#include "core/points/points.h"
#include "kernels/cpu/operations.h"

namespace kith::cpu {

template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count) {
  FarthestRows far(count);
  for (std::int64_t i = 0; i < held.rows(); ++i) far.add({held.distance[i], held.first_row + i, held.label[i]});
  return far.take();
}

#define KITH_INSTANTIATE(T) template std::vector<FarRow> farthest(const HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
