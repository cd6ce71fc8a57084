// How far the values of each column spread around their mean, the same on every machine and in every order.
#pragma once

#include <vector>

#include "core/data_plan.h"
#include "core/matrix.h"
#include "core/workers.h"

namespace kith {

/// What is known of the columns (d) before their deviations are found.
struct KnownColumns {
  const std::vector<double>& mean;
  const ColumnRange& range;
  const Weights& weights;  // of the rows
};

/// How far a value of column j can be from its mean.
double largest_deviation(const ColumnRange& range, std::size_t j, double mean);

/// Root of the mean squared difference of each column (d) from its mean, over all rows of `values` (n, d), by their
/// weights. Differences must be finite; their squares are summed as integers in two limbs (docs/contract.md, Sums over
/// rows).
std::vector<double> column_deviations(const PointsView& values, const KnownColumns& known, const Workers& workers = {});

/// The same from plan.mean; the plan was made of these rows.
std::vector<double> column_deviations(const PointsView& values, const DataPlan& plan);

}  // namespace kith
