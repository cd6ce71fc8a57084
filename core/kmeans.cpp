// k-means: runs of Lloyd's iteration, the stopping rules, and the choice of the best run.
#include "core/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/cluster_update.h"
#include "core/distance.h"
#include "core/inertia.h"
#include "core/label_result.h"
#include "core/start.h"

namespace kith {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

IterationRecord record_of(const Assignment& assignment) {
  IterationRecord record;
  record.changed = assignment.changed;
  record.screened = assignment.screened;
  record.products = assignment.products;
  record.ambiguous = assignment.ambiguous;
  record.candidates = assignment.candidates;
  return record;
}

/// (1, d)
Matrix<double> mean_of(const DataPlan& plan) {
  Matrix<double> mean(1, plan.columns);
  std::copy(plan.mean.begin(), plan.mean.end(), mean.data());
  return mean;
}

/// The inertia of all rows around one centre (1, d).
Inertia measure_around(Points& points, const DataPlan& plan, MatrixView<const double> center) {
  return assign_and_measure(points, plan, center).inertia;
}

/// The inertia of all rows around their mean. Divided by n d it is the mean column variance of scikit-learn's stopping
/// rule.
Inertia measure_spread(Points& points, const DataPlan& plan) {
  const Matrix<double> mean = mean_of(plan);
  return measure_around(points, plan, mean.view());
}

/// The inertia of all rows as one cluster, whose centroid is the mean or, with cosine, the direction of the mean. If
/// the mean has no direction, every direction gives the same inertia, and the first axis is used.
double inertia_of_one(Points& points, const DataPlan& plan, Metric metric, double spread) {
  if (metric != Metric::cosine) return spread;
  Matrix<double> center = mean_of(plan), any(1, plan.columns);
  std::fill(any.data(), any.data() + any.size(), 0.0);
  any(0, 0) = 1.0;
  normalize_means(center.view(), any.view());
  return measure_around(points, plan, center.view()).total;
}

/// Values that lose their digits in the integer sums next to far larger ones.
void report_warnings(const DataPlan& plan, Observer& observer) {
  for (const std::string& warning : plan.warnings) observer.warning(warning);
}

/// Throws if the objective rises by more than `rounding` permits (docs/contract.md, Lloyd's iteration).
void check_descent(double before, double after, double rounding) {
  if (after <= before * (1 + 1e-12) + rounding) return;
  throw Error(ExitCode::internal,
              fmt::format("the objective rose from {} to {}: the device or the memory is faulty", before, after),
              Cause::faulty_hardware);
}

/// One run of Lloyd's iteration, from initial centroids to the final assignment; labels and distances stay in `points`.
class Run {
 public:
  Run(Points& points, const DataPlan& plan, const KMeansOptions& options, const Inertia& spread, Observer& observer)
      : points_(points),
        plan_(plan),
        options_(options),
        spread_(spread.total),
        rounding_(objective_rounding(plan, reach(plan, options, spread.total), options.clusters) + spread.rounding),
        observer_(observer) {
    stop_.max_iterations = options.max_iterations;
    if (options.tolerance > 0.0) {
      stop_.threshold = options.tolerance * (spread_ / plan.weights.total / static_cast<double>(plan.columns));
    }
  }

  KMeansResult operator()(int run) {
    KMeansResult result;
    result.run = run;
    result.spread = spread_;
    result.shift_threshold = std::max(stop_.threshold, 0.0);
    LloydState state{first_centroids(points_, plan_, options_, run, observer_), empty_sums(plan_, options_.clusters),
                     std::vector<std::int64_t>(options_.clusters, 0)};
    inertia_scale(plan_, state.centroids.view());  // throws if the start exceeds the range of float64
    if (options_.batch.rows > 0 && !options_.stopped) run_batches(state, result);
    points_.reset();
    observer_.phase("iterate", options_.max_iterations);
    while (result.stopped_by.empty()) {
      const auto begin = Clock::now();
      // A resumed run takes its first count of changed labels from the stopped run; a backend could not know it.
      IterateResult iterated;
      const bool is_first = options_.stopped && result.history.empty();
      if (is_first) {
        iterated.unfinished = first_after(*options_.stopped, state, result);
      } else if (ends_in_means()) {
        iterated = points_.iterate({stop_, result.iterations, spread_}, state);
      }
      converged_ = iterated.converged;
      for (const IterationRecord& record : iterated.records) note(record, result);
      if (!iterated.unfinished && !iterated.records.empty()) continue;
      IterationRecord record = iterate_once(state, std::move(iterated.unfinished), result.iterations + 1);
      record.seconds = seconds_since(begin);
      for (const IterationRecord& before : iterated.records) record.seconds -= before.seconds;
      if (is_first && result.continues) record.changed = options_.stopped->changed;
      note(record, result);
    }
    observer_.phase("assign", 1);
    std::optional<Inertia> measured;
    if (!converged_) {
      ClusterSums* sums = plan_.weights.given() ? &state.sums : nullptr;
      MeasuredAssignment last = assign_and_measure(points_, plan_, state.centroids.view(), sums);
      state.counts = std::move(last.assignment.counts);
      result.changed = last.assignment.changed;
      measured = std::move(last.inertia);
    }
    const bool relocates = options_.empty == EmptyRule::relocate;  // happens before an update only
    if (!relocates && count_empty(state.counts, frozen()) > 0) {
      handle_empty_clusters(state, 0);
      if (options_.empty == EmptyRule::drop) measured.reset();
    }
    Inertia inertia = measured ? std::move(*measured) : measure(points_, plan_, state.centroids.view());
    check_counts(state.counts, plan_);
    if (!result.history.empty()) {
      check_descent(result.history.back().inertia, inertia.total, rounding_ + inertia.rounding);
    }
    if (run == 0) report_warnings(plan_, observer_);
    result.centroids = std::move(state.centroids);
    result.inertia = inertia.total;
    result.inertia_per_cluster = std::move(inertia.per_cluster);
    if (plan_.weights.given()) {
      points_.update_sums(state.sums);
      result.weights = cluster_weights(state.sums, state.counts, plan_.weights);
    }
    result.counts = std::move(state.counts);
    result.empty_clusters = std::count(result.counts.begin(), result.counts.end(), 0);
    return result;
  }

