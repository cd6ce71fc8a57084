// Hamerly's bounds on the device (core/kmeans/bounds.h): once few labels change, an assignment skips the rows whose
// label is certified not to have changed, and screens the others, gathered.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Device memory of an assignment that keeps bounds; empty if it keeps none.
class BoundWorkspace {
 public:
  BoundWorkspace() = default;
  /// A workspace for `clusters` centroids; requires held.fp16. Also allocates held.bounds. Empty if memory is short.
  template <class T>
  BoundWorkspace(HeldRows<T>& held, std::int64_t clusters);
  explicit operator bool() const { return shift_.size() > 0; }

  /// Computes how far the centroids (k, d) on the device shifted since held.bounds were stored. Call it before the
  /// screening pass; held.bounds is invalid until finish(). Does not wait.
  template <class T>
  void begin(HeldRows<T>& held, const double* centroids);
  /// Whether there are bounds of an earlier assignment.
  bool known() const { return known_; }
  /// Lowers the bounds of all rows by the shifts of the centroids. Returns the number of rows whose label may have
  /// changed. Waits for the device.
  template <class T>
  std::int64_t lower(const HeldRows<T>& held, const Fp16Columns& columns);
  /// The rows of a block whose label may have changed, in any order.
  template <class T>
  RowChoice uncertified_rows(const HeldRows<T>& held, const Block<T>& block) const {
    return {uncertified_.data() + block.first, static_cast<std::int64_t>(counts_[block.first / held.block_rows])};
  }

  /// Gathers rows of a block, at most Fp16Screen::kBatch, for the screening pass. Does not wait.
  template <class T>
  ScreeningInput gather(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const RowChoice& rows) const;
  /// Scatters labels and bounds of the gathered rows to the block, and replaces the indices of ambiguous rows by
  /// positions in the block. Does not wait.
  template <class T>
  void scatter(HeldRows<T>& held, const Block<T>& block, const ScreeningInput& input, const AmbiguousRows& ambiguous,
               std::int64_t ambiguous_rows) const;

  /// Marks labels and bounds of all rows as those of the centroids of begin().
  template <class T>
  void finish(HeldRows<T>& held) const {
    held.bounds.clusters = clusters_;
  }

 private:
  std::int64_t clusters_ = 0;
  bool known_ = false;
  Buffer<float> shift_;               // (k) upper bounds of the shifts, in the unit of the fp16 rows
  Buffer<Word> largest_;              // (2) bits of the largest shift and its centroid; bits of the largest other shift
  Buffer<std::int32_t> uncertified_;  // (n) positions; those of a block begin at its first row
  Buffer<Word> uncertified_count_;    // (blocks)
  std::vector<Word> counts_;          // (blocks) uncertified_count_ on the host
  Buffer<float> state_;               // (4, rows of a batch) norm, residual, half_sq_norm, bound
  Buffer<std::int32_t> nearest_;      // (rows of a batch)
};

}  // namespace kith::cuda
