// The float32 screen of rows of few columns, and of small problems: labels of a few hundred rows at a time, proven.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/backend.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Small problems have their rows in panels from one iteration to the next.
template <class T>
bool is_small(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kMostColumns = 256, kMostWork = 16'000'000;  // in multiply-adds
  return held.columns() <= kMostColumns && clusters * held.columns() <= kMostWork / held.rows();
}

/// This screen is the fastest for few columns against any number of centroids, and for small problems with few.
template <class T>
bool narrow_is_best(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kFewColumns = 16, kFewClusters = 16;
  return held.columns() <= kFewColumns || (clusters <= kFewClusters && is_small(held, clusters));
}

/// What the screen did.
struct NarrowTotals {
  std::int64_t ambiguous = 0;   // rows that the first look did not decide
  std::int64_t candidates = 0;  // distances computed for them
};

/// Centroids ready for the screen. One object serves a whole run: aim() at the centroids of each iteration.
template <class T>
class NarrowScreen {
 public:
  explicit NarrowScreen(const HeldRows<T>& held);

  /// centroids: (k, d); must outlive the calls of label().
  void aim(MatrixView<const double> centroids);

  /// Rows of one call of label() at most; ranges of rows for threads are multiples of it.
  std::int64_t block() const { return block_; }

  /// Rows that are worth handing to a thread, a multiple of block().
  std::int64_t rows_per_task() const;

  /// One thread's memory.
  class Desk {
   public:
    explicit Desk(const NarrowScreen& screen);

   private:
    friend NarrowScreen;
    Matrix<float> flat_, panels_;
    std::vector<std::int32_t> label_, candidate_;
    std::vector<NarrowAmbiguousRows> ambiguous_;
  };

  /// Labels of rows first, first + 1, ..., at most block() of them: label[0], ..., valid until the desk's next call.
  const std::int32_t* label(std::int64_t first, std::int64_t count, Desk& desk, NarrowTotals& totals) const;

  /// From now on every row has label() called for it between one aim() and the next: rows stay in panels, n d floats.
  void keep_panels();

 private:
  std::int32_t decide(std::int64_t row, const NarrowAmbiguousRows& ambiguous, const float* panels, Desk& desk,
                      NarrowTotals& totals) const;

  const HeldRows<T>& held_;
  const NarrowKernels& kernels_;
  std::int64_t block_;
  std::vector<float> centers_;  // (lanes, d)
  MatrixView<const double> centroids_;
  NarrowColumns columns_{};
  std::vector<float> groups_, by_column_;
  mutable UninitializedVector<float> panels_;  // of all rows, or empty; label() fills in those of its rows
  bool aimed_ = false, packed_ = false;
};

/// One assignment of all rows by this screen.
template <class T>
void assign_narrow(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment);

}  // namespace kith::cpu
