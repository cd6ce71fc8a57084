// Brings cluster sizes within limits by moving rows: a greedy heuristic that does not minimise the inertia.
//
// Rows leave clusters that are too large one at a time. Each step moves the row, among all rows of such clusters and
// all clusters below the limit, that increases the inertia least (the smallest regret); ties go to the lowest row, then
// to the lowest cluster. Clusters that are too small then take rows in the same way from clusters above the minimum.
// The centroids stay fixed meanwhile; afterwards they become the means of their rows. Regrets come from Vogel's
// approximation for the transportation problem: N. V. Reinfeld, W. R. Vogel (1958).
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

/// Host bytes of the distances to a block of centroids; the distances to one centroid may take more.
inline constexpr std::int64_t kBalanceBytes = std::int64_t{1} << 28;

/// Throws Error(usage) if no assignment of `rows` rows to `clusters` clusters keeps the limits.
void check_limits(const SizeLimits& limits, std::int64_t rows, std::int64_t clusters);

/// Changes labels (n), which name the nearest of the centroids (k, d), until all sizes are within limits that
/// check_limits() accepts. Returns the number of changed labels. Computes D of all rows to all centroids once; takes 16
/// bytes per row, and 8 bytes per row and centroid of a block of centroids.
std::int64_t balance(const Points& points, MatrixView<const double> centroids, const SizeLimits& limits,
                     std::vector<std::int32_t>& labels);

}  // namespace kith
