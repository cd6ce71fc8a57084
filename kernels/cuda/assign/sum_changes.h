// What the cluster sums of the host gain from blocks of rows.
#pragma once

#include <cstdint>
#include <optional>

#include "core/points/point_clustering.h"
#include "kernels/cuda/assign/update.h"

namespace kith::cuda {

/// For rows with weights or without.
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
