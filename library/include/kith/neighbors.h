// Exact nearest neighbours: a number of them, or all within a radius.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kith/points.h>
#include <kith/run.h>

namespace kith {

/// As the options of `kith knn`.
struct SearchOptions {
  /// Or "cosine", "correlation", "inner-product", "manhattan", "chebyshev"; "haversine" between rows of latitude and
  /// longitude in degrees, in km; "hamming" or "jaccard" between rows of bits: bytes (uint8) hold eight of them each,
  /// the first in the most significant place, and 0 behind the last one; values of other types are columns of 0 and 1.
  std::string metric = "euclidean";
  bool include_self = false;  // without queries: keep each row in its own list
  RunOptions run = {};
  bool squared = false;  // Euclidean and cosine distances are squares, not roots
};

/// Lists ordered by (distance, row). The distances are those of `kith knn` before they are rounded to the class of the
/// points: Euclidean distances are roots, inner products the products, and those of correlation 1 less the correlation.
struct NeighborTable {
  OwnedMatrix<std::int64_t> rows;  // (q, k)
  OwnedMatrix<double> distances;   // (q, k)
};

/// The k nearest rows of `base` for each of its rows, or for each query. Throws Error(usage) if k exceeds the number of
/// candidates, Error(data) if the numbers of columns differ, and Error(device) if the backend cannot be used.
NeighborTable neighbors(const PointData& base, std::int64_t k, const SearchOptions& options = {});
NeighborTable neighbors(const PointData& base, const PointData& queries, std::int64_t k,
                        const SearchOptions& options = {});

/// The list of query i is rows[begin[i]] .. rows[begin[i + 1] - 1].
struct RadiusTable {
  std::vector<std::int64_t> begin;  // (q + 1)
  std::vector<std::int64_t> rows;
  std::vector<double> distances;
};

/// All rows of `base` within the radius, inclusive, of each of its rows, or of each query. Errors as of neighbors().
RadiusTable radius(const PointData& base, double radius, const SearchOptions& options = {});
RadiusTable radius(const PointData& base, const PointData& queries, double radius, const SearchOptions& options = {});

}  // namespace kith
