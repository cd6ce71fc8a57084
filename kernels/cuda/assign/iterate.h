// Lloyd's iteration on the device: its state, the step from sums to centroids, and the form for small problems.
#pragma once

#include <cstdint>

#include "core/cluster_update.h"
#include "core/fixed_point.h"
#include "kernels/cuda/assign/update.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {

/// The sums and constants from which centroids are computed, on the device.
struct CentroidSource {
  ClusterTotals totals;
  const int* shift;    // (d) exponents of the grid of the sums
  int low_bits;        // 0: one limb
  const double* mean;  // (d) DataPlan::mean
};

/// One column of a cluster's mean.
__device__ inline double mean_at(const CentroidSource& source, std::int64_t at, std::int64_t column,
                                 std::int64_t count) {
  const Limbs sum{static_cast<std::int64_t>(source.totals.high[at]),
                  source.low_bits != 0 ? static_cast<std::int64_t>(source.totals.low[at]) : 0};
  return mean_of(sum, source.shift[column], source.low_bits, static_cast<double>(count));
}

/// The change of a centroid, the same in all lanes.
struct CentroidChange {
  double shift;    // D(new, old)
  double between;  // count x D(new, mean)
  bool altered;    // whether any bit changed
};

/// Computes the mean of a cluster that has rows, by one warp. before, after: (d), may be the same.
__device__ inline CentroidChange update_centroid(const CentroidSource& source, std::int64_t cluster, std::int64_t d,
                                                 const double* before, double* after) {
  const auto count = static_cast<std::int64_t>(source.totals.counts[cluster]);
  double shift[1] = {0.0}, between[1] = {0.0};
  bool altered = false;
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const std::int64_t at = cluster * d + j;
    const double old = before[j], mean = mean_at(source, at, j, count);
    after[j] = mean;
    altered = altered || __double_as_longlong(mean) != __double_as_longlong(old);
    shift[0] = add_square(mean, old, shift[0]);
    between[0] = add_square(mean, source.mean[j], between[0]);
  }
  return {add_lanes<1>(shift), weighted_distance(static_cast<double>(count), add_lanes<1>(between)),
          __any_sync(kAllLanes, altered ? 1 : 0) != 0};
}

/// LloydState on the device, with the memory of a step. The constructor allocates and uploads.
template <class T>
class DeviceLloyd {
 public:
  DeviceLloyd(const HeldRows<T>& held, const LloydState& state);

  std::int64_t clusters() const { return clusters_; }
  int limbs() const { return limbs_; }
  double* centroids() const { return centroids_.data(); }
  double* next_centroids() const { return next_centroids_.data(); }
  void swap_centroids() { std::swap(centroids_, next_centroids_); }
  Word* report() const { return report_.data(); }  // (2 k + 3): shifts, between, rows changed, empty, altered clusters
  /// changed: counts the rows whose label changed.
  CentroidSource source(Word* changed) const;
  SumGrid grid(const HeldRows<T>& held) const {
    return {factors_.data(), factors_.data() + columns_, held.plan.scales.low_scale()};
  }

  /// Downloads centroids, sums and counts.
  void store(const HeldRows<T>& held, LloydState& state) const;

 private:
  std::int64_t clusters_, columns_;
  int limbs_, low_bits_;
  Buffer<double> centroids_, next_centroids_;  // (k, d)
  Buffer<double> factors_;                     // (3, d) both factors of the grid, and the mean
  Buffer<int> shift_;                          // (d)
  Buffer<Word> sums_;                          // (limbs, k, d)
  Buffer<Word> counts_;                        // (k)
  Buffer<Word> report_;
};

/// Whether one kernel can run all iterations of a problem (small_kernel.h).
template <class T>
bool is_small(const HeldRows<T>& held, std::int64_t clusters, int limbs);

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
