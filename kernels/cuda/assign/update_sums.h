// The update of cluster sums on the device: rows whose label is not the one in the sums are reassigned from cluster to
// cluster.
#pragma once

#include <cstdint>
#include <optional>

#include "core/points/points.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// The grid of the sums, on the device.
struct SumGrid {
  const double* first;   // (d)
  const double* second;  // (d)
  double low_scale;      // unused with one limb
};

/// The totals to which contributions are added. On the device; signed numbers as their bits.
struct ClusterTotals {
  Word* high;     // (k, d)
  Word* low;      // (k, d), null with one limb
  Word* counts;   // (k)
  Word* changed;  // (1) reassigned rows
};

/// Up to this many clusters, blocks count rows per cluster in shared memory (two counters each for reassigned rows), so
/// that rows of few clusters do not contend for a few addresses.
inline constexpr std::int64_t kSharedClusters = 4096;

/// A reassigned row: its position in its block, and its cluster before (-1: none).
struct Reassignment {
  std::int32_t row;
  std::int32_t before;
};

/// A signed contribution of a reassigned row. bin: c adds the row to cluster c, clusters + c subtracts it.
struct Contribution {
  std::int32_t row;
  std::uint32_t bin;
};

/// Updates cluster sums, with the device memory for it.
template <class T>
class SumUpdater {
 public:
  SumUpdater(const HeldRows<T>& held, std::int64_t clusters);

  /// Adds the rows of the block whose label is not the one in the sums to their cluster, subtracts them from the
  /// cluster before, and stores their label as summed. Does not wait.
  void update(HeldRows<T>& held, const Block<T>& block, const ClusterTotals& totals);

 private:
  std::int64_t clusters_;
  Buffer<double> factors_;              // (2, d)
  Buffer<Reassignment> reassignments_;  // (rows of a block)
  Buffer<Word> reassignment_count_;     // (1)
  Buffer<std::uint32_t> bins_;          // (2 k) contributions per bin; zero between calls
  Buffer<std::uint32_t> cursor_;        // (2 k) where the next contribution of a bin goes
  Buffer<Contribution> contributions_;  // (2, rows of a block) sorted by bin
};

/// The totals to which weighted rows are added; signed numbers as their bits.
struct WeightedTotals {
  Word* high;     // (k, d)
  Word* low;      // (k, d), null with one limb
  Word* weights;  // (k, 2) both limbs
};

/// SumUpdater for weighted rows.
template <class T>
class WeightedSumUpdater {
 public:
  explicit WeightedSumUpdater(const HeldRows<T>& held);
  void update(HeldRows<T>& held, const Block<T>& block, const WeightedTotals& totals) const;

 private:
  Buffer<double> factors_;  // (2, d)
};

/// What the cluster sums of the host gain from blocks of rows, for rows with weights or without.
template <class T>
class SumChanges {
 public:
  /// sums: of the shape of those of add_to().
  SumChanges(const HeldRows<T>& held, const ClusterSums& sums);
  /// As SumUpdater::update().
  void update(HeldRows<T>& held, const Block<T>& block);
  /// Waits for the device.
  void add_to(const HeldRows<T>& held, ClusterSums& sums) const;

 private:
  std::int64_t cells_, clusters_;
  std::int64_t limbs_;
  std::optional<SumUpdater<T>> updater_;
  std::optional<WeightedSumUpdater<T>> weighted_;
  Buffer<Word> changes_;  // (limbs, k, d); then (k + 1) counts and changed, or (k, 2) weights
};

}  // namespace kith::cuda
