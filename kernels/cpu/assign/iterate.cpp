// Complete Lloyd iterations with one pass over the points each, for few columns and small problems.
//
// A block of a few hundred rows is labelled, and its reassigned rows are added to the sums, while it is in the
// first-level cache. Rows that keep their label cause no writes. Cost per iteration: as in narrow_screen.cpp.
#include <cstring>
#include <memory>
#include <utility>

#include "core/kmeans/cluster_update.h"
#include "core/runtime/clock.h"
#include "kernels/cpu/assign/bounds.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/assign/reassignments.h"
#include "kernels/cpu/operations.h"

namespace kith::cpu {
namespace {

constexpr double kMaxSeconds = 0.5;                              // per call
constexpr std::int64_t kMaxPanelValues = std::int64_t{1} << 20;  // values of all rows, to keep them in panels

/// The iterations of one call.
template <class T>
class LloydIterations {
 public:
  LloydIterations(HeldRows<T>& held, LloydState& state)
      : held_(held),
        state_(state),
        clusters_(state.centroids.rows()),
        screen_(held),
        reassignments_(held.plan, state.sums.limbs, clusters_, held.threads),
        workers_(static_cast<std::size_t>(held.threads.count())),
        next_centroids_(clusters_, held.columns()) {}

  /// Keeps the rows of small sets in panels for the iterations that follow.
  void keep_panels() {
    if (held_.values.size() <= kMaxPanelValues) screen_.keep_panels();
  }

  /// Assigns all rows and updates sums and counts.
  IterationRecord assign() {
    held_.bounds.skip();
    choose_centroids(held_, screen_, state_.centroids.view());
    const std::int64_t d = held_.columns(), block = screen_.block();
    held_.for_ranges(screen_.rows_per_task(), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
      std::unique_ptr<Worker>& worker = workers_[static_cast<std::size_t>(thread)];
      if (!worker) worker = std::make_unique<Worker>(screen_);
      const ReassignmentTable& table = reassignments_.of(thread);
      for (std::int64_t i = first; i < last; i += block) {
        const std::int64_t count = std::min(block, last - i);
        const std::int32_t* label = screen_.label(i, count, worker->workspace, worker->totals);
        worker->changed +=
            held_.set.narrow.template rows<T>().reassign(held_.row(i), count, d, label, held_.kept_labels(i), table);
      }
    });
    reassignments_.merge(state_.sums, state_.counts);
    IterationRecord record;
    record.screened = held_.rows();
    for (const std::unique_ptr<Worker>& worker : workers_) {
      if (!worker) continue;
      record.changed += std::exchange(worker->changed, 0);
      record.ambiguous += std::exchange(worker->totals.ambiguous, 0);
      record.candidates += std::exchange(worker->totals.candidates, 0);
    }
    held_.bounds.note_changed(record.changed, held_.rows());
    note_narrow(held_, record, clusters_);
    return record;
  }

  /// Replaces the centroids with the means of the sums, with the same results as centroids_of(), objective_of() and
  /// squared_shift() of core. Returns whether no bit of the centroids changed.
  bool update(double spread, IterationRecord& record) {
    const std::int64_t d = held_.columns();
    const ColumnScales& scales = held_.plan.scales;
    const bool two_limbs = state_.sums.limbs == 2;
    const auto distance = held_.set.template rows<double>().distance;
    double between = 0.0;
    for (std::int64_t c = 0; c < clusters_; ++c) {
      const auto count = static_cast<double>(state_.counts[c]);
      double* const mean = next_centroids_.row(c).data();
      for (std::int64_t j = 0; j < d; ++j) {
        const std::int64_t at = c * d + j;
        mean[j] = mean_of({state_.sums.high[at], two_limbs ? state_.sums.low[at] : 0}, scales.shift[j],
                          two_limbs ? scales.low_bits : 0, count);
      }
      record.shift += distance(mean, state_.centroids.row(c).data(), d);
      between += weighted_distance(count, distance(mean, held_.plan.mean.data(), d));
    }
    record.inertia = remaining_objective(spread, between);
    std::swap(next_centroids_, state_.centroids);
    return std::memcmp(next_centroids_.data(), state_.centroids.data(),
                       static_cast<std::size_t>(next_centroids_.size()) * sizeof(double)) == 0;
  }

 private:
  struct Worker {
    explicit Worker(const NarrowScreen<T>& screen) : workspace(screen) {}
    typename NarrowScreen<T>::Workspace workspace;
    NarrowTotals totals;
    std::int64_t changed = 0;
  };

  HeldRows<T>& held_;
  LloydState& state_;
  std::int64_t clusters_;
  NarrowScreen<T> screen_;
  ReassignmentTables reassignments_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Matrix<double> next_centroids_;  // centroids of the next iteration
};

/// The assignment of an iteration that ends here because a cluster is empty; the host relocates it.
Assignment unfinished_assignment(const IterationRecord& record, const std::vector<std::int64_t>& counts) {
  Assignment assignment(static_cast<std::int64_t>(counts.size()));
  assignment.counts = counts;
  assignment.changed = record.changed;
  assignment.screened = record.screened;
  assignment.ambiguous = record.ambiguous;
  assignment.candidates = record.candidates;
  return assignment;
}

}  // namespace

template <class T>
IterateResult iterate(HeldRows<T>& held, const IterateRequest& request, LloydState& state) {
  const auto begin = Clock::now();
  const std::int64_t k = state.centroids.rows();
  IterateResult result;
  if (held.weights.weight != nullptr) return result;
  const auto is_best = [&] { return (narrow_is_best(held, k) || is_small(held, k)) && !bounds_pay(held, k); };
  if (!is_best() || !ReassignmentTables::fit(k, held.columns(), state.sums.limbs)) return result;
  if (held.plan.rows != held.rows() || held.unsummed) return result;
  LloydIterations<T> iterations(held, state);
  Stop stop = Stop::none;
  double before = 0.0;
  while (stop == Stop::none && (result.records.empty() || before < kMaxSeconds)) {
    if (!is_best()) break;
    IterationRecord record = iterations.assign();
    if (std::find(state.counts.begin(), state.counts.end(), 0) != state.counts.end()) {
      result.unfinished = unfinished_assignment(record, state.counts);
      break;
    }
    record.assign_seconds = seconds_since(begin) - before;
    result.converged = iterations.update(request.spread, record);
    const double now = seconds_since(begin);
    record.seconds = now - before;
    before = now;
    result.records.push_back(record);
    if (result.records.size() == 1) iterations.keep_panels();  // a call that ends here would make them for nothing
    stop = request.stop.test(request.iterations + static_cast<std::int64_t>(result.records.size()), record);
  }
  return result;
}

#define KITH_INSTANTIATE(T) template IterateResult iterate(HeldRows<T>&, const IterateRequest&, LloydState&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