 private:
  /// An upper bound of the objective for any labels; frozen centroids may lie far from the mean.
  static double reach(const DataPlan& plan, const KMeansOptions& options, double spread) {
    double farthest = 0.0;
    for (std::int64_t c = 0; c < options.frozen.rows; ++c) {
      farthest = std::max(farthest, squared_distance(options.frozen.row(c).data(), plan.mean.data(), plan.columns));
    }
    return farthest > 0.0 ? 3.0 * spread + 2.0 * plan.weights.total * farthest : spread;
  }

  void run_batches(LloydState& state, KMeansResult& result) {
    const RandomStream random{options_.seed, static_cast<std::uint64_t>(options_.first_run + result.run)};
    run_mini_batches(state.centroids, plan_, {options_.batch, frozen(), options_.metric, random}, observer_);
    if (options_.batch.finish) return;
    result.stopped_by = "epochs";
    result.stopped_value = static_cast<double>(options_.batch.epochs);
  }

  /// The first assignment of a resumed run.
  Assignment first_after(const StoppedRun& stopped, const LloydState& state, KMeansResult& result) {
    Assignment assignment = assign(points_, plan_, state.centroids.view());
    result.continues = assignment.counts == stopped.counts;
    if (result.continues) {
      result.iterations = stopped.iterations;
      stop_.max_iterations = stopped.limit > 0 ? stopped.limit : stopped.iterations + stop_.max_iterations;
    } else {
      observer_.warning("the points differ from those of the stopped run: a new run starts from its centroids");
    }
    return assignment;
  }

  /// One iteration through single backend calls. begun: its assignment, if it exists already.
  IterationRecord iterate_once(LloydState& state, std::optional<Assignment> begun, std::int64_t iteration) {
    bool summed = !begun;
    Assignment assignment =
        begun ? std::move(*begun) : assign_and_sum(points_, plan_, state.centroids.view(), state.sums);
    IterationRecord record = record_of(assignment);
    state.counts = std::move(assignment.counts);
    if (count_empty(state.counts, frozen()) > 0) {
      record.relocated = handle_empty_clusters(state, iteration);
      summed = false;
    }
    if (!summed) points_.update_sums(state.sums);
    const std::vector<double> weights = cluster_weights(state.sums, state.counts, plan_.weights);
    Matrix<double> moved = centroids_of(state.sums, weights, plan_.scales, state.centroids.view());
    record.inertia = objective_of(moved.view(), weights, plan_, spread_);
    if (!ends_in_means()) record.inertia += place_centroids(moved, weights, state.centroids.view());
    record.shift = squared_shift(moved.view(), state.centroids.view());
    converged_ = same_bits(moved, state.centroids) && record.relocated == 0;
    state.centroids = std::move(moved);
    return record;
  }

  /// Returns the number of relocated rows. iteration: from 1; 0: the last assignment.
  std::int64_t handle_empty_clusters(LloydState& state, std::int64_t iteration) {
    switch (options_.empty) {
      case EmptyRule::relocate:
        measure(points_, plan_, state.centroids.view());
        return relocate_empty_clusters(points_, state.counts, {frozen(), on_centroids(state.centroids.view())}).filled;
      case EmptyRule::keep:
        break;
      case EmptyRule::drop:
        observer_.warning(dropped_message(drop_empty_clusters(points_, state, frozen()), state, iteration));
        break;
      case EmptyRule::error:
        refuse_empty_clusters(state.counts, frozen(), iteration);
    }
    return 0;
  }

