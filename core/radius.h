// Radius search: for every query all rows within a distance, in lists of whatever length, none cut short.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/metric.h"
#include "core/neighbors.h"

namespace kith {

/// The largest D of a row within `radius`, in the unit that results show: radius x radius, rounded once, where D is a
/// square; -radius where D is a negated product; else the radius. Throws Error(usage) for one that is not finite, or
/// negative where distances cannot be.
double limit_of_radius(double radius, Metric metric);

struct RadiusOptions {
  double limit = 0.0;  // of D, included
  Measure measure = Measure::squared_euclidean;
  bool base_is_queries = false;    // the set against itself
  bool include_self = false;       // with base_is_queries: keep each row in its own list
  std::int64_t block_queries = 0;  // queries per block; 0: chosen. Answers do not depend on it.
  /// Rows of all lists of a block together. A block that finds more is searched again in parts; one query may always
  /// find all rows.
  std::int64_t capacity = std::int64_t{1} << 22;
  /// With base_is_queries: of two rows the lower one alone has the other in its list, so that each pair is told once.
  bool pairs_once = false;
  /// With base_is_queries, unless pairs_once: rows of a block look only at rows from their block on, and pairs with
  /// those of later blocks are kept until these come. When more would be kept than this, the last blocks look at all
  /// rows instead. Answers do not depend on it.
  std::int64_t max_buffered_pairs = std::int64_t{1} << 22;
};

/// Bytes of a pair that is kept, at most: in an array that grows, then, before that is given up, in a list that does.
inline constexpr std::int64_t kBufferedPairBytes = 2 * 24 + 2 * 16;

/// Receives finished lists, each ordered by (D, row), in order of their queries. Says whether it wants more.
using RadiusSink = std::function<bool(std::int64_t first_query, std::span<const std::vector<Neighbor>> lists)>;

/// Searches `base` for every row of `queries` (n_q, d). False when the sink did not want them all. Throws what
/// check_queries throws.
bool radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options, const RadiusSink& sink,
                      Observer& observer);

/// How many rows lie within the limit of each query. The same search; no list is made.
std::vector<std::int64_t> count_radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options,
                                                 Observer& observer);

}  // namespace kith
