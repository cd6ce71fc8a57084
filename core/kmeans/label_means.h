// Starting centroids from labels: the mean of the rows of each label.
#pragma once

#include <cstdint>
#include <span>

#include "core/points/backend.h"

namespace kith {

/// (k, d) The mean of the rows of each label, computed as in an iteration (docs/contract.md, Sums over rows). plan: of
/// the points. labels: (n) from 0 to k - 1. Throws Error(data) naming the first label that no row has.
Matrix<double> means_of_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters);

}  // namespace kith
