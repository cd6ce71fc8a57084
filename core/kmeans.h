// k-means by Lloyd's iteration: assign, relocate empty clusters, update, stop tests; then one more assignment, so that
// labels, counts and inertia always belong to the centroids that are returned.
//
// S. P. Lloyd: Least squares quantization in PCM (1982). Rules in docs/contract.md, Lloyd's iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/empty_clusters.h"
#include "core/metric.h"
#include "core/mini_batch.h"
#include "core/observer.h"

namespace kith {

enum class Init { kmeans_plus_plus, kmeans_parallel, random, first, farthest, given };

/// A run that stopped at its limit of iterations, of which another one takes the centroids and goes on.
struct StoppedRun {
  std::int64_t iterations = 0;
  std::int64_t changed = 0;          // KMeansResult::changed
  std::vector<std::int64_t> counts;  // (k) of its result; other ones now mean that the points are not the same
};

struct KMeansOptions {
  std::int64_t clusters = 0;
  Init init = Init::kmeans_plus_plus;
  MatrixView<const double> frozen = {};  // (f, d) the first centroids, which do not move; k counts them in
  MatrixView<const double> known =
      {};  // (b, d), without frozen ones: the first centroids, which move; k counts them in
  MatrixView<const double> given = {};  // (k - f, d) for Init::given
  int runs = 1;                         // best inertia wins, ties go to the lowest run
  std::int64_t first_run = 0;           // number of the first of them, which names its random numbers
  int max_iterations = 300;             // of this run alone
  /// With Init::given, its centroids: the iterations are counted on, and stop tests begin at once, as if it had not
  /// stopped. Where the points are not the same this is a start like any other, with a warning.
  std::optional<StoppedRun> stopped = {};
  double tolerance = 1e-4;  // x mean column variance >= sum of squared shifts stops; 0: until no label changes
  std::uint64_t seed = 0;
  Metric metric = Metric::euclidean;  // cosine: rows of length 1 in the points (normalize_rows); centroids become so
  EmptyRule empty = EmptyRule::relocate;
  MiniBatch batch = {};         // the start first follows batches of rows; a run that was stopped has done that
  bool keep_distances = false;  // fill KMeansResult::distances
  bool keep_medoids = false;    // and KMeansResult::medoids
};

struct KMeansResult {
  Matrix<double> centroids;                  // (k, d)
  UninitializedVector<std::int32_t> labels;  // (n)
  UninitializedVector<double> distances;     // (n) squared, to the own centroid, if asked for
  std::vector<std::int64_t> counts;          // (k) rows
  std::vector<double> weights;               // (k) of these rows; empty where rows are not weighted
  std::vector<double> inertia_per_cluster;   // (k)
  std::vector<std::int64_t> nearest_row;     // (k) the row nearest each centroid, ties to the lowest
  double inertia = 0.0;
  double spread = 0.0;          // inertia of all rows around their mean
  double total_inertia = 0.0;   // of all rows as one cluster, R's totss: the spread or, by cosine, around its direction
  std::int64_t iterations = 0;  // assignments of the loop, as scikit-learn's n_iter_; of a stopped run's too
  std::int64_t changed = 0;     // rows that the last assignment gave another label than the last iteration
  std::string stopped_by;      // "labels", "tolerance" or "max-iterations"; "epochs" or "splits" where no iteration did
  double stopped_value = 0.0;  // changed labels (0), the shift, or the number of iterations, epochs or splits
  double shift_threshold = 0.0;  // tolerance x mean column variance
  std::int64_t empty_clusters = 0;
  bool continues = false;                // KMeansOptions::stopped
  std::int64_t frozen = 0;               // the first of the centroids, which did not move
  Matrix<double> medoids;                // (k, d) the rows of nearest_row, if asked for
  int run = 0;                           // which of the runs won
  std::vector<RunRecord> runs;           // all of them
  std::vector<IterationRecord> history;  // of the winning run, without those of a stopped one
};

/// Throws Error(usage) for k out of range or a start of the wrong shape, naming n, d and k.
KMeansResult kmeans(Points& points, const DataPlan& plan, const KMeansOptions& options, Observer& observer);

/// One assignment of all rows to given centroids (k, d); nothing is updated. Iterations, stops, distances and
/// nearest_row stay empty (points.distances() has the distances); history holds the one assignment.
KMeansResult assign_only(Points& points, const DataPlan& plan, MatrixView<const double> centroids, Observer& observer);

}  // namespace kith
