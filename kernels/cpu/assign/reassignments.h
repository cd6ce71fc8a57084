// Sums of reassigned rows: a table per thread, merged into the cluster sums.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/points/backend.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Sums of reassigned rows, if clusters and columns fit the second-level cache. Each row is read once, in order;
/// nothing is sorted.
class ReassignmentTables {
 public:
  ReassignmentTables(const DataPlan& plan, int limbs, std::int64_t clusters, Threads& threads);

  static bool fit(std::int64_t clusters, std::int64_t columns, int limbs) {
    constexpr std::int64_t kMaxCells = std::int64_t{1} << 18;
    return clusters * limbs <= kMaxCells / columns;
  }

  /// The table of a thread, for NarrowRowKernels::reassign.
  const ReassignmentTable& of(int thread);

  /// Adds the tables to the sums, and to counts (k) unless empty; clears them.
  void merge(ClusterSums& sums, std::span<std::int64_t> counts);

 private:
  struct ThreadTable {
    std::vector<std::int64_t> sums, counts;  // (k, limbs, pitch), (k)
    ReassignmentTable table{};
  };

  Threads& threads_;
  std::int64_t clusters_, columns_, pitch_;
  int limbs_;
  double low_scale_;
  std::vector<double> first_, second_;  // (pitch)
  std::vector<std::unique_ptr<ThreadTable>> tables_;
};

}  // namespace kith::cpu
