// Column ranges and magnitudes: one pass over the points each, memory-bound.
#include <cmath>
#include <mutex>

#include "kernels/cpu/operations.h"

namespace kith::cpu {

template <class T>
void add_range(const HeldRows<T>& held, ColumnRange& range) {
  const std::int64_t d = held.columns();
  std::mutex merging;
  held.for_ranges(held.rows_per_task(d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    std::vector<T> low(held.row(first), held.row(first) + d), high = low;
    for (std::int64_t i = first; i < last; ++i) {
      const T* x = held.row(i);
      for (std::int64_t j = 0; j < d; ++j) {
        low[j] = x[j] < low[j] ? x[j] : low[j];
        high[j] = x[j] > high[j] ? x[j] : high[j];
      }
    }
    const std::lock_guard lock(merging);
    for (std::int64_t j = 0; j < d; ++j) {
      range.minimum[j] = std::min(range.minimum[j], static_cast<double>(low[j]));
      range.maximum[j] = std::max(range.maximum[j], static_cast<double>(high[j]));
    }
  });
}

template <class T>
void add_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes) {
  const std::int64_t d = held.columns();
  const double small = scales.small_limit(), lost = scales.lost_limit();
  std::mutex merging;
  held.for_ranges(held.rows_per_task(d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    ColumnMagnitudes part(d);
    for (std::int64_t i = first; i < last; ++i) {
      const T* x = held.row(i);
      for (std::int64_t j = 0; j < d; ++j) {
        const double scaled = static_cast<double>(x[j]) * scales.first[j] * scales.second[j];
        const double rounded = __builtin_rint(scaled);
        const auto q = static_cast<std::int64_t>(rounded);
        part.sum[j] += q;
        part.absolute_sum[j] += q < 0 ? -q : q;
        part.on_grid[j] &= static_cast<std::uint8_t>(rounded == scaled);
        part.small[j] += x[j] != 0 && std::abs(scaled) < small;
        part.lost[j] += x[j] != 0 && std::abs(scaled) < lost;
      }
    }
    const std::lock_guard lock(merging);
    for (std::int64_t j = 0; j < d; ++j) {
      magnitudes.sum[j] += part.sum[j];
      magnitudes.absolute_sum[j] += part.absolute_sum[j];
      magnitudes.on_grid[j] &= part.on_grid[j];
      magnitudes.small[j] += part.small[j];
      magnitudes.lost[j] += part.lost[j];
    }
  });
}

#define KITH_INSTANTIATE(T)                                  \
  template void add_range(const HeldRows<T>&, ColumnRange&); \
  template void add_magnitudes(const HeldRows<T>&, const ColumnScales&, ColumnMagnitudes&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
