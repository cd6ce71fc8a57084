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

/// Columns of a long row: memory in proportion to them, rather than to rows, counts.
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
  UninitializedVector<float> bound{};  // (n)
  Matrix<double> centroids{};          // (k, d) of the bounds
  std::int64_t clusters = 0;           // k; 0: no bounds
};

/// What assignments by screens have shown. Other rows of the same data may begin with it.
struct ScreenObservations {
  Backoff low_precision{8}, narrow{8};  // left out while their ambiguous rows cost more than they save
  Backoff narrow_products{8};           // the same of products in the narrow screen
  bool tried_narrow = false;
  Backoff local_estimates{};   // of the work of the local screen
  bool local_is_best = false;  // assignments begin with the local screen
  double row_seconds = 0.0;    // estimated, of the last assignment that screened all centroids
};

/// What searches have shown that used a tree, or would have been faster with one.
struct TreeObservations {
  double saved_seconds = 0.0;  // that searches without a tree would have saved with it
  double query_seconds = 0.0;  // the estimate for a query with a tree, for searches with these properties:
  Measure measure = Measure::squared_euclidean;
  std::int64_t neighbors = -1, queries = -1;
  double limit = 0.0;
};

/// What searches have shown about equal rows.
struct CopyObservations {
  double equal_share = -1.0;   // the estimated probability that two rows are equal; negative: not known
  double saved_seconds = 0.0;  // that searches of all rows would have saved with the first copies
  std::int64_t too_many = std::numeric_limits<std::int64_t>::max();  // first copies for lists of so many are no fewer
};

/// What operations on the rows have shown so far, by which kernels/cpu/choice decides about the next ones.
struct Observations {
  ScreenObservations screens{};
  bool few_change = false;  // few labels change, so that bounds may pay
  Backoff bounds{};         // left out while they certify too few rows
  TreeObservations trees{};
  CopyObservations copies{};
  double quantized_saved = 0.0;  // seconds that searches of few queries would have saved with quantized rows
  Backoff quantized{};           // left out after a search in which too many of these rows remained
};

/// The seeds so far, and the candidates tried last.
struct Seeding {
  std::vector<double> seeds;                  // (s, d)
  UninitializedVector<std::int32_t> nearest;  // (n) the seed nearest to the row
  Matrix<double> candidates;                  // (t, d)
  FixedScale scale;
  UninitializedVector<std::uint32_t> lowered_by;  // (n) bit t: candidate t is nearer than the kept distance
};

struct SearchTree;  // search/tree.h

template <class T>
class Cells;  // search/cells.h

template <class T>
struct FirstCopies;  // search/first_copies.h

struct QuantizedRows;  // search/quantized.h

template <class T>
struct HeldRows {
  MatrixView<const T> values;  // (n, d), the caller's memory
  std::int64_t first_row = 0;
  const Instructions& set;
  Threads& threads;
  std::int64_t block_rows = 0;  // rows per task; 0: chosen from the sizes
  ForcedPaths forced;
  Decisions* decisions = nullptr;  // of the backend; null: steps of another operation, which are not recorded
  RowWeights weights{};            // weights of 1 until the plan is known
  DataPlan plan;

  UninitializedVector<std::int32_t> label{};   // (n) -1 before the first assignment
  std::int64_t labelled_clusters = 0;          // if not 0, all labels are below this number of clusters
  UninitializedVector<std::int32_t> summed{};  // (n) the label contained in the sums
  bool unsummed = false;                       // whether label and summed may differ
  UninitializedVector<double> distance{};      // (n) kept squared distance
  bool pristine = false;                       // whether the state is that after reset()
  LabelBounds bounds{};
  Seeding seeding{};
  mutable DistanceTotals totals{};  // computed on demand
  mutable Observations observed{};
  // Made by the first search that is expected to be faster with them.
  mutable std::shared_ptr<const SearchTree> tree{};
  mutable std::shared_ptr<const Cells<T>> cells{};
  mutable std::shared_ptr<const FirstCopies<T>> first_copies{};
  mutable std::shared_ptr<const QuantizedRows> quantized{};

  std::int64_t rows() const { return values.rows; }
  std::int64_t columns() const { return values.columns; }
  /// Whether the rows are compared with so many others by the definition, since panels of a screen, which neither would
  /// fill, would take more memory than the rows themselves.
  bool are_few_and_long(std::int64_t others) const { return cpu::are_few_and_long(rows(), others, columns()); }
  const T* row(std::int64_t i) const { return values.data + i * values.columns; }
  double scale() const { return power_of_two(-plan.screen.exponent); }

  /// Call for an assignment that keeps no bounds: older ones are about other labels.
  void skip_bounds() {
    bounds.clusters = 0;
    observed.bounds.skips();
  }
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
    bounds.clusters = 0;
    labelled_clusters = 0;
    seeding = {};
    observed = {.copies = observed.copies};
    tree = nullptr;
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
