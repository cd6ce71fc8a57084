// The rows nearest to the centroids: the result, and the limit of the work that the labels of the last assignment save.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/point_neighbors.h"

namespace kith {

/// A request for the row nearest to each centroid, over all rows. The points must have been assigned to these centroids
/// and measured (core/points/point_clustering.h).
struct NearestRowsRequest {
  MatrixView<const double> centroids;  // (k, d)
};

/// The row with the smallest D to each centroid so far; ties: the lowest row. Blocks of points merge into it.
struct NearestRows {
  explicit NearestRows(std::int64_t clusters)
      : best(static_cast<std::size_t>(clusters), {std::numeric_limits<double>::infinity(), -1}) {}
  std::vector<Neighbor> best;  // (k)
  // Counts of the work. Blocks of points ADD to them.
  std::int64_t candidates = 0;  // distances computed by the definition
  std::int64_t searched = 0;    // centroids of a general search, which followed where candidates were too many
};

/// The number of candidates, for n rows and k centroids, from which on a general search is likely to be faster.
inline std::int64_t max_nearest_candidates(std::int64_t rows, std::int64_t clusters) {
  return rows * std::max<std::int64_t>(8, clusters / 64);
}

}  // namespace kith
