// k-means: runs of Lloyd's iteration, the stopping rules, and the choice of the best run.
#include "core/kmeans/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/kmeans/kmeans_state.h"
#include "core/kmeans/result.h"
#include "core/kmeans/start.h"
#include "core/kmeans/update.h"
#include "core/numbers/distance.h"
#include "core/runtime/clock.h"

namespace kith {
namespace {

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

Matrix<double> copy_of(const Matrix<double>& values) {
  Matrix<double> copy(values.rows(), values.columns());
  std::copy_n(values.data(), values.size(), copy.data());
  return copy;
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

/// Throws if the objective rises by more than `rounding` permits (docs/contract.md, Lloyd's iteration).
void check_descent(double before, double after, double rounding) {
  if (after <= before * (1 + 1e-12) + rounding) return;
  throw Error(ExitCode::internal,
              fmt::format("the objective rose from {} to {}: the device or the memory is faulty", before, after),
              Cause::faulty_hardware);
}

struct RunsEnd {};  // thrown where a keeper ends the computation in a seeding; an earlier run has a result

void mark_interrupted(KMeansResult& result) {
  result.stopped_by = "interrupted";
  result.stopped_value = static_cast<double>(result.iterations);
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

  /// at: the state of the computation, which this run completes. A run with iterations there continues after these.
  KMeansResult operator()(int run, KMeansState& at) {
    KMeansResult result;
    result.run = run;
    result.spread = spread_;
    result.shift_threshold = std::max(stop_.threshold, 0.0);
    std::optional<Kept> kept = continue_from(at, result);
    const bool batched = at.batches.done > 0;
    LloydState state = state_of(kept      ? std::move(kept->assigned)
                                : batched ? std::move(at.batches.centroids)
                                          : seeds(run, at));
    inertia_scale(plan_, state.centroids.view());  // throws if the start exceeds the range of float64
    if (options_.batch.rows > 0 && !options_.stopped && !kept) run_batches(state, result, at);
    points_.reset();
    observer_.phase("iterate", options_.max_iterations);
    while (result.stopped_by.empty()) {
      const auto begin = Clock::now();
      if (kept) {
        repeat(*kept, state, result);
        kept.reset();
        continue;
      }
      // A state holds the centroids of an assignment and of its update, so its iteration is one of single calls.
      const bool keeps = options_.keeper != nullptr && options_.keeper->due();
      if (keeps) at.assigned = copy_of(state.centroids);
      // A resumed run takes its first count of changed labels from the stopped run; a backend could not know it.
      IterateResult iterated;
      const bool is_first = options_.stopped && result.history.empty();
      if (is_first) {
        iterated.unfinished = first_after(*options_.stopped, state, result);
      } else if (ends_in_means() && !keeps) {
        iterated = points_.iterate({stop_, result.iterations, spread_, options_.empty == EmptyRule::relocate}, state);
      }
      converged_ = iterated.converged;
      for (const IterationRecord& record : iterated.records) note(record, result);
      if (!iterated.unfinished && !iterated.records.empty()) continue;
      IterationRecord record = iterate_once(state, std::move(iterated.unfinished), result.iterations + 1);
      record.seconds = seconds_since(begin);
      for (const IterationRecord& before : iterated.records) record.seconds -= before.seconds;
      if (is_first && result.continues) record.changed = options_.stopped->changed;
      note(record, result);
      if (keeps && result.stopped_by.empty() && keep(state, result, at)) mark_interrupted(result);
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
    if (!result.history.empty()) {
      check_descent(result.history.back().inertia, inertia.total, rounding_ + inertia.rounding);
    }
    if (run == 0) report_warnings(plan_, observer_);
    if (plan_.weights.given()) {
      points_.update_sums(state.sums);
      result.weights = cluster_weights(state.sums, state.counts, plan_.weights);
    }
    result.centroids = std::move(state.centroids);
    describe_clusters(plan_, std::move(state.counts), std::move(inertia), result);
    return result;
  }

 private:
  /// The last iteration of a run that continues: its record, and the centroids before and after it (k, d).
  struct Kept {
    IterationRecord record;
    Matrix<double> assigned, updated;
  };

  LloydState state_of(Matrix<double> centroids) const {
    const std::int64_t clusters = centroids.rows();
    return {std::move(centroids), empty_sums(plan_, clusters), std::vector<std::int64_t>(clusters, 0)};
  }

  Matrix<double> seeds(int run, KMeansState& at) {
    SeedingPlace place{std::move(at.seeding)};
    if (options_.keeper != nullptr) {
      place.after_step = [&] {
        if (!options_.keeper->due()) return;
        at.seeding = place.state;
        if (options_.keeper->keep(at)) throw RunsEnd();
      };
    }
    Matrix<double> centroids = first_centroids(points_, plan_, options_, run, observer_, &place);
    at.seeding = {};
    return centroids;
  }

  /// Takes the iterations before the last one of `at` over; nothing if there is none.
  std::optional<Kept> continue_from(KMeansState& at, KMeansResult& result) {
    if (at.history.empty()) return std::nullopt;
    Kept kept{at.history.back(), std::move(at.assigned), std::move(at.updated)};
    result.history.assign(at.history.begin(), at.history.end() - 1);
    result.iterations = std::ssize(result.history);
    if (at.continues) continue_stopped(*options_.stopped, result);
    return kept;
  }

  /// Repeats the last iteration of a run that continues, which restores labels and sums.
  void repeat(const Kept& kept, LloydState& state, KMeansResult& result) {
    iterate_once(state, std::nullopt, result.iterations + 1);  // which cannot know how many labels changed
    if (!same_bits(state.centroids, kept.updated)) refuse_points("centroids");
    note(kept.record, result);
  }

  bool keep(const LloydState& state, const KMeansResult& result, KMeansState& at) {
    at.updated = copy_of(state.centroids);
    at.history = result.history;
    at.continues = result.continues;
    return options_.keeper->keep(at);
  }

  void continue_stopped(const StoppedRun& stopped, KMeansResult& result) {
    result.continues = true;
    result.iterations += stopped.iterations;
    stop_.max_iterations = stopped.limit > 0 ? stopped.limit : stopped.iterations + stop_.max_iterations;
  }

  /// An upper bound of the objective for any labels; frozen centroids may lie far from the mean.
  static double reach(const DataPlan& plan, const KMeansOptions& options, double spread) {
    double farthest = 0.0;
    for (std::int64_t c = 0; c < options.frozen.rows; ++c) {
      farthest = std::max(farthest, squared_distance(options.frozen.row(c).data(), plan.mean.data(), plan.columns));
    }
    return farthest > 0.0 ? 3.0 * spread + 2.0 * plan.weights.total * farthest : spread;
  }

  void run_batches(LloydState& state, KMeansResult& result, KMeansState& at) {
    BatchPlace place{std::move(at.batches)};
    bool stops = false;
    place.after_batch = [&] {
      if (options_.keeper == nullptr || !options_.keeper->due()) return false;
      at.batches = {place.state.done, place.state.seen, copy_of(state.centroids)};
      stops = options_.keeper->keep(at);
      return stops;
    };
    const RandomStream random{options_.seed, static_cast<std::uint64_t>(options_.first_run + result.run)};
    run_mini_batches(state.centroids, plan_, {options_.batch, frozen(), options_.metric, random}, observer_, &place);
    at.batches = {};
    if (stops) return mark_interrupted(result);
    if (options_.batch.finish) return;
    result.stopped_by = "epochs";
    result.stopped_value = static_cast<double>(options_.batch.epochs);
  }

  /// The first assignment of a resumed run.
  Assignment first_after(const StoppedRun& stopped, const LloydState& state, KMeansResult& result) {
    Assignment assignment = assign(points_, plan_, state.centroids.view());
    if (assignment.counts == stopped.counts) {
      continue_stopped(stopped, result);
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

  /// (k) The largest D at which a row counts as lying on its centroid.
  std::vector<double> on_centroids(MatrixView<const double> centroids) const {
    return options_.metric == Metric::cosine ? distances_on_directions(plan_, centroids)
                                             : distances_on_centroids(plan_, centroids);
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
  KMeansState at = options.from != nullptr ? std::move(*options.from) : KMeansState();
  check_state(at, plan, options);
  KMeansResult& best = at.best;
  bool interrupted = false;
  for (int run = static_cast<int>(at.runs.size()); run < options.runs && !interrupted; ++run) {
    observer.begin_run(run, options.runs);
    KMeansResult result;
    try {
      result = lloyd(run, at);
    } catch (const RunsEnd&) {
      interrupted = true;
      break;
    }
    interrupted = result.stopped_by == "interrupted";
    at.begin_run();
    at.runs.push_back({run, result.inertia, result.iterations, result.stopped_by, result.empty_clusters});
    observer.end_run(at.runs.back());
    if (run == 0 || result.inertia < best.inertia) {
      best = std::move(result);
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
