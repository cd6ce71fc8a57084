// The rows nearest to the centroids: the result, and the limit of the work that the labels of the last assignment save.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/matrix.h"
#include "core/point_neighbors.h"

namespace kith {

/// A request for the row nearest to each centroid, over all rows. The points must have been assigned to these centroids
/// and measured (core/point_clustering.h).
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
  std::int64_t searched = 0;    // centroids of a general search, where there were too many candidates
};

/// The number of candidates, for n rows and k centroids, from which on a general search is likely to be faster.
inline std::int64_t max_nearest_candidates(std::int64_t rows, std::int64_t clusters) {
  return rows * std::max<std::int64_t>(8, clusters / 16);
}

/// Merges the nearest rows by a general search. search: Points::search of these rows.
template <class Search>
void find_nearest_by_search(const NearestRowsRequest& request, std::int64_t rows, const Search& search,
                            NearestRows& result) {
  const std::int64_t k = request.centroids.rows;
  NeighborLists lists(k, 1);
  for (std::int64_t c = 0; c < k; ++c) {
    lists.distance(c, 0) = result.best[c].distance;
    lists.index(c, 0) = result.best[c].row;
  }
  // Limit the memory of this last step: at most one byte for eight values of the points.
  constexpr std::int64_t kEnough = std::int64_t{64} << 20;
  const std::int64_t share = rows * request.centroids.columns / 8;
  search(Queries{.values = request.centroids, .working_bytes = std::max(kEnough, share)}, lists);
  for (std::int64_t c = 0; c < k; ++c) result.best[c] = {lists.distance(c, 0), lists.index(c, 0)};
  result.candidates += lists.candidates;
  result.searched += k;
}

}  // namespace kith
