// k-means: Lloyd's iteration, what precedes and follows it in a run, and the choice of the best run.
#include "core/kmeans/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/kmeans/kmeans_state.h"
#include "core/kmeans/result.h"
#include "core/numbers/distance.h"
#include "core/numbers/maps.h"
#include "core/runtime/clock.h"

namespace kith {
namespace {

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

/// Throws if the objective rises by more than `rounding` permits (docs/contract.md, Lloyd's iteration).
void check_descent(double before, double after, double rounding) {
  if (after <= before * (1 + 1e-12) + rounding) return;
  throw Error(ExitCode::internal,
              fmt::format("the objective rose from {} to {}: the device or the memory is faulty", before, after),
              Cause::faulty_hardware);
}

/// An upper bound of the objective for any labels; frozen centroids may lie far from the mean.
double reach(const DataPlan& plan, const KMeansOptions& options, double spread) {
  double farthest = 0.0;
  for (std::int64_t c = 0; c < options.frozen.rows; ++c) {
    farthest = std::max(farthest, squared_distance(options.frozen.row(c).data(), plan.mean.data(), plan.columns));
  }
  return farthest > 0.0 ? 3.0 * spread + 2.0 * plan.weights.total * farthest : spread;
}

/// Lloyd's iteration. Labels and distances stay in `points`.
class Lloyd {
 public:
  /// spread: the inertia of all rows around their mean.
  Lloyd(Points& points, const DataPlan& plan, const KMeansOptions& options, const Inertia& spread, Observer& observer)
      : points_(points),
        plan_(plan),
        options_(options),
        observer_(observer),
        spread_(spread.total),
        rounding_(objective_rounding(plan, reach(plan, options, spread.total), options.clusters) + spread.rounding) {
    stop_.max_iterations = options.max_iterations;
    if (options.tolerance > 0.0) {
      stop_.threshold = options.tolerance * (spread_ / plan.weights.total / static_cast<double>(plan.columns));
    }
  }

  /// Iterates from the centroids of `state` until a rule stops the run: assign, relocate, update, test.
  void iterate(LloydState& state, KMeansResult& result, KeptRun& kept) {
    while (result.stopped_by.empty()) {
      const auto begin = Clock::now();
      const bool keeps = kept.begins_iteration(state);  // what is kept is known of an iteration of single calls only
      IterateResult done = keeps ? IterateResult() : iterate_on_backend(state, result);
      if (!done.records.empty() && !done.unfinished) continue;

      const bool summed = !done.unfinished;
      IterationRecord record =
          update(summed ? assign_and_sum(points_, plan_, state.centroids.view(), state.sums) : *done.unfinished, summed,
                 state, result.iterations + 1);
      record.seconds = seconds_since(begin);
      for (const IterationRecord& before : done.records) record.seconds -= before.seconds;
      note(record, result);
      if (keeps && result.stopped_by.empty() && kept.ends_iteration(state, result)) mark_interrupted(result);
    }
  }

  /// The first iteration of a run that resumes a stopped one: the stopped run has counted the labels that it changes.
  void resume(const StoppedRun& stopped, LloydState& state, KMeansResult& result, KeptRun& kept) {
    const auto begin = Clock::now();
    const bool keeps = kept.begins_iteration(state);
    Assignment assignment = assign(points_, plan_, state.centroids.view());
    if (assignment.counts == stopped.counts) {
      continue_after(stopped, result);
    } else {
      observer_.warning("the points differ from those of the stopped run: a new run starts from its centroids");
    }
    IterationRecord record = update(std::move(assignment), false, state, result.iterations + 1);
    if (result.continues) record.changed = stopped.changed;
    record.seconds = seconds_since(begin);
    note(record, result);
    if (keeps && result.stopped_by.empty() && kept.ends_iteration(state, result)) mark_interrupted(result);
  }

  /// Repeats the last iteration of a kept run, which restores labels and sums; it had this record and these centroids.
  void repeat(const IterationRecord& record, const Matrix<double>& updated, LloydState& state, KMeansResult& result) {
    update(assign_and_sum(points_, plan_, state.centroids.view(), state.sums), true, state, result.iterations + 1);
    if (!same_bits(state.centroids, updated)) refuse_points("centroids");
    note(record, result);
  }

  /// The iterations of a stopped run count as iterations of this one.
  void continue_after(const StoppedRun& stopped, KMeansResult& result) {
    result.continues = true;
    result.iterations += stopped.iterations;
    stop_.max_iterations = stopped.limit > 0 ? stopped.limit : stopped.iterations + stop_.max_iterations;
  }

