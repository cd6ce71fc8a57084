// The rows farthest from their centroids: one pass over the kept distances with a heap, at most n log(count).
#include "kernels/cpu/operations.h"

namespace kith::cpu {

template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count) {
  const auto farther = [](const FarRow& a, const FarRow& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  };
  std::vector<FarRow> heap;  // its front is the nearest kept row
  for (std::int64_t i = 0; i < held.rows(); ++i) {
    const FarRow row{held.distance[i], held.first_row + i, held.label[i]};
    if (static_cast<std::int64_t>(heap.size()) == count) {
      if (!farther(row, heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end(), farther);
      heap.pop_back();
    }
    heap.push_back(row);
    std::push_heap(heap.begin(), heap.end(), farther);
  }
  std::sort_heap(heap.begin(), heap.end(), farther);
  return heap;
}

#define KITH_INSTANTIATE(T) template std::vector<FarRow> farthest(const HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
