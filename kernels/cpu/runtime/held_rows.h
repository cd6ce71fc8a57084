// The rows that the CPU backend holds: the caller's memory, per-row state, and what every operation needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/kmeans/seeding.h"
#include "core/numbers/screen.h"
#include "core/points/backend.h"
#include "core/runtime/backoff.h"
#include "core/runtime/large_pages.h"
#include "core/runtime/threads.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

// Costs in products of the screen (d multiply-adds each), measured with AMX; slower screens make the others cheaper.
inline constexpr double kPackCost = 100;       // packing a row or a column
inline constexpr double kDefinitionCost = 50;  // a distance by the definition

/// Columns from which on memory in proportion to them, rather than to rows, counts.
inline constexpr std::int64_t kLongRow = std::int64_t{1} << 13;

/// HeldRows::are_few_and_long(), for rows that are not held yet.
inline bool are_few_and_long(std::int64_t rows, std::int64_t others, std::int64_t columns) {
  return rows < kMaxLanes && others < kMaxLanes && columns >= kLongRow;
}

/// a / b, rounded up.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Bounds on the labels of the last assignment (core/kmeans/bounds.h): how much nearer each row is to its centroid than
/// to any other, in the scale of the screen.
struct LabelBounds {
  /// Restores the state before the first assignment; keeps the memory.
  void reset() {
    clusters = 0;
    backoff = {};
    enabled = false;
  }
  /// Call after an assignment that changed so many labels of `rows` rows: once few change, bounds are worthwhile.
  void note_changed(std::int64_t changed, std::int64_t rows) { enabled = enabled || changed < rows / 8; }
  /// Whether the next assignment keeps bounds.
  bool due() const { return enabled && backoff.left() == 0; }
  /// Call for an assignment that keeps no bounds: older bounds are about other labels.
  void skip() {
    clusters = 0;
    backoff.skips();
  }

  UninitializedVector<float> bound{};  // (n)
  Matrix<double> centroids{};          // (k, d) of the bounds
  std::int64_t clusters = 0;           // k; 0: no bounds
  bool enabled = false;                // few labels change, so assignments should keep bounds
  Backoff backoff{};                   // of bounds, which did not pay if they certified too few rows
};

/// Skips a screen while its refinement pass costs more than the screen saves: the next assignments use another screen.
/// Moving centroids change that, so the screen is tried again after increasing intervals.
class ScreenBackoff {
 public:
  bool active() const { return remaining_ > 0; }
  bool is_untried() const { return untried_; }
  /// Call after each assignment to k clusters by the screen, or by its replacement. distance: cost of a distance by the
  /// definition, in products of the screen; more: cost of the replacement / cost of the screen, less 1.
  template <class Counts>
  void update(const Counts& result, std::int64_t k, double distance = 50, double more = 1) {
    const double refined = static_cast<double>(result.ambiguous) +
                           static_cast<double>(result.candidates) * distance / static_cast<double>(k);
    untried_ = false;
    if (active()) {
      --remaining_;
    } else if (refined > more * static_cast<double>(result.screened)) {
      remaining_ = next_;
      next_ = std::min(2 * next_, kMax);
    } else {
      next_ = kFirst;
    }
  }

 private:
  static constexpr int kFirst = 8, kMax = 64;
  int remaining_ = 0, next_ = kFirst;  // assignments
  bool untried_ = true;
};

/// Whether assignments begin with the local screen (assign/local_screen.h), and when to ask again.
struct LocalScreenChoice {
  bool best = false;
  double global_cost = 0.0;     // of the last assignment that screened all centroids, per row
  int wait = 0, next_wait = 1;  // assignments before the next estimate
  void pause() {
    wait = next_wait;
    next_wait = std::min(2 * next_wait, 16);
  }
};

/// The seeds so far, and the candidates tried last.
struct Seeding {
  std::vector<double> seeds;                  // (s, d)
  UninitializedVector<std::int32_t> nearest;  // (n) the seed nearest to the row
  Matrix<double> candidates;                  // (t, d)
  FixedScale scale;
  UninitializedVector<std::uint32_t> lowered_by;  // (n) bit t: candidate t is nearer than the kept distance
};

struct SearchTree;

/// The tree of the held rows, if a search has made one, and the last estimate of its work (search/tree_choice.h).
struct TreeCache {
  std::shared_ptr<const SearchTree> tree{};
  double saved_seconds = 0.0;  // that searches without a tree would have saved with it
  double work_seconds = 0.0;   // the estimate per query, for searches with these properties:
  Measure work_measure = Measure::squared_euclidean;
  std::int64_t work_neighbors = -1, work_queries = -1;
  double work_limit = 0.0;
};

