// The narrow screen: a float32 screen for few columns and small problems, which labels a few hundred rows at a time.
//
// Its scores are products (core/numbers/screen.h) or, where these leave many rows ambiguous, differences: squared
// distances, in d more operations, whose errors shrink with the distance and do not depend on the other centroids.
#pragma once

#include <cstdint>
#include <vector>

#include "core/points/backend.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Counts of the screen.
struct NarrowTotals {
  std::int64_t ambiguous = 0;   // rows that the screening pass did not certify
  std::int64_t candidates = 0;  // distances computed for them
};

/// Packed centroids. One object serves a whole run: call set_centroids() in each iteration.
template <class T>
class NarrowScreen {
 public:
  explicit NarrowScreen(const HeldRows<T>& held);

  /// centroids: (k, d); must outlive the calls of label().
  void set_centroids(MatrixView<const double> centroids);
  /// Sets them once more before all rows are labelled, for scores that have been chosen meanwhile.
  void set_again(MatrixView<const double> centroids) {
    has_centroids_ = false;
    set_centroids(centroids);
  }

  /// Maximum rows per call of label(); ranges of rows for threads are multiples of it.
  std::int64_t block() const { return block_; }

  /// Rows of a task that is worth scheduling, a multiple of block().
  std::int64_t rows_per_task() const;

  /// Memory of one thread.
  class Workspace {
   public:
    explicit Workspace(const NarrowScreen& screen);

   private:
    friend NarrowScreen;
    Matrix<float> flat_, panels_;
    std::vector<std::int32_t> label_, candidate_;
    std::vector<NarrowAmbiguousRow> ambiguous_;
  };

  /// Labels of `count` rows from `first` on, at most block(); valid until the next call with the same workspace.
  const std::int32_t* label(std::int64_t first, std::int64_t count, Workspace& workspace, NarrowTotals& totals) const;

  /// Keeps packed rows (n d floats) from one iteration to the next. From now on, label() must be called for every row
  /// after each set_centroids().
  void keep_panels();

 private:
  std::int32_t refine(std::int64_t row, const NarrowAmbiguousRow& ambiguous, const float* panels, Workspace& workspace,
                      NarrowTotals& totals) const;

  const HeldRows<T>& held_;
  const NarrowKernels& kernels_;
  std::int64_t block_;
  std::vector<float> centers_;  // (lanes, d)
  MatrixView<const double> centroids_;
  NarrowColumns columns_{};
  std::vector<float> column_panels_, by_column_;
  mutable UninitializedVector<float> panels_;  // of all rows, or empty; filled by label()
  bool has_centroids_ = false, packed_ = false;
};

/// Sets the centroids of the screen. Before the first assignment a sample of the rows chooses its scores.
template <class T>
void choose_centroids(HeldRows<T>& held, NarrowScreen<T>& screen, MatrixView<const double> centroids);

/// Assigns all rows by this screen.
template <class T>
void assign_narrow(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment);

}  // namespace kith::cpu
