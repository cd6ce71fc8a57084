// How many clusters: the knee of a curve, the rule of the gap statistic, and the reference points it needs.
//
// V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan: Finding a "kneedle" in a haystack: detecting knee points in system
// behavior (2011). R. Tibshirani, G. Walther, T. Hastie: Estimating the number of clusters in a data set via the gap
// statistic (2001).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/data_plan.h"
#include "core/matrix.h"

namespace kith {

/// Place of the knee of a curve that falls and flattens: Kneedle with sensitivity 1, without smoothing; of several
/// knees the one farthest from the chord. x: ascending; y: as many. None for fewer than three places, for a curve that
/// does not fall, and where no place is far enough from the chord.
std::optional<std::size_t> knee(std::span<const double> x, std::span<const double> y);

/// The gap of one number of clusters: mean over the reference sets of log(inertia) less the points' own, and the
/// deviation of these logarithms x sqrt(1 + 1 / B).
struct Gap {
  double value = 0.0;
  double error = 0.0;
};

/// inertia > 0; of_references: one or more, each > 0. Otherwise NaN.
Gap gap_statistic(double inertia, std::span<const double> of_references);

/// The first place whose gap is at least the next one's less its error; none if there is no such place.
std::optional<std::size_t> gap_rule(std::span<const Gap> gaps);

/// Reference set `number` of the gap statistic: as many rows as the points have, each value drawn evenly from the range
/// of its column, by Philox with the stream 2^63 + number and the draw row x d + column, rounded to the class.
PointsMatrix reference_points(const DataPlan& plan, ValueClass value_class, std::uint64_t seed, std::int64_t number);

}  // namespace kith
