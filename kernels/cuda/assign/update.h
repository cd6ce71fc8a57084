// The update's sums on the device: rows whose label is not the one in the sums are moved from cluster to cluster.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// The grid of the sums, on the device.
struct SumGrid {
  const double* first;   // (d)
  const double* second;  // (d)
  double low_scale;      // unused with one limb
};

/// What moved rows are added to. All on the device, signed numbers as their bits.
struct ClusterTotals {
  Word* high;     // (k, d)
  Word* low;      // (k, d), null with one limb
  Word* counts;   // (k)
  Word* changed;  // (1) rows that moved
};

/// Up to this many clusters, blocks count rows per cluster in shared memory (two counters each where rows move), so
/// that rows of few clusters do not all meet at a few addresses.
inline constexpr std::int64_t kSharedClusters = 4096;

/// A row that moved: its position in its block, and the cluster that it left (-1: none).
struct Move {
  std::int32_t row;
  std::int32_t before;
};

/// One end of a move. bin: cluster c for a row that came, clusters + c for one that left.
struct ReassignmentEnd {
  std::int32_t row;
  std::uint32_t bin;
};

/// The device memory that moving rows takes, and how it is done.
template <class T>
class Mover {
 public:
  Mover(const HeldRows<T>& held, std::int64_t clusters);

  /// Adds the rows of the block whose label is not in the sums to their cluster, subtracts them from the one that they
  /// left, and notes their label as summed. Queued; waits for nothing.
  void move(HeldRows<T>& held, const Block<T>& block, const ClusterTotals& totals);

 private:
  std::int64_t clusters_;
  Buffer<double> factors_;        // (2, d)
  Buffer<Move> moves_;            // (rows of a block)
  Buffer<Word> move_count_;       // (1)
  Buffer<std::uint32_t> bins_;    // (2 k) ends per bin; zero between calls
  Buffer<std::uint32_t> cursor_;  // (2 k) where the next end of a bin goes
  Buffer<ReassignmentEnd> ends_;  // (2, rows of a block) sorted by bin
};

/// update_sums() of weighted rows.
template <class T>
void update_weighted_sums(HeldRows<T>& held, ClusterSums& sums);

}  // namespace kith::cuda
