// k-means by Lloyd's iteration: assign, relocate empty clusters, update, test whether to stop. One more assignment
// follows, so that labels, counts and inertia belong to the returned centroids. O(n k d) per iteration at most.
//
// S. P. Lloyd: Least squares quantization in PCM (1982). Rules in docs/contract.md, Lloyd's iteration.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kmeans/mini_batch.h"
#include "core/kmeans/seeding.h"
#include "core/kmeans/update.h"
#include "core/numbers/metric.h"
#include "core/points/backend.h"
#include "core/points/observer.h"

namespace kith {

struct KMeansState;  // core/kmeans/kmeans_state.h
class KMeansKeeper;

enum class Init { kmeans_plus_plus, kmeans_parallel, random, first, farthest, given };

/// The state of a run that stopped at its iteration limit, for a run that resumes it.
struct StoppedRun {
  std::int64_t iterations = 0;
  std::int64_t limit = 0;            // of these and the further iterations; 0: max_iterations further ones
  std::int64_t changed = 0;          // KMeansResult::changed
  std::vector<std::int64_t> counts;  // (k) of its result; different counts now mean different points
};

struct KMeansOptions {
  std::int64_t clusters = 0;
  Init init = Init::kmeans_plus_plus;
  MatrixView<const double> frozen = {};  // (f, d) fixed first centroids; they count towards k
  MatrixView<const double> known = {};   // (b, d) first centroids, not fixed; they count towards k; not with frozen
  MatrixView<const double> given = {};   // (k - f, d) for Init::given
  int runs = 1;                          // the run with the smallest inertia wins; ties: the lowest run
  std::int64_t first_run = 0;            // number of the first run; the number selects the random numbers
  int max_iterations = 300;              // maximum number of iterations per run
  /// Resumes this run from its centroids (Init::given): iteration numbers continue and stop tests apply at once, as if
  /// the run had not stopped. If the points differ, the run starts anew from these centroids, with a warning.
  std::optional<StoppedRun> stopped = {};
  double tolerance = 1e-4;  // stop at a squared shift of at most tolerance x mean column variance; 0: off
  std::uint64_t seed = 0;
  Metric metric = Metric::euclidean;  // cosine: the points hold normalised rows; centroids are normalised too
  EmptyRule empty = EmptyRule::relocate;
  MiniBatch batch = {};         // batches that precede the iterations; a resumed run skips them
  bool keep_distances = false;  // fill KMeansResult::distances
  bool keep_medoids = false;    // and KMeansResult::medoids
  /// Host memory for trees and cells of the search for the nearest rows; core/points/streamed_points.cpp has none.
  std::int64_t search_bytes = std::numeric_limits<std::int64_t>::max();
  KMeansKeeper* keeper = {};  // keeps states while the computation runs; none without it
  KMeansState* from = {};     // continues from this state of the same computation, which it takes over
};

struct KMeansResult {
  Matrix<double> centroids;                  // (k, d)
  UninitializedVector<std::int32_t> labels;  // (n)
  UninitializedVector<double> distances;     // (n) D to the own centroid, if requested
  std::vector<std::int64_t> counts;          // (k) rows
  std::vector<double> weights;               // (k) total weight of each cluster; empty without weights
  std::vector<double> inertia_per_cluster;   // (k)
  std::vector<std::int64_t> nearest_row;     // (k) the row nearest to each centroid; ties: the lowest
  double inertia = 0.0;
  double spread = 0.0;           // inertia of all rows around their mean
  double total_inertia = 0.0;    // of one cluster (totss in R): spread or, with cosine, around the mean's direction
  std::int64_t iterations = 0;   // assignments of the loop (n_iter_ in scikit-learn), including those of a resumed run
  std::int64_t changed = 0;      // labels that the last assignment changed
  std::string stopped_by;        // "labels", "tolerance", "max-iterations", "interrupted"; "epochs" and "splits"
  double stopped_value = 0.0;    // changed labels (0), the squared shift, or the number of iterations, epochs or splits
  double shift_threshold = 0.0;  // tolerance x mean column variance
  std::int64_t empty_clusters = 0;
  bool continues = false;                // whether KMeansOptions::stopped was resumed
  std::int64_t frozen = 0;               // number of frozen centroids, which come first
  Matrix<double> medoids;                // (k, d) the rows of nearest_row, if requested
  int run = 0;                           // the winning run
  std::vector<RunRecord> runs;           // all of them
  std::vector<IterationRecord> history;  // of the winning run, without iterations before a resumption
};

/// The best of options.runs runs. Throws Error(usage) naming n, d and k for k out of range or a start of the wrong
/// shape, and Error(data) if the points are not those of options.from.
KMeansResult kmeans(Points& points, const DataPlan& plan, const KMeansOptions& options, Observer& observer);

/// Assigns all rows to given centroids (k, d) and updates nothing. Iterations, stopping fields, distances and
/// nearest_row stay empty (points.distances() has the distances); history holds the single assignment. Throws
/// Error(usage) if the numbers of columns differ.
KMeansResult assign_only(Points& points, const DataPlan& plan, MatrixView<const double> centroids, Observer& observer);

// start.cpp: the initial centroids of a run, frozen or known centroids, then those of options.init.

/// The names of the rules: of all starts but given centroids.
inline constexpr std::pair<const char*, Init> kStartRules[] = {{"k-means++", Init::kmeans_plus_plus},
                                                               {"k-means||", Init::kmeans_parallel},
                                                               {"random", Init::random},
                                                               {"first", Init::first},
                                                               {"farthest", Init::farthest}};

/// The start without --init, a rule in the shape of the points (n, d) and the number of clusters k alone, so that a run
/// has the same start on every machine. k-means++ passes over all rows for each centroid, which is most of a run with
/// many centroids; k-means|| costs as much as about seven assignments, whatever k is. So k-means|| is the start if
/// k >= 64 and n d k >= 2^30 (k-means++ then takes more than about 0.2 s on two cores), or if n d >= 2^33 (rows that
/// may not be in memory). docs/performance.md compares the inertias that they lead to.
Init default_init(std::int64_t rows, std::int64_t columns, std::int64_t clusters);

/// Throws Error(usage) naming n, d and k for k out of range or centroids of the wrong shape; Error(data) for frozen
/// centroids so far away that squared distances leave the range of float64.
void check_start(const DataPlan& plan, const KMeansOptions& options);

/// (k, d) The initial centroids of run `run`, from 0. Overwrites the labels and distances that `points` hold. place:
/// where the seeding continues; null: from the start. Nothing if it ends there.
Matrix<double> first_centroids(Points& points, const DataPlan& plan, const KMeansOptions& options, int run,
                               Observer& observer, SeedingPlace* place = nullptr);

}  // namespace kith