template <class T>
class Cells;  // search/cells.h

template <class T>
struct FirstCopies;  // search/first_copies.h

/// Which rows are the first of equal ones, if a search has asked.
template <class T>
struct CopyCache {
  std::shared_ptr<const FirstCopies<T>> first{};
  double equal_share = -1.0;   // the estimated probability that two rows are equal; negative: not known
  double saved_seconds = 0.0;  // that searches of all rows would have saved with them
  std::int64_t too_many = std::numeric_limits<std::int64_t>::max();  // first copies for lists of so many are no fewer
};

template <class T>
struct HeldRows {
  MatrixView<const T> values;  // (n, d), the caller's memory
  std::int64_t first_row = 0;
  const Instructions& set;
  Threads& threads;
  std::int64_t block_rows = 0;  // rows per task; 0: chosen from the sizes
  ForcedPaths forced;
  RowWeights weights{};  // weights of 1 until the plan is known
  DataPlan plan;

  UninitializedVector<std::int32_t> label{};   // (n) -1 before the first assignment
  std::int64_t labelled_clusters = 0;          // if not 0, all labels are below this number of clusters
  UninitializedVector<std::int32_t> summed{};  // (n) the label contained in the sums
  bool unsummed = false;                       // whether label and summed may differ
  UninitializedVector<double> distance{};      // (n) kept squared distance
  bool pristine = false;                       // whether the state is that after reset()
  LabelBounds bounds{};
  ScreenBackoff backoff{}, narrow_backoff{};  // of the low-precision and the narrow screen
  ScreenBackoff narrow_products_backoff{};    // of products in the narrow screen
  LocalScreenChoice local_choice{};
  mutable DistanceTotals totals{};                  // computed on demand
  mutable std::shared_ptr<const Cells<T>> cells{};  // made by the first search that they make cheaper
  Seeding seeding{};
  mutable TreeCache trees{};
  mutable CopyCache<T> copies{};

  std::int64_t rows() const { return values.rows; }
  std::int64_t columns() const { return values.columns; }
  /// Whether the rows are compared with so many others by the definition, since panels of a screen, which neither would
  /// fill, would take more memory than the rows themselves.
  bool are_few_and_long(std::int64_t others) const { return cpu::are_few_and_long(rows(), others, columns()); }
  const T* row(std::int64_t i) const { return values.data + i * values.columns; }
  double scale() const { return power_of_two(-plan.screen.exponent); }

  KeptLabels kept_labels(std::int64_t i) { return {label.data() + i, summed.data() + i}; }

  void reset() {
    if (pristine) return;
    label.resize(rows());
    summed.resize(rows());
    distance.resize(rows());
    for_ranges(rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
      std::fill(label.begin() + first, label.begin() + last, -1);
      std::fill(summed.begin() + first, summed.begin() + last, -1);
      std::fill(distance.begin() + first, distance.begin() + last, std::numeric_limits<double>::infinity());
    });
    pristine = true;
    unsummed = false;
    totals.current = false;
    bounds.reset();
    backoff = narrow_backoff = narrow_products_backoff = {};
    local_choice = {};
    labelled_clusters = 0;
    seeding = {};
    trees = {};
  }

  /// Rows per task, so that a task is worth scheduling and the last round of tasks keeps all threads busy.
  /// work_per_row: in multiply-adds or similar; result: whole panels of `lanes` rows.
  std::int64_t rows_per_task(std::int64_t work_per_row, int lanes = kMaxLanes) const {
    if (block_rows > 0) return block_rows;
    constexpr std::int64_t kMinWork = 2'500'000;
    const std::int64_t min_rows = kMinWork / std::max<std::int64_t>(work_per_row, 1) + 1;
    const std::int64_t rounds = ceil_div(rows() / min_rows, threads.count());
    if (rows() < 2 * min_rows) return rows();
    const std::int64_t share = ceil_div(rows(), rounds * threads.count());
    return ceil_div(share, lanes) * lanes;
  }

  /// work(first, last, task, thread) for ranges of rows.
  template <class Work>
  void for_ranges(std::int64_t rows_per_range, const Work& work) const {
    const std::int64_t ranges = ceil_div(rows(), rows_per_range);
    threads.run(ranges, [&](std::int64_t task, int thread) {
      const std::int64_t first = task * rows_per_range;
      work(first, std::min(first + rows_per_range, rows()), task, thread);
    });
  }
};

}  // namespace kith::cpu
