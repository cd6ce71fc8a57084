// Chooses between the narrow screen (narrow_screen.h), bounds (bounds.h), and the screens of assign.cpp.
#pragma once

#include <cstdint>

#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Whether the narrow screen keeps packed rows from one iteration to the next.
template <class T>
bool is_small(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kMaxColumns = 256, kMaxWork = 16'000'000;  // in multiply-adds
  return held.columns() <= kMaxColumns && clusters * held.columns() <= kMaxWork / held.rows();
}

/// The narrow screen is the fastest for few columns, and for small problems with few clusters.
template <class T>
bool narrow_is_best(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kFewColumns = 16, kFewClusters = 16;
  return held.columns() <= kFewColumns || (clusters <= kFewClusters && is_small(held, clusters));
}

/// Whether the next assignment should use bounds even if the narrow screen, which keeps none, is faster for all rows.
template <class T>
bool bounds_pay(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kMinWork = 1024;  // multiply-adds per row
  if (clusters == 1 || !held.bounds.due()) return false;
  return held.small_gaps || (clusters * held.columns() >= kMinWork && !is_small(held, clusters));
}

}  // namespace kith::cpu
