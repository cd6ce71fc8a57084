// Rows whose label is proved not to have changed since the last assignment are left alone (core/bounds.h): once few
// labels change, the screen looks at the others only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/bounds.h"
#include "kernels/cpu/held_rows.h"
#include "kernels/cpu/narrow_screen.h"

namespace kith::cpu {

/// Tells the gaps that an assignment changed so many labels of the held rows. Once these are few, the following
/// assignments keep gaps.
template <class T>
void note_changed(HeldRows<T>& held, std::int64_t changed) {
  constexpr std::int64_t kFew = 8;  // one row in so many
  held.gaps.wanted = held.gaps.wanted || changed < held.rows() / kFew;
}

/// Whether the next assignment is to leave rows alone although the screen of narrow_screen.h, which keeps no gaps, is
/// the faster one for all rows.
template <class T>
bool gaps_pay(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kWorthwhile = 1024;  // multiply-adds of a row
  if (clusters == 1 || !held.gaps.due()) return false;
  return held.small_gaps || (clusters * held.columns() >= kWorthwhile && !is_small(held, clusters));
}

/// The gaps of rows in one assignment, which may keep none.
class GapRoom {
 public:
  /// Measures what the centroids (k, d) moved since held.gaps were kept; until finish() nothing is known of any row.
  /// largest_norm: max |c'| of the screen.
  template <class T>
  GapRoom(HeldRows<T>& held, MatrixView<const double> centroids, double largest_norm);

  /// Whether the gaps of all rows that are looked at are to be kept.
  explicit operator bool() const { return !moved_.empty(); }
  /// Whether there are gaps from an assignment before.
  bool known() const { return known_; }
  /// Lowers the gap of a row with this label by what the centroids moved. True when it has the same label still.
  bool vouches(float& gap, std::int32_t label) const {
    gap = lowered_gap(gap, moved_[label], label == farthest_ ? second_ : first_);
    return gap > guard_;  // a NaN vouches for nothing
  }

  /// The labels and gaps of all rows are those of the centroids given before. Where the gaps vouched for too few rows
  /// (all but `screened`), the next assignments do without: one, then two, and so on.
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
