// Prepares the held rows for the screens.
#pragma once

#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Points::prepare() of core/points/backend.h in two steps, so that few waits prepare many sets of rows.
template <class T>
class Preparation {
 public:
  /// Queues the work. Throws OutOfMemory.
  Preparation(HeldRows<T>& held, const DataPlan& plan);
  /// Waits for it. The rows are prepared then.
  void finish();

 private:
  HeldRows<T>& held_;
  Buffer<Word> largest_;  // (1 + blocks, 2) norms and residuals: of the float32 rows, then of the fp16 rows
  Fp16Rows fp16_;
  Buffer<unsigned> lengths_;  // only with fp16 rows
};

/// Both steps.
template <class T>
void prepare(HeldRows<T>& held, const DataPlan& plan) {
  Preparation<T>(held, plan).finish();
}

}  // namespace kith::cuda
