// Starting centroids: greedy k-means++, random rows, first rows.
//
// D. Arthur, S. Vassilvitskii: k-means++: the advantages of careful seeding (2007); the greedy variant, which draws
// several candidates and keeps the best, is in Arthur's implementation and was analysed by A. Bhattacharya, J. Eube,
// H. Roeglin, M. Schmidt: Noisy, greedy and not so greedy k-means++ (2020).
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"
#include "core/observer.h"

namespace kith {

/// Running totals of to_fixed(kept distance) over groups of rows, which a backend keeps for drawing.
struct DistanceTotals {
  static constexpr std::int64_t kGroup = 1024;  // rows per total
  bool current = false;                         // no kept distance has changed since
  int shift = 0;                                // of the scale
  double largest = 0.0;                         // kept distance
  std::vector<std::int64_t> inclusive;          // (groups) prefix sums
};

/// Which random numbers a start may use: those of (seed, stream).
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  // the number of the run
};

/// Row numbers of k starting centroids. Costs one pass over the points per centroid for its 2 + floor(ln k) candidates,
/// in low precision for most rows. When fewer than k rows are distinct, the remaining centroids are the lowest rows not
/// yet chosen, with a warning. `given` (g, d): centroids that are there already, beside which the k are drawn.
std::vector<std::int64_t> greedy_kmeans_plus_plus(Points& points, std::int64_t clusters, RandomStream random,
                                                  Observer& observer, MatrixView<const double> given = {});

/// k different row numbers of n in random order (a sparse Fisher-Yates shuffle).
std::vector<std::int64_t> random_rows(std::int64_t rows, std::int64_t clusters, RandomStream random);

}  // namespace kith
