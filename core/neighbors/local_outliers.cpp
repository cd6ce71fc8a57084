// Densities of all rows, then the ratio of those of the neighbours to the row's own.
#include "core/neighbors/local_outliers.h"

#include <algorithm>

namespace kith {

std::vector<double> local_outlier_factors(MatrixView<const std::int64_t> neighbors,
                                          MatrixView<const double> distances) {
  const std::int64_t n = neighbors.rows, k = neighbors.columns;
  std::vector<double> density(static_cast<std::size_t>(n)), factor(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    double reach = 0.0;
    for (std::int64_t j = 0; j < k; ++j) reach += std::max(distances(neighbors(i, j), k - 1), distances(i, j));
    density[static_cast<std::size_t>(i)] = 1.0 / (reach / static_cast<double>(k) + 1e-10);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double ratios = 0.0;
    for (std::int64_t j = 0; j < k; ++j) {
      ratios += density[static_cast<std::size_t>(neighbors(i, j))] / density[static_cast<std::size_t>(i)];
    }
    factor[static_cast<std::size_t>(i)] = ratios / static_cast<double>(k);
  }
  return factor;
}

}  // namespace kith
