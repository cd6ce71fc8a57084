// Weighted rows: column magnitudes, and cluster sums with the weights of the rows.
//
// Reassignments are sorted by cluster; each thread adds up the rows of one cluster at a time and flushes with integer
// atomics. Whole weights multiply integers, others multiply values (core/points/weights.h). Cost: n d and a sort.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "kernels/cpu/operations.h"

namespace kith::cpu {
namespace {

/// A row added to a cluster (sign 1) or removed from it (-1).
struct Reassignment {
  std::int32_t cluster;
  std::int32_t sign;
  std::int64_t row;
};

void add(std::int64_t& sum, std::int64_t part) {
  if (part != 0) std::atomic_ref<std::int64_t>(sum).fetch_add(part, std::memory_order_relaxed);
}

/// Adds up the rows of one cluster at a time.
template <class T>
class Accumulator {
 public:
  Accumulator(const HeldRows<T>& held, ClusterSums& sums)
      : held_(held),
        sums_(sums),
        low_scale_(held.plan.scales.low_scale()),
        weight_grid_(held.plan.weights.grid()),
        columns_(static_cast<std::size_t>(held.columns())) {}

  void add_row(const Reassignment& reassignment) {
    const ColumnScales& scales = held_.plan.scales;
    const RowWeight weight = held_.weights.of(reassignment.row);
    const T* x = held_.row(reassignment.row);
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const auto value = static_cast<double>(x[j]);
      if (sums_.limbs == 2) {
        const Limbs limbs = weighted_limbs(value, scales.first[j], scales.second[j], low_scale_, weight);
        columns_[j].high += reassignment.sign * limbs.high;
        columns_[j].low += reassignment.sign * limbs.low;
      } else {
        columns_[j].high += reassignment.sign * weighted_fixed(value, scales.first[j], scales.second[j], weight);
      }
    }
    const Limbs terms = weighted_limbs(1.0, weight_grid_.first, weight_grid_.second, low_scale_, weight);
    weight_.high += reassignment.sign * terms.high;
    weight_.low += reassignment.sign * terms.low;
  }

  void flush(std::int64_t cluster) {
    const std::size_t at = static_cast<std::size_t>(cluster) * columns_.size();
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      add(sums_.high[at + j], columns_[j].high);
      if (sums_.limbs == 2) add(sums_.low[at + j], columns_[j].low);
      columns_[j] = {};
    }
    Limbs& weight = sums_.weights[static_cast<std::size_t>(cluster)];
    add(weight.high, weight_.high);
    add(weight.low, weight_.low);
    weight_ = {};
  }

 private:
  const HeldRows<T>& held_;
  ClusterSums& sums_;
  double low_scale_;
  FixedScale weight_grid_;
  std::vector<Limbs> columns_;  // (d) both limbs of the sums of the rows of a cluster
  Limbs weight_;
};

}  // namespace

template <class T>
void add_weighted_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes) {
  const std::int64_t d = held.columns();
  const double small = scales.small_limit(), lost = scales.lost_limit();
  const RowWeights weights{held.weights.weight, scales.integral_weights};
  std::mutex merging;
  held.for_ranges(held.rows_per_task(8 * d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    ColumnMagnitudes part(d);
    for (std::int64_t i = first; i < last; ++i) {
      const RowWeight weight = weights.of(i);
      const T* x = held.row(i);
      for (std::int64_t j = 0; j < d; ++j) {
        const double scaled = static_cast<double>(x[j]) * scales.first[j] * (scales.second[j] * weight.factor);
        const auto q = static_cast<std::int64_t>(std::rint(scaled));
        part.sum[j] += q * weight.copies;
        part.absolute_sum[j] += std::abs(q) * weight.copies;
        part.on_grid[j] &= static_cast<std::uint8_t>(static_cast<double>(q) == scaled);
        if (x[j] == 0) continue;
        if (std::abs(scaled) < small) part.small[j] += weight.copies;
        if (std::abs(scaled) < lost) part.lost[j] += weight.copies;
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

template <class T>
void update_weighted_sums(HeldRows<T>& held, ClusterSums& sums) {
  const std::int64_t rows_per_thread = ceil_div(held.rows(), held.threads.count());
  const std::int64_t rows_per_range =
      std::max(held.block_rows > 0 ? held.block_rows : rows_per_thread, held.rows_per_task(held.columns()));
  held.for_ranges(rows_per_range, [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    std::vector<Reassignment> reassignments;
    for (std::int64_t i = first; i < last; ++i) {
      if (held.label[i] == held.summed[i]) continue;
      if (held.summed[i] >= 0) reassignments.push_back({held.summed[i], -1, i});
      reassignments.push_back({held.label[i], 1, i});
      held.summed[i] = held.label[i];
    }
    std::sort(reassignments.begin(), reassignments.end(),
              [](const Reassignment& a, const Reassignment& b) { return a.cluster < b.cluster; });
    Accumulator<T> accumulator(held, sums);
    for (std::size_t m = 0; m < reassignments.size(); ++m) {
      accumulator.add_row(reassignments[m]);
      if (m + 1 == reassignments.size() || reassignments[m + 1].cluster != reassignments[m].cluster)
        accumulator.flush(reassignments[m].cluster);
    }
  });
}

#define KITH_INSTANTIATE(T)                                                                          \
  template void add_weighted_magnitudes(const HeldRows<T>&, const ColumnScales&, ColumnMagnitudes&); \
  template void update_weighted_sums(HeldRows<T>&, ClusterSums&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
