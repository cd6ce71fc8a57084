// Starting centroids from labels: the means of the rows that have each of them.
#pragma once

#include <cstdint>
#include <span>

#include "core/backend.h"

namespace kith {

/// Means (k, d) of the rows with each label, by the sums and the division of an iteration (docs/contract.md, Sums over
/// rows). plan: that of the points. labels: (n) from 0 to k - 1. Throws Error(data) naming a label that no row has.
Matrix<double> means_of_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters);

}  // namespace kith