  /// (k) The largest D at which a row counts as lying on its centroid; with cosine the rows themselves are rounded.
  std::vector<double> on_centroids(MatrixView<const double> centroids) const {
    if (options_.metric == Metric::cosine) return std::vector<double>(centroids.rows, kUnitRounding);
    return distances_on_centroids(plan_, centroids);
  }

  std::int64_t frozen() const { return options_.frozen.rows; }
  /// Whether the update sets every centroid to the mean of its rows.
  bool ends_in_means() const { return options_.metric == Metric::euclidean && frozen() == 0; }

  /// Normalises means for cosine and restores frozen centroids. Returns the increase over the objective of the means.
  double place_centroids(Matrix<double>& means, const std::vector<double>& weights,
                         MatrixView<const double> before) const {
    Matrix<double> placed(means.rows(), means.columns());
    std::copy(means.data(), means.data() + means.size(), placed.data());
    if (options_.metric == Metric::cosine) normalize_means(placed.view(), before);
    std::copy_n(before.data, frozen() * means.columns(), placed.data());
    double added = 0.0;
    for (std::int64_t c = 0; c < means.rows(); ++c) {
      added += weights[c] * squared_distance(placed.view().row(c).data(), means.view().row(c).data(), means.columns());
    }
    means = std::move(placed);
    return added;
  }

  /// Appends an iteration to the result and applies the stopping rules.
  void note(const IterationRecord& record, KMeansResult& result) {
    if (!result.history.empty()) check_descent(result.history.back().inertia, record.inertia, rounding_);
    result.history.push_back(record);
    result.history.back().pairs = points_.rows() * options_.clusters;
    ++result.iterations;
    observer_.iteration(result.history.back());
    switch (stop_.test(result.iterations, record)) {
      case Stop::none:
        return;
      case Stop::labels:
        result.stopped_by = "labels";
        return;
      case Stop::tolerance:
        result.stopped_by = "tolerance";
        result.stopped_value = record.shift;
        return;
      case Stop::max_iterations:
        result.stopped_by = "max-iterations";
        result.stopped_value = static_cast<double>(result.iterations);
        return;
    }
  }

  Points& points_;
  const DataPlan& plan_;
  const KMeansOptions& options_;
  double spread_;    // inertia of all rows around their mean
  double rounding_;  // bound of the rounding error of the objective
  StopRule stop_;
  bool converged_ = false;  // the last update changed no bit and relocated no row
  Observer& observer_;
};

}  // namespace

KMeansResult kmeans(Points& points, const DataPlan& plan, const KMeansOptions& options, Observer& observer) {
  check_start(plan, options);
  const Inertia spread = measure_spread(points, plan);
  const double total = inertia_of_one(points, plan, options.metric, spread.total);
  Run lloyd(points, plan, options, spread, observer);
  KMeansResult best;
  std::vector<RunRecord> runs;
  for (int run = 0; run < options.runs; ++run) {
    observer.begin_run(run, options.runs);
    KMeansResult result = lloyd(run);
    runs.push_back({run, result.inertia, result.iterations, result.stopped_by, result.empty_clusters});
    observer.end_run(runs.back());
    if (run > 0 && !(result.inertia < best.inertia)) continue;
    best = std::move(result);
    best.labels.resize(plan.rows);
    points.labels(best.labels);
    find_nearest_rows(points, options, best);
    if (!options.keep_distances) continue;
    best.distances.resize(plan.rows);
    points.distances(best.distances);
  }
  best.runs = std::move(runs);
  best.total_inertia = total;
  return best;
}

KMeansResult assign_only(Points& points, const DataPlan& plan, MatrixView<const double> centroids, Observer& observer) {
  if (centroids.columns != plan.columns) {
    throw Error(ExitCode::usage, fmt::format("centroids have {} columns, the points have {}; expected the same number",
                                             centroids.columns, plan.columns));
  }
  observer.phase("assign", 1);
  points.reset();
  const auto begin = Clock::now();
  ClusterSums sums = empty_sums(plan, plan.weights.given() ? centroids.rows : 0);
  auto [assignment, inertia] = assign_and_measure(points, plan, centroids, plan.weights.given() ? &sums : nullptr);
  report_warnings(plan, observer);
  KMeansResult result;
  result.history.push_back(record_of(assignment));
  result.history.back().inertia = inertia.total;
  result.history.back().seconds = seconds_since(begin);
  result.centroids = Matrix<double>(centroids.rows, centroids.columns);
  std::copy(centroids.data, centroids.data + centroids.size(), result.centroids.data());
  result.inertia = inertia.total;
  result.inertia_per_cluster = std::move(inertia.per_cluster);
  if (plan.weights.given()) result.weights = cluster_weights(sums, assignment.counts, plan.weights);
  result.counts = std::move(assignment.counts);
  result.empty_clusters = std::count(result.counts.begin(), result.counts.end(), 0);
  result.labels.resize(plan.rows);
  points.labels(result.labels);
  return result;
}

}  // namespace kith
