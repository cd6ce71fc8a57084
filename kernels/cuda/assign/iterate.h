// Lloyd's iteration on the device: its state, the step from sums to centroids, and the form for small problems.
#pragma once

#include <cstdint>

#include "core/kmeans/cluster_update.h"
#include "core/numbers/fixed_point.h"
#include "kernels/cuda/assign/part_exchange.h"
#include "kernels/cuda/assign/update.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {

/// The constants by which sums become centroids, on the device.
struct MeanGrid {
  const int* shift;    // (d) exponents of the grid of the sums
  int low_bits;        // 0: one limb
  const double* mean;  // (d) DataPlan::mean
};

/// The sum of the rows of a cluster in one column; at: cluster x d + column.
__device__ inline Limbs sum_at(const ClusterTotals& totals, std::int64_t at) {
  return {static_cast<std::int64_t>(totals.high[at]),
          totals.low != nullptr ? static_cast<std::int64_t>(totals.low[at]) : 0};
}
__device__ inline Limbs sum_at(const TotalsInParts& totals, bool two_limbs, std::int64_t at) {
  Word high = 0, low = 0;
  for (int p = 0; p < totals.parts; ++p) {
    high += totals.sums[p][at];
    if (two_limbs) low += totals.sums[p][totals.cells + at];
  }
  return {static_cast<std::int64_t>(high), static_cast<std::int64_t>(low)};
}

/// Computes the mean of `count` rows, by one warp. sum(j): of column j. before: (d). store(j, value): column j of the
/// mean.
template <class Sum, class Store>
__device__ inline ClusterChange update_centroid(const MeanGrid& grid, std::int64_t count, std::int64_t d,
                                                const Sum& sum, const double* before, const Store& store) {
  double shift[1] = {0.0}, between[1] = {0.0};
  bool altered = false;
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const double old = before[j], mean = mean_of(sum(j), grid.shift[j], grid.low_bits, static_cast<double>(count));
    store(j, mean);
    altered = altered || __double_as_longlong(mean) != __double_as_longlong(old);
    shift[0] = add_square(mean, old, shift[0]);
    between[0] = add_square(mean, grid.mean[j], between[0]);
  }
  return {add_lanes<1>(shift), weighted_distance(static_cast<double>(count), add_lanes<1>(between)), false,
          __any_sync(kAllLanes, altered ? 1 : 0) != 0};
}

/// LloydState on the device, with the memory of a step. The constructor allocates and uploads.
template <class T>
class DeviceLloyd {
 public:
  /// with_totals: whether sums and counts are those of the state, else 0.
  DeviceLloyd(const HeldRows<T>& held, const LloydState& state, bool with_totals = true);

  std::int64_t clusters() const { return clusters_; }
  int limbs() const { return limbs_; }
  double* centroids() const { return centroids_.data(); }
  double* next_centroids() const { return next_centroids_.data(); }
  void swap_centroids() { std::swap(centroids_, next_centroids_); }
  Word* totals() const { return totals_.data(); }  // (limbs, k, d) sums, then (k) counts
  /// changed: counts the rows whose label changed.
  ClusterTotals totals(Word* changed) const;
  MeanGrid mean_grid() const { return {shift_.data(), low_bits_, factors_.data() + 2 * columns_}; }
  SumGrid grid(const HeldRows<T>& held) const {
    return {factors_.data(), factors_.data() + columns_, held.plan.scales.low_scale()};
  }

  /// Downloads centroids, sums and counts.
  void store(const HeldRows<T>& held, LloydState& state) const;
  void store_centroids(const HeldRows<T>& held, LloydState& state) const;
  void store_totals(const HeldRows<T>& held, LloydState& state) const;

 private:
  std::int64_t clusters_, columns_;
  int limbs_, low_bits_;
  Buffer<double> centroids_, next_centroids_;  // (k, d)
  Buffer<double> factors_;                     // (3, d) both factors of the grid, and the mean
  Buffer<int> shift_;                          // (d)
  Buffer<Word> totals_;
};

/// Whether one kernel can run all iterations of a problem (small_kernel.h).
template <class T>
bool fits_small_kernel(const HeldRows<T>& held, std::int64_t clusters, int limbs);

/// Whether an assignment needs no screen (small_assign.cu). False if the user chose a screen by name.
template <class T>
bool is_small_assignment(const HeldRows<T>& held, std::int64_t clusters);

/// Assigns rows to centroids (k, d) without a screen, and ADDS the rows of each label to counts (k), and rows whose
/// label is not the one in the sums to changed (1). Queues only.
template <class T>
void assign_small(HeldRows<T>& held, const double* centroids, std::int64_t k, Word* counts, Word* changed);

/// Iterations of a small problem in one launch. Updates the state.
template <class T>
IterateResult iterate_small(HeldRows<T>& held, const IterateRequest& request, const DeviceLloyd<T>& lloyd,
                            LloydState& state);

}  // namespace kith::cuda
