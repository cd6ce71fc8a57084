// What lets a row keep its label unseen: how much nearer it was to its own centroid than to any other, less what the
// centroids have moved since.
//
// The gap of a row is a lower bound of (distance to the nearest other centroid) - (distance to its own). Moves of at
// most m_own and m_other take at most their sum from it, by the triangle inequality; while it is above a guard, the
// definition finds the same label. G. Hamerly: Making k-means even faster (2010), with one bound in place of two.
//
// Distances are true ones (not squared) in any unit of at least 2^-200, such as that of a screen that decides rows.
// Every function rounds outwards, far enough for float32 arithmetic in any rounding. What is infinite or NaN ends in a
// gap that is not above its guard, if the comparison is written `gap > guard`.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/distance.h"
#include "core/portable.h"

namespace kith {

inline constexpr float kBoundOutward = 0x1p-20F;    // relative: eight roundings of float32
inline constexpr float kBoundVanished = 0x1p-120F;  // absolute: above all that underflow takes

/// The gap of a row. own: an upper bound of its squared distance to its centroid; difference: a lower bound of (squared
/// distance to any other centroid) - (squared distance to its own), not negative.
/// With a and b the distances, b - a = (b^2 - a^2) / (a + b), which falls as a grows and rises with b^2 - a^2.
KITH_BOTH static inline float bound_of(float own, float difference) {
  const float own_distance = sqrtf(own), other_distance = sqrtf(own + difference);
  return difference / (own_distance + other_distance) * (1.0F - kBoundOutward);
}

/// An upper bound of how far a centroid of `columns` columns moved. squared_move: D(new, old); unit: 1 / the unit that
/// the values are in.
KITH_BOTH static inline float shift_bound(double squared_move, std::int64_t columns, double unit) {
  const double vanished = static_cast<double>(columns + kLanes) * 0x1p-1073;  // of the squares
  const double moved = sqrt(squared_move + vanished) * (1 + definition_rounding(columns));
  return static_cast<float>(moved * unit * (1 + 0x1p-22));
}

/// The gap after the row's centroid moved by at most `own`, and every other one by at most `others`.
KITH_BOTH static inline float lowered_bound(float gap, float own, float others) {
  const float left = gap - (own + others) * (1.0F + kBoundOutward);
  return left - fabsf(left) * kBoundOutward - kBoundVanished;
}

/// A gap above this leaves no doubt of the label: the definition's own rounding, and ties within it, take less.
/// largest_distance: an upper bound of distances of rows to their centroids.
/// b >= a + gap gives b^2 (1 - r) > a^2 (1 + r) when gap >= 2 r max(a), r the rounding of D.
KITH_BOTH static inline float bound_guard(double largest_distance, std::int64_t columns) {
  return static_cast<float>(2.02 * definition_rounding(columns) * largest_distance) + kBoundVanished;
}

}  // namespace kith
