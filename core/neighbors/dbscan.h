// DBSCAN: clusters of rows that have many others within a radius (M. Ester, H.-P. Kriegel, J. Sander, X. Xu: A
// Density-Based Algorithm for Discovering Clusters, 1996).
#pragma once

#include <cstdint>
#include <vector>

#include "core/neighbors/radius.h"
#include "core/runtime/large_pages.h"

namespace kith {

struct DbscanOptions {
  double limit = 0.0;  // inclusive limit of D between neighbours
  Measure measure = Measure::squared_euclidean;
  std::int64_t min_points = 5;     // rows within the limit of a core row, itself included
  std::int64_t block_queries = 0;  // of radius_neighbors()
};

/// Core rows within the limit of each other are in one cluster; clusters are numbered by their lowest core row. Other
/// rows within the limit of a core row are border rows of the lowest cluster that has such a core row, and the
/// remaining ones are noise. These are the labels of scikit-learn's DBSCAN.
struct DbscanResult {
  UninitializedVector<std::int32_t> labels;  // (n) -1: noise
  std::vector<std::uint8_t> is_core;         // (n) 0 or 1
  std::vector<std::int64_t> counts;          // (clusters) rows
  std::int64_t core = 0, noise = 0;          // rows
};

/// Searches the rows of `base`, whose values are `rows` (n, d), twice: their numbers of neighbours, and the neighbours.
DbscanResult dbscan(const PointNeighbors& base, PointsView rows, const DbscanOptions& options, Observer& observer);

/// A radius for which the distances to the `neighbors`-th neighbour suggest a change from dense to sparse rows: the
/// farthest point of their ascending curve below its chord (V. Satopaa et al.: Finding a "Kneedle" in a Haystack,
/// 2011). distances: ascending, at least one.
double knee_of(const std::vector<double>& distances);

}  // namespace kith