  /// One more assignment, so that labels, counts and inertia belong to the centroids that the run returns.
  void finish(LloydState& state, KMeansResult& result) {
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
    if (!result.history.empty()) {
      check_descent(result.history.back().inertia, inertia.total, rounding_ + inertia.rounding);
    }
    if (result.run == 0) report_warnings(plan_, observer_);
    if (plan_.weights.given()) {
      points_.update_sums(state.sums);
      result.weights = cluster_weights(state.sums, state.counts, plan_.weights);
    }
    result.spread = spread_;
    result.shift_threshold = std::max(stop_.threshold, 0.0);
    result.centroids = std::move(state.centroids);
    describe_clusters(plan_, std::move(state.counts), std::move(inertia), result);
  }

 private:
  /// Whole iterations, as many as the backend runs by itself; it cannot place centroids other than at means.
  IterateResult iterate_on_backend(LloydState& state, KMeansResult& result) {
    if (!ends_in_means()) return {};
    IterateResult done =
        points_.iterate({stop_, result.iterations, spread_, options_.empty == EmptyRule::relocate}, state);
    converged_ = done.converged;
    for (const IterationRecord& record : done.records) note(record, result);
    return done;
  }

  /// The rest of an iteration after its assignment. summed: the sums are those of its labels.
  IterationRecord update(Assignment assignment, bool summed, LloydState& state, std::int64_t iteration) {
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

  /// (k) The largest D at which a row counts as lying on its centroid.
  std::vector<double> on_centroids(MatrixView<const double> centroids) const {
    return takes_directions(options_.metric) ? distances_on_directions(plan_, centroids)
                                             : distances_on_centroids(plan_, centroids);
  }

  std::int64_t frozen() const { return options_.frozen.rows; }
  /// Whether the update sets every centroid to the mean of its rows.
  bool ends_in_means() const { return options_.metric == Metric::euclidean && frozen() == 0; }

  /// Normalises means for cosine and restores frozen centroids. Returns the increase over the objective of the means.
  double place_centroids(Matrix<double>& means, const std::vector<double>& weights,
                         MatrixView<const double> before) const {
    Matrix<double> placed = copied(means.view());
    if (takes_directions(options_.metric)) normalize_means(placed.view(), before);
    std::copy_n(before.data, frozen() * means.columns(), placed.data());
    double added = 0.0;
    for (std::int64_t c = 0; c < means.rows(); ++c) {
      added += weights[c] * squared_distance(placed.row(c).data(), means.row(c).data(), means.columns());
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
  Observer& observer_;
  double spread_;    // inertia of all rows around their mean
  double rounding_;  // bound of the rounding error of the objective
  StopRule stop_;
  bool converged_ = false;  // the last update changed no bit and relocated no row
};

/// What precedes and follows the iterations of a run: seeds, batches, or what a state holds of an earlier computation.
class Runs {
 public:
  Runs(Points& points, const DataPlan& plan, const KMeansOptions& options, const Inertia& spread, Observer& observer)
      : points_(points),
        plan_(plan),
        options_(options),
        observer_(observer),
        lloyd_(points, plan, options, spread, observer) {}

  /// Completes a run that `at` may hold the beginning of. Nothing if the keeper ends the computation in its seeding.
  std::optional<KMeansResult> complete(int run, KMeansState& at) {
    KeptRun kept(at, options_.keeper);
    KMeansResult result;
    result.run = run;
    const bool continues = !at.history.empty();
    std::optional<Matrix<double>> centroids = continues             ? std::move(at.assigned)
                                              : at.batches.done > 0 ? std::move(at.batches.centroids)
                                                                    : seeds(run, at, kept);
    if (!centroids) return std::nullopt;
    inertia_scale(plan_, std::as_const(*centroids).view());  // throws if the start exceeds the range of float64
    if (options_.batch.rows > 0 && !options_.stopped && !continues) run_batches(*centroids, result, at, kept);

    const std::int64_t clusters = centroids->rows();
    LloydState state{std::move(*centroids), empty_sums(plan_, clusters), std::vector<std::int64_t>(clusters, 0)};
    points_.reset();
    observer_.phase("iterate", options_.max_iterations);
    if (continues) {
      repeat_last(at, state, result);
    } else if (options_.stopped) {
      lloyd_.resume(*options_.stopped, state, result, kept);
    }
    lloyd_.iterate(state, result, kept);
    lloyd_.finish(state, result);
    return result;
  }

 private:
  /// Nothing if the keeper ends the computation meanwhile.
  std::optional<Matrix<double>> seeds(int run, KMeansState& at, KeptRun& kept) {
    SeedingPlace place{std::move(at.seeding)};
    place.after_step = [&] { return kept.ends_seeding_step(place.state); };
    Matrix<double> centroids = first_centroids(points_, plan_, options_, run, observer_, &place);
    if (place.ended) return std::nullopt;
    at.seeding = {};
    return centroids;
  }

  void run_batches(Matrix<double>& centroids, KMeansResult& result, KMeansState& at, KeptRun& kept) {
    BatchPlace place{std::move(at.batches)};
    bool ended = false;
    place.after_batch = [&] { return ended = kept.ends_batch(place.state, centroids); };
    const RandomStream random{options_.seed, static_cast<std::uint64_t>(options_.first_run + result.run)};
    run_mini_batches(centroids, plan_, {options_.batch, options_.frozen.rows, options_.metric, random}, observer_,
                     &place);
    at.batches = {};
    if (ended) return mark_interrupted(result);
    if (options_.batch.finish) return;
    result.stopped_by = "epochs";
    result.stopped_value = static_cast<double>(options_.batch.epochs);
  }

  /// Takes over the iterations before the last one that `at` holds, and repeats that one.
  void repeat_last(KMeansState& at, LloydState& state, KMeansResult& result) {
    const IterationRecord last = at.history.back();
    const Matrix<double> updated = std::move(at.updated);
    result.history.assign(at.history.begin(), at.history.end() - 1);
    result.iterations = std::ssize(result.history);
    if (at.continues) lloyd_.continue_after(*options_.stopped, result);
    lloyd_.repeat(last, updated, state, result);
  }

  Points& points_;
  const DataPlan& plan_;
  const KMeansOptions& options_;
  Observer& observer_;
  Lloyd lloyd_;
};

/// The inertia of all rows around one centre (1, d). Around their mean and divided by n d, it is the mean column
/// variance of scikit-learn's stopping rule.
Inertia measure_around(Points& points, const DataPlan& plan, MatrixView<const double> center) {
  return assign_and_measure(points, plan, center).inertia;
}

/// The inertia of all rows as one cluster, whose centroid is the mean or, with cosine, the direction of the mean. If
/// the mean has no direction, every direction gives the same inertia, and the first axis is used.
double inertia_of_one(Points& points, const DataPlan& plan, Metric metric, MatrixView<const double> mean,
                      double spread) {
  if (!takes_directions(metric)) return spread;
  Matrix<double> center = copied(mean), axis(1, plan.columns);
  std::fill_n(axis.data(), axis.size(), 0.0);
  axis(0, 0) = 1.0;
  normalize_means(center.view(), axis.view());
  return measure_around(points, plan, center.view()).total;
}

}  // namespace

KMeansResult kmeans(Points& points, const DataPlan& plan, const KMeansOptions& options, Observer& observer) {
  check_start(plan, options);
  const MatrixView<const double> mean{plan.mean.data(), 1, plan.columns};
  const Inertia spread = measure_around(points, plan, mean);
  const double total = inertia_of_one(points, plan, options.metric, mean, spread.total);
  Runs runs(points, plan, options, spread, observer);
  KMeansState at = options.from != nullptr ? std::move(*options.from) : KMeansState();
  check_state(at, plan, options);
  KMeansResult& best = at.best;
  bool interrupted = false;
  for (int run = static_cast<int>(at.runs.size()); run < options.runs && !interrupted; ++run) {
    observer.begin_run(run, options.runs);
    std::optional<KMeansResult> result = runs.complete(run, at);
    interrupted = !result || result->stopped_by == "interrupted";
    if (!result) break;
    at.begin_run();
    at.runs.push_back({run, result->inertia, result->iterations, result->stopped_by, result->empty_clusters});
    observer.end_run(at.runs.back());
    if (run == 0 || result->inertia < best.inertia) {
      best = std::move(*result);
      describe_rows(points, plan, options, best);
    }
    const bool is_last = run + 1 == options.runs;
    if (options.keeper != nullptr && !interrupted && !is_last && options.keeper->due()) {
      interrupted = options.keeper->keep(at);
    }
  }
  if (best.labels.empty()) restore_clusters(points, plan, options, best);
  if (interrupted) mark_interrupted(best);  // also if its own run was not
  best.spread = spread.total;
  best.total_inertia = total;
  best.runs = at.runs;
  if (options.keeper != nullptr) options.keeper->finished(at);
  return std::move(at.best);
}

}  // namespace kith
