// Radius search: for every query, all rows within a distance.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/neighbors/neighbors.h"
#include "core/numbers/metric.h"

namespace kith {

/// The largest D of a row within `radius`: radius x radius, rounded once, for squared distances; 2 radius for
/// correlation, whose distance 1 - r is D / 2; chord_within() for places, in km; -radius for inner products; else
/// radius. radius: in the unit of displayed distances. Throws Error(usage) unless it is finite and, except for inner
/// products, at least 0.
double limit_of_radius(double radius, Metric metric);

/// The least radius that holds every pair of directions whose cosine is at least `cosine` (-1 to 1): sqrt(2 - 2
/// cosine), and what the rounding of directions in float64 may add to their distance.
double radius_of_cosine(double cosine);
/// The cosine of directions at this distance: 1 - radius^2 / 2.
double cosine_of_radius(double radius);

struct RadiusOptions {
  double limit = 0.0;  // inclusive limit of D
  Measure measure = Measure::squared_euclidean;
  bool base_is_queries = false;    // search the neighbours of every row of the base
  bool include_self = false;       // with base_is_queries: keep each row in its own list
  std::int64_t block_queries = 0;  // queries per block; 0: chosen. Results do not depend on it.
  /// Maximum total length of the lists of a block. A block that exceeds it is searched again in parts; the list of a
  /// single query may exceed it.
  std::int64_t capacity = std::int64_t{1} << 22;
  /// With base_is_queries: report each pair once, in the list of the lower row.
  bool pairs_once = false;
  bool sorted = true;  // lists are ordered by (D, row); else their order may depend on the backend
  /// With base_is_queries, unless pairs_once: each block searches only rows from its first row on and buffers pairs
  /// with rows of later blocks. If the buffer would exceed this number, the last blocks search all rows instead.
  /// Results do not depend on it.
  std::int64_t max_buffered_pairs = std::int64_t{1} << 22;
};

/// Maximum bytes of a buffered pair: in a growing array, and meanwhile in a growing list.
inline constexpr std::int64_t kBufferedPairBytes = 2 * 24 + 2 * 16;

/// Receives finished lists in the order of the queries. Returns whether to continue.
using RadiusSink = std::function<bool(std::int64_t first_query, std::span<const std::vector<Neighbor>> lists)>;

/// Searches `base` for every row of `queries` (n_q, d). Returns false if the sink ended the search. Throws what
/// check_queries() throws.
bool radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options, const RadiusSink& sink,
                      Observer& observer);

/// (n_q) The number of rows within the limit of each query, by the same search without lists.
std::vector<std::int64_t> count_radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options,
                                                 Observer& observer);

}  // namespace kith
