// Initial centroids: greedy k-means++, farthest-first traversal, random rows.
//
// D. Arthur, S. Vassilvitskii: k-means++: the advantages of careful seeding (2007); the greedy variant, which draws
// several candidates and keeps the best, is in Arthur's implementation and was analysed by A. Bhattacharya, J. Eube,
// H. Roeglin, M. Schmidt: Noisy, greedy and not so greedy k-means++ (2020). Farthest-first traversal: T. F. Gonzalez:
// Clustering to minimize the maximum intercluster distance (1985).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/points/backend.h"
#include "core/points/observer.h"

namespace kith {

/// Prefix sums of to_fixed(kept distance) over groups of rows, which a backend keeps for sampling.
struct DistanceTotals {
  static constexpr std::int64_t kGroup = 1024;  // rows per total
  bool current = false;                         // no kept distance has changed since the sums
  int shift = 0;                                // of the scale
  double largest = 0.0;                         // largest kept distance
  std::vector<std::int64_t> inclusive;          // (groups) prefix sums
};

/// The random numbers of an initialisation: those of (seed, stream).
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  // the number of the run
};

/// The place of a seeding between two of its steps.
struct SeedingState {
  std::vector<std::int64_t> seeds;       // rows chosen so far; with k-means||: candidates, by their number
  std::vector<std::int64_t> candidates;  // of k-means||: rows drawn and not removed
  std::vector<std::int64_t> drawn;       // of k-means||: all rows drawn
  std::int64_t rounds = 0;               // of k-means||: finished ones
};

/// A seeding that continues from a state.
struct SeedingPlace {
  SeedingState state;
  std::function<bool()> after_step = [] { return false; };  // called after each further step; true: the seeding ends
  bool ended = false;                                       // so: it has no result
  bool step() { return ended = after_step(); }
};

/// Row numbers of k = `clusters` initial centroids. Each centroid costs one pass over the points for its 2 + floor(ln
/// k) candidates, in low precision for most rows. weights: those that the points hold. If fewer than k rows are
/// distinct, the lowest rows not yet chosen fill up, with a warning. given: (g, d) existing centroids, which count as
/// chosen. place: where it continues, one pass for each row chosen before; null: from the start.
std::vector<std::int64_t> greedy_kmeans_plus_plus(Points& points, const Weights& weights, std::int64_t clusters,
                                                  RandomStream random, Observer& observer,
                                                  MatrixView<const double> given = {}, SeedingPlace* place = nullptr);

/// Row numbers of k initial centroids: the first is drawn by weight; each further one is the row with the largest D to
/// its nearest chosen row (ties: lowest row). O(n d) float64 operations per centroid. Given centroids, a lack of
/// distinct rows, and the place are handled as above.
std::vector<std::int64_t> farthest_first_traversal(Points& points, const Weights& weights, std::int64_t clusters,
                                                   RandomStream random, Observer& observer,
                                                   MatrixView<const double> given = {}, SeedingPlace* place = nullptr);

/// k distinct row numbers below n in random order (sparse Fisher-Yates shuffle).
std::vector<std::int64_t> random_rows(std::int64_t rows, std::int64_t clusters, RandomStream random);

/// The values (r, d) of rows (r).
Matrix<double> rows_of_points(const Points& points, const std::vector<std::int64_t>& rows);

// Initial centroids for large k: k-means||, which samples many rows per round and then chooses among them.
//
// B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii: Scalable k-means++ (2012), with exactly k, k and 2 k
// draws in three rounds.

/// Row numbers of k = `clusters` initial centroids. Three rounds draw k, k and 2 k rows with probability proportional
/// to their D to the nearest candidate, and cost one assignment to all candidates each. More rounds follow only while
/// there are fewer than k candidates. Weighted greedy k-means++ chooses among the candidates; the weight of a candidate
/// is that of the rows nearest to it. If fewer than k rows are distinct, the lowest rows not yet chosen fill up, with a
/// warning. given: (g, d) existing centroids, which count as chosen. place: where it continues, after a round or among
/// the candidates.
std::vector<std::int64_t> kmeans_parallel(Points& points, const DataPlan& plan, std::int64_t clusters,
                                          RandomStream random, Observer& observer, MatrixView<const double> given = {},
                                          SeedingPlace* place = nullptr);

}  // namespace kith
