// Sizes of clusters brought between limits by moving rows: a heuristic, which does not find the cheapest way.
//
// Rows leave clusters that are too large, one at a time: of all rows of such clusters and all clusters with room the
// pair whose move adds least to the inertia (the smallest regret), ties to the lowest row, then cluster. Then clusters
// that are too small take rows in the same way from those that can spare them. Centroids are where they were meanwhile;
// afterwards they become the means of their rows. The idea of a regret is that of the transportation problem's
// approximation by N. V. Reinfeld, W. R. Vogel (1958).
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"

namespace kith {

struct SizeLimits {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;  // 0: no limit
  bool given() const { return smallest > 0 || largest > 0; }
};

/// Host bytes of the distances to a block of centroids, unless those of one centroid take more.
inline constexpr std::int64_t kBalanceBytes = std::int64_t{1} << 28;

/// Throws Error(usage) when `rows` rows in `clusters` clusters cannot keep the limits.
void check_limits(const SizeLimits& limits, std::int64_t rows, std::int64_t clusters);

/// Moves labels (n), those of the nearest of the centroids (k, d), until all sizes are within the limits, which
/// check_limits() has passed. Returns how many rows have another label. D of all rows to all centroids is computed
/// once; memory: 16 bytes per row and 8 per row and centroid of a block of centroids.
std::int64_t balance(const Points& points, MatrixView<const double> centroids, const SizeLimits& limits,
                     std::vector<std::int32_t>& labels);

}  // namespace kith
