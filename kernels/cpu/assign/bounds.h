// Rows whose label is proved not to have changed since the last assignment are left alone (core/bounds.h): once few
// labels change, the screen looks at the others only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/bounds.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Tells the bounds that an assignment changed so many labels of the held rows. Once these are few, the following
/// assignments keep bounds.
template <class T>
void note_changed(HeldRows<T>& held, std::int64_t changed) {
  constexpr std::int64_t kFew = 8;  // one row in so many
  held.bounds.wanted = held.bounds.wanted || changed < held.rows() / kFew;
}

/// Whether the next assignment is to leave rows alone although the screen of narrow_screen.h, which keeps no bounds, is
/// the faster one for all rows.
template <class T>
bool bounds_pay(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kWorthwhile = 1024;  // multiply-adds of a row
  if (clusters == 1 || !held.bounds.due()) return false;
  return held.forced.bounds || (clusters * held.columns() >= kWorthwhile && !is_small(held, clusters));
}

/// The bounds of rows in one assignment, which may keep none.
class BoundWorkspace {
 public:
  /// Measures what the centroids (k, d) moved since held.bounds were kept; until finish() nothing is known of any row.
  /// largest_norm: max |c'| of the screen.
  template <class T>
  BoundWorkspace(HeldRows<T>& held, MatrixView<const double> centroids, double largest_norm);

  /// Whether the bounds of all rows that are looked at are to be kept.
  explicit operator bool() const { return !moved_.empty(); }
  /// Whether there are bounds from an assignment before.
  bool known() const { return known_; }
  /// Lowers the bound of a row with this label by what the centroids moved. True when it has the same label still.
  bool vouches(float& bound, std::int32_t label) const {
    bound = lowered_bound(bound, moved_[label], label == farthest_ ? second_ : first_);
    return bound > guard_;  // a NaN vouches for nothing
  }

  /// The labels and bounds of all rows are those of the centroids given before. Where the bounds vouched for too few
  /// rows (all but `screened`), the next assignments do without: one, then two, and so on.
  template <class T>
  void finish(HeldRows<T>& held, std::int64_t screened) const;

 private:
  bool known_ = false;
  std::vector<float> moved_;            // (k), in the unit of the screen
  float first_ = 0.0F, second_ = 0.0F;  // the largest moves of two centroids
  std::int32_t farthest_ = 0;           // the one with the first
  float guard_ = 0.0F;
};

}  // namespace kith::cpu
