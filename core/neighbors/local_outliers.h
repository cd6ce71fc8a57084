// The local outlier factor: how much sparser a row's surroundings are than those of its neighbours (M. Breunig,
// H.-P. Kriegel, R. Ng, J. Sander: LOF: Identifying Density-Based Local Outliers, 2000).
#pragma once

#include <cstdint>
#include <vector>

#include "core/points/matrix.h"

namespace kith {

/// neighbors, distances: (n, k) the neighbours of each row without itself, ascending. Returns (n) factors: about 1
/// inside a cluster, larger for outliers. As scikit-learn, 1e-10 is added to mean reachabilities, so that repeated rows
/// have a finite density.
std::vector<double> local_outlier_factors(MatrixView<const std::int64_t> neighbors, MatrixView<const double> distances);

}  // namespace kith
