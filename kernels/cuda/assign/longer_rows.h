// Assigns the few rows that are too long for the fp16 screen (screen/fp16_rows.h) among the candidates that float32
// products leave.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// The positions of these rows in each block of the held rows, which keep their blocks while this exists.
class LongerRows {
 public:
  LongerRows() = default;
  /// Throws OutOfMemory.
  template <class T>
  explicit LongerRows(const HeldRows<T>& held);

  /// Their positions, ascending, as ambiguous rows without limits and count; and their number.
  template <class T>
  AmbiguousRows of(const HeldRows<T>& held, const Block<T>& block, std::int64_t& count) const;

  /// Decides those of a block on the device among centroids (k, d). workspace: its list of ambiguous rows and
  /// its candidates are used, whose number is added to counts->longer_candidates. If that is above the capacity, the
  /// labels are undefined. Does not wait.
  template <class T>
  void queue(const HeldRows<T>& held, const Block<T>& block, Float32Screen& float32,
             const RefinementWorkspace& workspace, const double* centroids, ScreeningCounts* counts) const;

 private:
  Buffer<std::int32_t> position_;  // empty if all rows are in one block
};

}  // namespace kith::cuda
