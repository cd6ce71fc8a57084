// Choosing the number of clusters: the knee of a curve, and the gap statistic with its reference data sets.
//
// V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan: Finding a "kneedle" in a haystack: detecting knee points in system
// behavior (2011). R. Tibshirani, G. Walther, T. Hastie: Estimating the number of clusters in a data set via the gap
// statistic (2001).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/points/data_plan.h"
#include "core/points/matrix.h"

namespace kith {

/// The index of the knee of a decreasing convex curve: Kneedle with sensitivity 1 and no smoothing; of several knees
/// the one farthest from the chord. x: ascending; y: as many values. None for fewer than three points, for a curve that
/// does not decrease, and if no point lies far enough from the chord.
std::optional<std::size_t> knee(std::span<const double> x, std::span<const double> y);

/// The gap for one number of clusters: the mean of log(inertia) over B reference sets minus log(inertia) of the points,
/// and the standard deviation of the reference logarithms x sqrt(1 + 1 / B).
struct Gap {
  double value = 0.0;
  double error = 0.0;
};

/// inertia: of the points; of_references: (B) of the reference sets. NaN unless B >= 1 and all are above 0.
Gap gap_statistic(double inertia, std::span<const double> of_references);

/// The first index whose gap is at least the next gap minus the error of the next gap; none if there is no such index.
std::optional<std::size_t> gap_rule(std::span<const Gap> gaps);

/// Reference set `number` of the gap statistic: as many rows as the points. Each value is uniform over the range of its
/// column, from Philox with stream 2^63 + number and draw row x d + column, rounded to the class.
PointsMatrix reference_points(const DataPlan& plan, ValueClass value_class, std::uint64_t seed, std::int64_t number);

}  // namespace kith
