// Checks a state that comes from a file, and fills one while a run goes on.
#include "core/kmeans/kmeans_state.h"

#include <algorithm>

#include "core/error.h"
#include "core/numbers/maps.h"

namespace kith {
namespace {

bool are_rows(const std::vector<std::int64_t>& numbers, std::int64_t rows) {
  return std::all_of(numbers.begin(), numbers.end(), [rows](std::int64_t row) { return row >= 0 && row < rows; });
}

bool are_centroids(const Matrix<double>& centroids, const DataPlan& plan, const KMeansOptions& options) {
  return centroids.columns() == plan.columns && centroids.rows() >= 1 && centroids.rows() <= options.clusters;
}

}  // namespace

void check_state(const KMeansState& state, const DataPlan& plan, const KMeansOptions& options) {
  const bool iterates = !state.history.empty(), has_best = !state.runs.empty();
  const SeedingState& seeding = state.seeding;
  const bool batches = state.batches.done > 0;
  // k-means|| chooses among its candidates, whose numbers the seeds are.
  const std::int64_t choices = seeding.candidates.empty() ? plan.rows : std::ssize(seeding.candidates);
  const bool fits =
      std::ssize(state.runs) <= options.runs && (!has_best || are_centroids(state.best.centroids, plan, options)) &&
      (!iterates || (are_centroids(state.assigned, plan, options) && are_centroids(state.updated, plan, options))) &&
      (!batches || (are_centroids(state.batches.centroids, plan, options) &&
                    std::ssize(state.batches.seen) == state.batches.centroids.rows())) &&
      (!state.continues || options.stopped.has_value()) && state.batches.done >= 0 && seeding.rounds >= 0 &&
      std::ssize(seeding.seeds) <= options.clusters && are_rows(seeding.seeds, choices) &&
      are_rows(seeding.candidates, plan.rows) && are_rows(seeding.drawn, plan.rows);
  if (fits) return;
  throw Error(ExitCode::data, "the checkpoint is not one of this computation; remove it, or choose another name");
}

void mark_interrupted(KMeansResult& result) {
  result.stopped_by = "interrupted";
  result.stopped_value = static_cast<double>(result.iterations);
}

bool KeptRun::begins_iteration(const LloydState& state) {
  if (!due()) return false;
  at_.assigned = copied(state.centroids.view());
  return true;
}

bool KeptRun::ends_iteration(const LloydState& state, const KMeansResult& result) {
  at_.updated = copied(state.centroids.view());
  at_.history = result.history;
  at_.continues = result.continues;
  return keeper_->keep(at_);
}

bool KeptRun::ends_seeding_step(const SeedingState& state) {
  if (!due()) return false;
  at_.seeding = state;
  return keeper_->keep(at_);
}

bool KeptRun::ends_batch(const BatchState& state, const Matrix<double>& centroids) {
  if (!due()) return false;
  at_.batches = {state.done, state.seen, copied(centroids.view())};
  return keeper_->keep(at_);
}

}  // namespace kith
