// Complete Lloyd iterations with one pass over the points each, for few columns and small problems.
//
// A block of a few hundred rows is labelled, and its reassigned rows are added to the sums, while it is in the
// first-level cache. Rows that keep their label cause no writes. Cost per iteration: as in narrow_screen.cpp.
#include <cstring>
#include <memory>
#include <utility>

#include "core/kmeans/update.h"
#include "core/runtime/clock.h"
#include "kernels/cpu/assign/narrow_screen.h"
#include "kernels/cpu/assign/reassignments.h"
#include "kernels/cpu/choice/assignment.h"
#include "kernels/cpu/points.h"

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
        workers_(static_cast<std::size_t>(held.threads.count())) {}

  /// Keeps the rows of small sets in panels for the iterations that follow.
  void keep_panels() {
    if (held_.values.size() <= kMaxPanelValues) screen_.keep_panels();
  }

  /// Assigns all rows and updates sums and counts.
  IterationRecord assign() {
    held_.skip_bounds();
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
    note_labels(held_, record.changed);
    note_narrow_screen(held_, record, clusters_);
    return record;
  }

  /// Replaces the centroids with the means of the sums. Returns whether no bit of the centroids changed.
  bool update(double spread, IterationRecord& record) {
    const std::vector<double> weights(state_.counts.begin(), state_.counts.end());
    Matrix<double> before =
        std::exchange(state_.centroids, centroids_of(state_.sums, weights, held_.plan.scales, state_.centroids.view()));
    record.inertia = objective_of(state_.centroids.view(), weights, held_.plan, spread);
    record.shift = squared_shift(state_.centroids.view(), before.view());
    return std::memcmp(before.data(), state_.centroids.data(),
                       static_cast<std::size_t>(before.size()) * sizeof(double)) == 0;
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
IterateResult CpuPoints<T>::iterate(const IterateRequest& request, LloydState& state) {
  held_.pristine = false;
  const auto begin = Clock::now();
  const std::int64_t k = state.centroids.rows();
  IterateResult result;
  if (held_.weights.weight != nullptr) return result;
  if (held_.plan.rows != held_.rows() || held_.unsummed) return result;
  if (!ReassignmentTables::fit(k, held_.columns(), state.sums.limbs)) return result;
  if (!iterates_by_blocks(held_, k, false)) return result;
  LloydIterations<T> iterations(held_, state);
  Stop stop = Stop::none;
  double before = 0.0;
  while (stop == Stop::none && (result.records.empty() || before < kMaxSeconds)) {
    if (!iterates_by_blocks(held_, k, result.records.empty())) break;
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

#define KITH_INSTANTIATE(T) template IterateResult CpuPoints<T>::iterate(const IterateRequest&, LloydState&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
