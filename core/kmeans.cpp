// k-means: runs of Lloyd's iteration from their starts, the stopping rules, and the best run's final state.
#include "core/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/cluster_update.h"
#include "core/seeding.h"

namespace kith {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

/// One assignment and its inertia as float64: total and per cluster.
struct Assigned {
  Assignment sums;
  std::vector<double> inertia_per_cluster;
  double inertia = 0.0;
  double grid = 0.0;  // what rounding to the grid of the inertia sums may have taken
};

Assigned assign(Points& points, const DataPlan& plan, MatrixView<const double> centroids) {
  AssignRequest request{centroids, inertia_scale(plan, centroids.data, centroids.rows), term_bits(plan.rows)};
  Assigned result{Assignment(centroids.rows), {}, 0.0, 0.0};
  points.assign(request, result.sums);
  const std::int64_t counted = std::accumulate(result.sums.counts.begin(), result.sums.counts.end(), std::int64_t{0});
  if (counted != plan.rows) {
    throw Error(ExitCode::internal, fmt::format("the assignment counted {} rows of {}: the device or the memory is "
                                                "faulty; run again, or with another --backend",
                                                counted, plan.rows));
  }
  Limbs total;
  for (const Limbs& part : result.sums.inertia) {
    total.high += part.high;
    total.low += part.low;
    result.inertia_per_cluster.push_back(from_limbs(part, request.inertia.shift, request.inertia_bits));
  }
  result.inertia = from_limbs(total, request.inertia.shift, request.inertia_bits);
  result.grid = scaled_by(static_cast<double>(plan.rows), -(request.inertia.shift + request.inertia_bits));
  return result;
}

IterationRecord record_of(const Assigned& assigned) {
  IterationRecord record;
  record.inertia = assigned.inertia;
  record.changed = assigned.sums.changed;
  record.screened = assigned.sums.screened;
  record.rechecked = assigned.sums.rechecked;
  record.candidates = assigned.sums.candidates;
  return record;
}

/// scikit-learn's rule: the mean over columns of their variance. It is the inertia of one cluster at the mean, per
/// value.
double mean_column_variance(Points& points, const DataPlan& plan) {
  Matrix<double> mean(1, plan.columns);
  std::copy(plan.mean.begin(), plan.mean.end(), mean.data());
  return assign(points, plan, mean.view()).inertia / static_cast<double>(plan.rows) / static_cast<double>(plan.columns);
}

void check_options(const DataPlan& plan, const KMeansOptions& options) {
  if (options.clusters < 1 || options.clusters > plan.rows) {
    throw Error(ExitCode::usage,
                fmt::format("k = {} clusters: expected 1 to {}, the number of rows", options.clusters, plan.rows));
  }
  if (options.clusters > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ExitCode::usage, fmt::format("k = {} clusters: labels are 32-bit, at most {}", options.clusters,
                                             std::numeric_limits<std::int32_t>::max()));
  }
  if (options.init == Init::given &&
      (options.given.rows != options.clusters || options.given.columns != plan.columns)) {
    throw Error(ExitCode::usage,
                fmt::format("initial centroids: expected {} x {} (clusters, columns), found {} x {}", options.clusters,
                            plan.columns, options.given.rows, options.given.columns));
  }
}

void warn_of_duplicates(MatrixView<const double> centroids, Observer& observer) {
  std::vector<std::int64_t> order(centroids.rows);
  std::iota(order.begin(), order.end(), 0);
  const auto row = [&](std::int64_t c) { return centroids.row(c); };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::lexicographical_compare(row(a).begin(), row(a).end(), row(b).begin(), row(b).end());
  });
  std::int64_t repeated = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    repeated += std::equal(row(order[i]).begin(), row(order[i]).end(), row(order[i - 1]).begin());
  }
  if (repeated > 0)
    observer.warning(fmt::format("{} of the {} initial centroids repeat another one", repeated, centroids.rows));
}

