// Skips rows whose label is proved unchanged since the last assignment (core/kmeans/bounds.h), once few labels change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/kmeans/bounds.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Whether the next assignment should use bounds even if the narrow screen, which keeps none, is faster for all rows.
template <class T>
bool bounds_pay(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kMinWork = 1024;  // multiply-adds per row
  if (clusters == 1 || !held.bounds.due()) return false;
  return held.forced.bounds || (clusters * held.columns() >= kMinWork && !is_small(held, clusters));
}

/// The bounds of rows during one assignment, which may keep none.
class BoundWorkspace {
 public:
  /// Measures how far the centroids (k, d) moved since held.bounds were kept; the bounds are invalid until finish().
  /// largest_norm: max |c'| of the screen.
  template <class T>
  BoundWorkspace(HeldRows<T>& held, MatrixView<const double> centroids, double largest_norm);

  /// Whether this assignment keeps bounds of the rows that it screens.
  explicit operator bool() const { return !shift_.empty(); }
  /// Whether there are bounds from an earlier assignment.
  bool known() const { return known_; }
  /// Lowers the bound of a row with this label by the centroid shifts. True if the row certainly keeps its label.
  bool certifies(float& bound, std::int32_t label) const {
    bound = lowered_bound(bound, shift_[label], label == most_shifted_ ? second_shift_ : largest_shift_);
    return bound > guard_;  // false for NaN
  }

  /// Marks the labels and bounds of all rows as those of the current centroids. If the bounds certified too few rows
  /// (all but `screened`), the next assignments keep none: one, then two, and so on.
  template <class T>
  void finish(HeldRows<T>& held, std::int64_t screened) const;

 private:
  bool known_ = false;
  std::vector<float> shift_;                          // (k) in the scale of the screen
  float largest_shift_ = 0.0F, second_shift_ = 0.0F;  // the largest shifts of two centroids
  std::int32_t most_shifted_ = 0;                     // the centroid with the largest shift
  float guard_ = 0.0F;
};

}  // namespace kith::cpu
