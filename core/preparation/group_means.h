// Means of the columns of a table for each group of its rows, and how far values lie from the mean of their group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/row_reader.h"
#include "core/points/weights.h"

namespace kith {

class Threads;

/// NaN, a missing value, enters no mean; a mean of no values is NaN.
struct GroupMeans {
  Matrix<double> mean;         // (groups, d)
  std::vector<double> all;     // (d) of all rows that belong to a group
  std::vector<double> within;  // (d) the standard deviation of the values from the means of their groups
};

/// In three passes. labels: (n) the group of each row, from 0; rows with -1 belong to none. weights: of the rows. The
/// sums are integers in two limbs, rounded once, so that threads and blocks do not matter.
GroupMeans group_means(const RowBlocks& rows, std::span<const std::int32_t> labels, std::int64_t groups,
                       const Weights& weights, Threads& threads);

}  // namespace kith
