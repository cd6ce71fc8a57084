// The rows that the CPU backend holds: the caller's memory, per-row state, and what every operation needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/backend.h"
#include "core/large_pages.h"
#include "core/screen.h"
#include "core/seeding.h"
#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::cpu {

/// What the last assignment proved of its labels (bounds.h): how much nearer each row is to its centroid than to any
/// other, in the unit of the screen.
struct LabelBounds {
  /// As before the first assignment; memory is kept.
  void reset() {
    clusters = rest = 0;
    next_rest = 1;
    wanted = false;
  }
  /// Whether the next assignment is to keep bounds.
  bool due() const { return wanted && rest == 0; }
  /// An assignment that keeps none: what was known is about other labels.
  void skip() {
    clusters = 0;
    rest = std::max(rest - 1, 0);
  }

  UninitializedVector<float> bound{};  // (n)
  Matrix<double> centroids{};          // (k, d) that the bounds are about
  std::int64_t clusters = 0;           // k; 0: nothing is known
  bool wanted = false;                 // labels change so seldom that assignments are to keep bounds
  int rest = 0, next_rest = 1;         // assignments that keep none, since those before left hardly a row alone
};

/// Whether looking again at what the coarse screen left open took longer than it had saved: the next assignments then
/// take a closer one. As centroids move that changes, so it is tried again, each time later.
class ScreenTrials {
 public:
  bool passed_over() const { return left_ > 0; }
  /// After an assignment by the coarse screen, or one that passed it over.
  void note(const Assignment& found) {
    constexpr std::int64_t kDistance = 50;  // what a distance by the definition takes, in products of the screen
    const auto k = static_cast<std::int64_t>(found.counts.size());
    if (passed_over()) {
      --left_;
    } else if (found.ambiguous + found.candidates * kDistance / k > found.screened) {
      left_ = next_;
      next_ = std::min(2 * next_, kMost);
    } else {
      next_ = kFirst;
    }
  }

 private:
  static constexpr int kFirst = 8, kMost = 64;
  int left_ = 0, next_ = kFirst;  // assignments
};

/// The seeds so far, and the candidates that were tried last.
struct Seeding {
  std::vector<double> seeds;                  // (s, d)
  UninitializedVector<std::int32_t> nearest;  // (n) the seed that the kept distance belongs to
  Matrix<double> candidates;                  // (t, d)
  FixedScale scale;
  UninitializedVector<std::uint32_t> near;  // (n) bit t: candidate t is nearer than the kept distance
};

template <class T>
struct HeldRows {
  MatrixView<const T> values;  // (n, d), the caller's memory
  std::int64_t first_row = 0;
  const Instructions& set;
  Threads& threads;
  std::int64_t block_rows = 0;  // forced rows per task, 0: chosen
  ForcedPaths forced;
  RowWeights weights{};  // whole ones until the plan says otherwise
  DataPlan plan;

  UninitializedVector<std::int32_t> label{};   // (n) -1 before the first assignment
  UninitializedVector<std::int32_t> summed{};  // (n) the label contained in the sums handed out
  bool unsummed = false;                       // those two may differ
  UninitializedVector<double> distance{};      // (n) kept squared distance
  bool forgotten = false;                      // all of that is as reset() leaves it
  LabelBounds bounds{};
  ScreenTrials coarse{};
  mutable DistanceTotals totals{};  // found when they are asked for
  Seeding seeding{};

  std::int64_t rows() const { return values.rows; }
  std::int64_t columns() const { return values.columns; }
  const T* row(std::int64_t i) const { return values.data + i * values.columns; }
  double scale() const { return power_of_two(-plan.screen.exponent); }

  KeptLabels kept(std::int64_t i) { return {label.data() + i, summed.data() + i}; }

  void reset() {
    if (forgotten) return;
    label.resize(rows());
    summed.resize(rows());
    distance.resize(rows());
    for_ranges(rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
      std::fill(label.begin() + first, label.begin() + last, -1);
      std::fill(summed.begin() + first, summed.begin() + last, -1);
      std::fill(distance.begin() + first, distance.begin() + last, std::numeric_limits<double>::infinity());
    });
    forgotten = true;
    unsummed = false;
    totals.current = false;
    bounds.reset();
    coarse = {};
    seeding = {};
  }

  /// Rows per task so that a task is worth handing to a thread, and the last round of tasks keeps all threads busy.
  /// work_per_row: in multiply-adds or the like; whole panels of `lanes` rows.
  std::int64_t rows_per_task(std::int64_t work_per_row, int lanes = kMaxLanes) const {
    if (block_rows > 0) return block_rows;
    constexpr std::int64_t kWorthwhile = 2'500'000;
    const std::int64_t enough = kWorthwhile / std::max<std::int64_t>(work_per_row, 1) + 1;
    const std::int64_t rounds = (rows() / enough + threads.count() - 1) / threads.count();
    if (rows() < 2 * enough) return rows();
    const std::int64_t share = (rows() + rounds * threads.count() - 1) / (rounds * threads.count());
    return (share + lanes - 1) / lanes * lanes;
  }

  /// work(first, last, task, thread) on ranges of rows.
  template <class Work>
  void for_ranges(std::int64_t rows_per_range, const Work& work) const {
    const std::int64_t ranges = (rows() + rows_per_range - 1) / rows_per_range;
    threads.run(ranges, [&](std::int64_t task, int thread) {
      const std::int64_t first = task * rows_per_range;
      work(first, std::min(first + rows_per_range, rows()), task, thread);
    });
  }
};

}  // namespace kith::cpu
