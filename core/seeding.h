// Starting centroids: greedy k-means++, farthest rows, random rows.
//
// D. Arthur, S. Vassilvitskii: k-means++: the advantages of careful seeding (2007); the greedy variant, which draws
// several candidates and keeps the best, is in Arthur's implementation and was analysed by A. Bhattacharya, J. Eube,
// H. Roeglin, M. Schmidt: Noisy, greedy and not so greedy k-means++ (2020). Farthest first: T. F. Gonzalez: Clustering
// to minimize the maximum intercluster distance (1985).
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
/// in low precision for most rows. weights: those that the points hold. When fewer than k rows are distinct, the
/// remaining centroids are the lowest rows not yet chosen, with a warning. `given` (g, d): centroids that are there
/// already, beside which the k are drawn.
std::vector<std::int64_t> greedy_kmeans_plus_plus(Points& points, const Weights& weights, std::int64_t clusters,
                                                  RandomStream random, Observer& observer,
                                                  MatrixView<const double> given = {});

/// Row numbers of k starting centroids: the first drawn by weight, every further one the row with the largest distance
/// to its nearest one, ties to the lowest row. Costs n d in float64 per centroid. Where rows run out, and beside given
/// centroids, as above.
std::vector<std::int64_t> farthest_first_traversal(Points& points, const Weights& weights, std::int64_t clusters,
                                                   RandomStream random, Observer& observer,
                                                   MatrixView<const double> given = {});

/// k different row numbers of n in random order (a sparse Fisher-Yates shuffle).
std::vector<std::int64_t> random_rows(std::int64_t rows, std::int64_t clusters, RandomStream random);

// What starts are made of.

/// A row, by draw 0. Weights are integers here, as in their sums: the row is the first whose inclusive prefix of them
/// exceeds the number drawn.
std::int64_t draw_by_weight(const Weights& weights, RandomStream random);

/// Values (r, d) of some rows.
Matrix<double> rows_of_points(const Points& points, const std::vector<std::int64_t>& rows);

/// Every row coincides with a seed, or with a centroid that is given: any choice is as good, so the lowest rows not yet
/// chosen, with a warning.
void complete_with_lowest(std::vector<std::int64_t>& seeds, std::int64_t clusters, bool beside_given,
                          Observer& observer);

}  // namespace kith
