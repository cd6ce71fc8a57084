// Where the rows that changed their cluster are added up: a table per thread, merged into the sums of all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/backend.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Sums of moved rows, for as many clusters and columns as fit the second-level cache. A row is read once, in order,
/// and its cells are near; nothing is sorted.
class ReassignmentTables {
 public:
  ReassignmentTables(const DataPlan& plan, int limbs, std::int64_t clusters, Threads& threads);

  static bool fit(std::int64_t clusters, std::int64_t columns, int limbs) {
    constexpr std::int64_t kMostCells = std::int64_t{1} << 18;
    return clusters * limbs <= kMostCells / columns;
  }

  /// A thread's own table, for NarrowRowKernels::move.
  const ReassignmentTable& of(int thread);

  /// Adds what the tables hold to the sums, and to counts (k) if there are any; empties them.
  void merge(ClusterSums& sums, std::span<std::int64_t> counts);

 private:
  struct Own {
    std::vector<std::int64_t> sums, counts;  // (k, limbs, pitch), (k)
    ReassignmentTable table{};
  };

  Threads& threads_;
  std::int64_t clusters_, columns_, pitch_;
  int limbs_;
  double low_scale_;
  std::vector<double> first_, second_;  // (pitch)
  std::vector<std::unique_ptr<Own>> own_;
};

}  // namespace kith::cpu