Matrix<double> start(Points& points, const KMeansOptions& options, int run, Observer& observer) {
  observer.phase("seed", options.clusters);
  Matrix<double> centroids(options.clusters, points.columns());
  const RandomStream random{options.seed, static_cast<std::uint64_t>(run)};
  if (options.init == Init::given) {
    std::copy(options.given.data, options.given.data + options.given.size(), centroids.data());
  } else {
    std::vector<std::int64_t> rows(options.clusters);
    if (options.init == Init::kmeans_plus_plus) {
      rows = greedy_kmeans_plus_plus(points, options.clusters, random, observer);
    } else if (options.init == Init::random) {
      rows = random_rows(points.rows(), options.clusters, random);
    } else {
      std::iota(rows.begin(), rows.end(), 0);
    }
    points.copy_rows(rows, centroids.view());
  }
  if (options.metric == Metric::cosine) unit_centroids(centroids.view(), "initial centroids");
  if (options.init != Init::kmeans_plus_plus && run == 0) warn_of_duplicates(centroids.view(), observer);
  return centroids;
}

/// Says what the integer sums cannot hold: values that are lost beside far larger ones, and distances likewise.
void warn_of_coarse_sums(const Points& points, const DataPlan& plan, const Assigned& assigned, Observer& observer) {
  for (const std::string& warning : plan.warnings) observer.warning(warning);
  if (plan.scales.limbs == 1) return;
  const double farthest = points.farthest(1).front().distance;
  const double step = assigned.grid / static_cast<double>(plan.rows);
  if (!(farthest > 0.0) || farthest >= step * 0x1p20) return;
  observer.warning(
      fmt::format("inertia is a sum on a grid of {}, set by the farthest values, and squared distances reach only "
                  "{}: it has lost most of its digits",
                  step, farthest));
}

/// The objective may not rise by more than rounding (contract, Lloyd's iteration): of the means, and of both sums.
void check_descent(double before, double after, double rounding) {
  if (after <= before * (1 + 1e-12) + rounding) return;
  throw Error(ExitCode::internal,
              fmt::format("the objective rose from {} to {}: the device or the memory is faulty; run "
                          "again, or with another --backend",
                          before, after));
}

/// One run of Lloyd's iteration from its start to its final assignment; labels and distances stay in `points`.
class Run {
 public:
  Run(Points& points, const DataPlan& plan, const KMeansOptions& options, double threshold, Observer& observer)
      : points_(points), plan_(plan), options_(options), threshold_(threshold), observer_(observer) {}

  KMeansResult operator()(int run) {
    KMeansResult result;
    result.run = run;
    result.shift_threshold = threshold_;
    Matrix<double> centroids = start(points_, options_, run, observer_);
    Matrix<double> assigned_to;
    points_.forget();
    observer_.phase("iterate", options_.max_iterations);
    ClusterSums sums(options_.clusters, plan_.columns, plan_.scales.limbs);
    Assigned assigned{Assignment(0), {}, std::numeric_limits<double>::infinity(), 0.0};
    const auto assign_to = [&] {
      Assigned next = assign(points_, plan_, centroids.view());
      check_descent(assigned.inertia, next.inertia, rounding_ + assigned.grid + next.grid);
      assigned = std::move(next);
    };
    while (result.stopped_by.empty()) {
      const auto begin = Clock::now();
      assign_to();
      IterationRecord record = record_of(assigned);
      record.relocated = relocate_empty_clusters(points_, assigned.sums.counts, on_centroid_).filled;
      points_.add_moves(sums);
      Matrix<double> moved = centroids_of(sums, assigned.sums.counts, plan_.scales, centroids.view());
      if (options_.metric == Metric::cosine) unit_means(moved.view(), centroids.view());
      record.shift = squared_shift(moved.view(), centroids.view());
      record.seconds = seconds_since(begin);
      assigned_to = std::move(centroids);
      centroids = std::move(moved);
      result.history.push_back(record);
      observer_.iteration(record);
      decide(record, result);
    }
    observer_.phase("assign", 1);
    // Bit-equal centroids have been assigned to already, unless relocation changed labels since.
    if (!same_bits(centroids, assigned_to) || result.history.back().relocated > 0) assign_to();
    if (run == 0) warn_of_coarse_sums(points_, plan_, assigned, observer_);
    result.centroids = std::move(centroids);
    result.inertia = assigned.inertia;
    result.inertia_per_cluster = std::move(assigned.inertia_per_cluster);
    result.counts = std::move(assigned.sums.counts);
    result.empty_clusters = std::count(result.counts.begin(), result.counts.end(), 0);
    return result;
  }

