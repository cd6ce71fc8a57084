// Standard deviations of columns; the bits do not depend on the order of the rows or on the machine.
#pragma once

#include <vector>

#include "core/points/data_plan.h"
#include "core/points/matrix.h"
#include "core/points/row_blocks.h"
#include "core/runtime/workers.h"

namespace kith {

/// Statistics of the columns (d) that deviations are computed from.
struct KnownColumns {
  const std::vector<double>& mean;
  const ColumnRange& range;
  const Weights& weights;
};

/// The largest possible difference of a value of column j from its mean.
double largest_deviation(const ColumnRange& range, std::size_t j, double mean);

/// (d) The weighted population standard deviation of each column of the rows (n, d). Differences from the mean must be
/// finite; their squares are summed as integers in two limbs (docs/contract.md, Sums over rows). Weights are those of
/// the rows of one block.
std::vector<double> column_deviations(const RowBlocks& blocks, const KnownColumns& known, const Workers& workers = {});

/// The same with the mean, range and weights of the plan of these rows.
std::vector<double> column_deviations(const PointsView& values, const DataPlan& plan);

}  // namespace kith
