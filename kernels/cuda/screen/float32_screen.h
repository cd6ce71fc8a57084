// The float32 screen: centroids as it sees them, and a first look at rows by the tiled product.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/screen/float32_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// The centroids of one assignment on the device, screened when they are first wanted.
class FloatScreen {
 public:
  template <class T>
  FloatScreen(const HeldRows<T>& held, std::int64_t count)
      : count_(count), screened_(allocate_screened(held, count)), largest_(held.pool(), 2) {}

  /// Queues only. centroids: (count, d)
  template <class T>
  void prepare(const HeldRows<T>& held, const double* centroids) {
    if (ready_) return;
    screen_and_measure(held, centroids, count_, screened_, largest_.data());
    ready_ = true;
  }
  ScreenedOperand columns() const { return {screened_.values.data(), count_, screened_.pitch}; }
  const float* half_sq_norm() const { return screened_.half_sq_norm.data(); }
  const Word* largest() const { return largest_.data(); }  // (2) as screen_and_measure() fills it

 private:
  std::int64_t count_;
  ScreenedCopies screened_;
  Buffer<Word> largest_;
  bool ready_ = false;
};

/// Some rows of a block.
struct RowChoice {
  const std::int32_t* chosen;  // positions, null: all
  std::int64_t count;
};

/// The first look at some of a block's rows: writes nearest[position] for those it decides, lists the others, and
/// returns their number. norm: (rows of the block). Waits for the device.
template <class T>
std::int64_t screen_floats(const HeldRows<T>& held, const FloatScreen& screen, PointOperand<T> rows,
                           const RowChoice& which, const float* norm, std::int32_t* nearest,
                           const AmbiguousRows& ambiguous);

}  // namespace kith::cuda