 private:
  /// No test before two assignments: the first has nothing to be compared with.
  void decide(const IterationRecord& record, KMeansResult& result) const {
    result.iterations = static_cast<std::int64_t>(result.history.size());
    const bool comparable = result.iterations >= 2;
    if (comparable && record.changed == 0 && record.relocated == 0) {
      result.stopped_by = "labels";
      result.stopped_value = 0.0;
    } else if (comparable && options_.tolerance > 0.0 && record.shift <= threshold_) {
      result.stopped_by = "tolerance";
      result.stopped_value = record.shift;
    } else if (result.iterations >= options_.max_iterations) {
      result.stopped_by = "max-iterations";
      result.stopped_value = static_cast<double>(result.iterations);
    }
  }

  Points& points_;
  const DataPlan& plan_;
  const KMeansOptions& options_;
  double threshold_;
  double rounding_ = objective_rounding(plan_);
  double on_centroid_ = options_.metric == Metric::cosine ? kUnitRounding : 0.0;  // D of rows that lie there
  Observer& observer_;
};

}  // namespace

KMeansResult kmeans(Points& points, const DataPlan& plan, const KMeansOptions& options, Observer& observer) {
  check_options(plan, options);
  const double threshold = options.tolerance > 0.0 ? options.tolerance * mean_column_variance(points, plan) : 0.0;
  Run lloyd(points, plan, options, threshold, observer);
  KMeansResult best;
  for (int run = 0; run < options.runs; ++run) {
    KMeansResult result = lloyd(run);
    if (run > 0 && !(result.inertia < best.inertia)) continue;
    best = std::move(result);
    best.labels.resize(plan.rows);
    points.labels(best.labels);
    if (!options.keep_distances) continue;
    best.distances.resize(plan.rows);
    points.distances(best.distances);
  }
  NeighborLists nearest(options.clusters, 1);
  points.search({best.centroids.view(), -1}, nearest);
  best.nearest_row.assign(nearest.index.data(), nearest.index.data() + options.clusters);
  return best;
}

KMeansResult assign_only(Points& points, const DataPlan& plan, MatrixView<const double> centroids, Observer& observer) {
  if (centroids.columns != plan.columns) {
    throw Error(ExitCode::usage, fmt::format("centroids have {} columns, the points have {}; expected the same number",
                                             centroids.columns, plan.columns));
  }
  observer.phase("assign", 1);
  points.forget();
  const auto begin = Clock::now();
  Assigned assigned = assign(points, plan, centroids);
  warn_of_coarse_sums(points, plan, assigned, observer);
  KMeansResult result;
  result.history.push_back(record_of(assigned));
  result.history.back().seconds = seconds_since(begin);
  result.centroids = Matrix<double>(centroids.rows, centroids.columns);
  std::copy(centroids.data, centroids.data + centroids.size(), result.centroids.data());
  result.inertia = assigned.inertia;
  result.inertia_per_cluster = std::move(assigned.inertia_per_cluster);
  result.counts = std::move(assigned.sums.counts);
  result.empty_clusters = std::count(result.counts.begin(), result.counts.end(), 0);
  result.labels.resize(plan.rows);
  points.labels(result.labels);
  return result;
}

}  // namespace kith
