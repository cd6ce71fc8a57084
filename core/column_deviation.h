// How far the values of each column spread around their mean, the same on every machine and in every order.
#pragma once

#include <vector>

#include "core/data_plan.h"
#include "core/matrix.h"

namespace kith {

/// Root of the mean squared difference of each column (d) from plan.mean, over all rows of `values` (n, d), which the
/// plan was made of, by their weights. Squares are summed as integers in two limbs (docs/contract.md, Sums over rows).
std::vector<double> column_deviations(const PointsView& values, const DataPlan& plan);

}  // namespace kith
