// The state of Lloyd's iteration on the device.
#pragma once

#include <cstdint>

#include "core/kmeans/update.h"
#include "core/numbers/fixed_point.h"
#include "kernels/cuda/assign/shard_exchange.h"
#include "kernels/cuda/assign/update_sums.h"

namespace kith::cuda {

/// The constants by which sums become centroids, on the device.
struct MeanGrid {
  const int* shift;    // (d) exponents of the grid of the sums
  int low_bits;        // 0: one limb
  const double* mean;  // (d) DataPlan::mean
};

/// LloydState on the device, with the memory of a step. The constructor allocates and uploads.
template <class T>
class DeviceLloyd {
 public:
  /// with_totals: whether sums and counts are those of the state, else 0.
  DeviceLloyd(const HeldRows<T>& held, const LloydState& state, bool with_totals);

  std::int64_t clusters() const { return clusters_; }
  int limbs() const { return limbs_; }
  double* centroids() const { return centroids_.data(); }
  double* next_centroids() const { return next_centroids_.data(); }
  void swap_centroids() { std::swap(centroids_, next_centroids_); }
  Word* totals() const { return totals_.data(); }  // (limbs, k, d) sums, then (k) counts
  /// changed: counts the rows whose label changed.
  ClusterTotals totals(Word* changed) const;
  MeanGrid mean_grid() const { return {shift_.data(), low_bits_, mean_.data()}; }

  void store_centroids(const HeldRows<T>& held, LloydState& state) const;
  void store_totals(const HeldRows<T>& held, LloydState& state) const;

 private:
  std::int64_t clusters_, columns_;
  int limbs_, low_bits_;
  Buffer<double> centroids_, next_centroids_;  // (k, d)
  Buffer<double> mean_;                        // (d) of MeanGrid
  Buffer<int> shift_;                          // (d)
  Buffer<Word> totals_;
};

/// What relocate_empty_clusters() (core/kmeans/update.h) does, for rows of one device that are all rows and
/// have no weights: measures them, and changes labels; sums and counts of `lloyd` stay. Returns the number of relocated
/// rows. Waits.
template <class T>
std::int64_t relocate(HeldRows<T>& held, const DeviceLloyd<T>& lloyd);

}  // namespace kith::cuda
