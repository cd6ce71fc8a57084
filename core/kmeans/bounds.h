// Bounds that let a row keep its label without computing distances.
//
// The bound of a row is a lower bound of (distance to the nearest other centroid) - (distance to its own). When the
// centroids shift by at most s_own and s_other, the bound decreases by at most s_own + s_other (triangle inequality).
// While it exceeds a guard, the definition gives the same label. G. Hamerly: Making k-means even faster (2010), with
// one bound in place of two.
//
// Distances are not squared and may be in any unit of at least 2^-200, such as the unit of a screen. Every function
// rounds outwards, far enough for float32 arithmetic in any rounding mode. Infinite and NaN inputs give a bound that
// does not exceed its guard, provided that the comparison is written `bound > guard`.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/numbers/distance.h"
#include "core/runtime/portable.h"

namespace kith {

inline constexpr float kBoundOutward = 0x1p-20F;    // relative: eight roundings of float32
inline constexpr float kBoundVanished = 0x1p-120F;  // absolute: exceeds all underflow errors

/// The bound of a row. own: an upper bound of its squared distance to its centroid; difference: a lower bound, at least
/// 0, of (squared distance to any other centroid) - (squared distance to its own). With distances a and b, b - a =
/// (b^2 - a^2) / (a + b), which decreases in a and increases in b^2 - a^2.
KITH_BOTH static inline float bound_of(float own, float difference) {
  const float own_distance = sqrtf(own), other_distance = sqrtf(own + difference);
  return difference / (own_distance + other_distance) * (1.0F - kBoundOutward);
}

/// The largest error of a D of `columns` columns by underflow.
KITH_BOTH static inline double vanished_squares(std::int64_t columns) {
  return static_cast<double>(columns + kLanes) * 0x1p-1073;
}

/// An upper bound of the distance whose square by the definition is `squared`.
KITH_BOTH static inline double distance_at_most(double squared, std::int64_t columns) {
  return sqrt(squared + vanished_squares(columns)) * (1 + definition_rounding(columns));
}

/// A lower bound of the same; 0 if `squared` is NaN or beyond the range of float64.
KITH_BOTH static inline double distance_at_least(double squared, std::int64_t columns) {
  const double least = squared - vanished_squares(columns);
  return least > 0.0 && least < 0x1p1023 ? sqrt(least) * (1 - definition_rounding(columns)) : 0.0;
}

/// Rounds a difference of two such bounds downwards, far enough for its rounding and that of two later additions.
KITH_BOTH static inline double rounded_down(double difference) {
  return difference * (difference > 0.0 ? 1 - 0x1p-50 : 1 + 0x1p-50);
}

/// An upper bound of the shift of a centroid of `columns` columns. squared_shift: D(new, old); unit: 1 / the unit of
/// the bounds.
KITH_BOTH static inline float shift_bound(double squared_shift, std::int64_t columns, double unit) {
  return static_cast<float>(distance_at_most(squared_shift, columns) * unit * (1 + 0x1p-22));
}

/// The bound after the row's own centroid shifted by at most `own` and every other centroid by at most `others`.
KITH_BOTH static inline float lowered_bound(float bound, float own, float others) {
  const float lowered = bound - (own + others) * (1.0F + kBoundOutward);
  return lowered - fabsf(lowered) * kBoundOutward - kBoundVanished;
}

/// A bound above this guard certifies the label, including the rounding of the definition and ties within it.
/// largest_distance: an upper bound of the distances of rows to their centroids. With r the rounding of D, b >= a +
/// bound gives b^2 (1 - r) > a^2 (1 + r) if bound >= 2 r max(a).
KITH_BOTH static inline float bound_guard(double largest_distance, std::int64_t columns) {
  return static_cast<float>(2.02 * definition_rounding(columns) * largest_distance) + kBoundVanished;
}

// Candidates by the triangle inequality (C. Elkan: Using the triangle inequality to accelerate k-means, 2003): with a
// centroid g at distance a from a row, and the best so far at distance b, a centroid farther than a + b from g is
// farther from the row than the best. Distances are in the unit of the bounds, at most 2^134.

/// An upper bound of a distance, including the rounding of the definition. squared: D; unit: 1 / the unit.
KITH_BOTH static inline float distance_above(double squared, double unit) {
  return sqrtf(static_cast<float>(squared * unit * unit) + kBoundVanished) * (1.0F + kBoundOutward);
}

/// A lower bound of a distance, at least 0; 0 if D is beyond the range of float32. The vanished part of D is far below
/// 2^-140 in these units.
KITH_BOTH static inline float distance_below(double squared, double unit) {
  const float below = sqrtf(static_cast<float>(squared * unit * unit)) * (1.0F - kBoundOutward) - 0x1p-69F;
  return below > 0.0F && below < 0x1p127F ? below : 0.0F;
}

/// A centroid whose distance from g exceeds this has a larger D from the row than `best` (so it is no tie either). own:
/// D of the row from g. Compare so that a NaN excludes nothing.
KITH_BOTH static inline float candidate_reach(float own_above, double best, double unit) {
  return (own_above + distance_above(best, unit)) * (1.0F + kBoundOutward);
}

}  // namespace kith
