// The place of a computation of k-means between two of its steps: enough to continue with the same bits, and nothing
// per row. Labels, sums and distances follow from one assignment to centroids that it holds.
#pragma once

#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/mini_batch.h"
#include "core/kmeans/seeding.h"
#include "core/points/matrix.h"
#include "core/points/observer.h"

namespace kith {

struct KMeansState {
  std::vector<RunRecord> runs;  // finished ones
  KMeansResult best;            // of these; without labels and what else follows from an assignment to its centroids
  SeedingState seeding;         // of the run in progress
  BatchState batches;           // of the run in progress, once it is seeded
  /// The last iteration of the run in progress: the centroids of its assignment and those of its update (k, d). Empty
  /// before the first iteration.
  Matrix<double> assigned, updated;
  std::vector<IterationRecord> history;  // of the run in progress
  bool continues = false;                // whether KMeansOptions::stopped was resumed by it

  /// A run begins: nothing of it is known.
  void begin_run() {
    seeding = {};
    batches = {};
    assigned = {};
    updated = {};
    history.clear();
    continues = false;
  }
};

/// The run ends before a rule stops it.
void mark_interrupted(KMeansResult& result);

/// Throws Error(data) unless the state can be one of this computation: shapes, row numbers, number of runs.
void check_state(const KMeansState& state, const DataPlan& plan, const KMeansOptions& options);

/// Keeps the states of a computation while it runs.
class KMeansKeeper {
 public:
  virtual ~KMeansKeeper() = default;
  /// Whether keep() is to be called after the next step: an iteration, a step of the seeding, a batch, or a whole run.
  virtual bool due() = 0;
  /// Keeps a state. True: the computation ends, "interrupted", with the run in progress if it has iterations or
  /// batches, else with the runs before it. May throw to end the computation.
  virtual bool keep(const KMeansState& state) = 0;
  /// The state after the last run.
  virtual void finished(const KMeansState& /*state*/) {}
};

/// Keeps what happens to the run in progress: after each step for which a state is due, in that of the computation.
class KeptRun {
 public:
  /// keeper: null: nothing is kept.
  KeptRun(KMeansState& at, KMeansKeeper* keeper) : at_(at), keeper_(keeper) {}

  /// Before an iteration: whether a state is due after it, which includes the centroids of its assignment.
  bool begins_iteration(const LloydState& state);
  /// After it, and after the other steps: whether the computation ends.
  bool ends_iteration(const LloydState& state, const KMeansResult& result);
  bool ends_seeding_step(const SeedingState& state);
  bool ends_batch(const BatchState& state, const Matrix<double>& centroids);

 private:
  bool due() const { return keeper_ != nullptr && keeper_->due(); }

  KMeansState& at_;
  KMeansKeeper* keeper_;
};

}  // namespace kith
