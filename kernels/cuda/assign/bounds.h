// Rows whose label is proved not to have changed since the last assignment are left alone (core/bounds.h): when few
// labels change any more, the screen looks at the others only, gathered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Tells the bounds that an assignment changed so many labels of the held rows. Once these are few, the following
/// assignments keep bounds.
template <class T>
void note_changed(HeldRows<T>& held, std::int64_t changed) {
  constexpr std::int64_t kFew = 8;  // one row in so many
  held.bounds.wanted = held.bounds.wanted || (!held.bounds.refused && changed < held.rows() / kFew);
}

/// Positions of rows in their block, on the device.
struct RowList {
  const std::int32_t* position;
  std::int64_t count;
};

/// Device memory of an assignment that keeps bounds; empty where none does.
class BoundWorkspace {
 public:
  BoundWorkspace() = default;
  /// For `clusters` centroids; held.fp16 must have been made. Takes held.bounds' memory too; empty when there is none,
  /// or bounds are not wanted.
  template <class T>
  BoundWorkspace(HeldRows<T>& held, std::int64_t clusters);
  explicit operator bool() const { return moved_.size() > 0; }

  /// Queued before the rows are looked at: what the centroids (k, d) on the device moved since held.bounds were kept,
  /// of which nothing is known until finish().
  template <class T>
  void begin(HeldRows<T>& held, const double* centroids);
  /// Whether there are bounds from an assignment before.
  bool known() const { return known_; }
  /// Lowers the bounds of all rows by what the centroids moved. Returns how many may have changed their label. Waits
  /// for the device.
  template <class T>
  std::int64_t lower(const HeldRows<T>& held, const Fp16Columns& columns);
  /// Those of a block, in any order.
  template <class T>
  RowList uncertified_rows(const HeldRows<T>& held, const Block<T>& block) const {
    return {uncertified_.data() + block.first, static_cast<std::int64_t>(counts_[block.first / held.block_rows])};
  }

  /// Some rows of a block, at most Fp16Screen::kBatch, brought together for the first look. Queues only.
  template <class T>
  ScreeningInput gather(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const RowList& rows) const;
  /// What the first look found for them goes to their places in the block, and its ambiguous rows get their positions
  /// in the block. Queues only.
  template <class T>
  void put_back(HeldRows<T>& held, const Block<T>& block, const ScreeningInput& looked, const AmbiguousRows& ambiguous,
                std::int64_t ambiguous_rows) const;

  /// The labels and bounds of all rows are those of the centroids of begin(). Where the bounds of before certified few
  /// rows, `screened` of all, the next assignments do without: one, then two, and so on up to eight.
  template <class T>
  void finish(HeldRows<T>& held, std::int64_t screened) const {
    constexpr int kLongestBackoff = 8;
    held.bounds.clusters = clusters_;
    if (!known_) return;
    const bool paid = screened <= held.rows() / 2;
    held.bounds.backoff = paid ? 0 : held.bounds.next_backoff;
    held.bounds.next_backoff = paid ? 1 : std::min(2 * held.bounds.next_backoff, kLongestBackoff);
  }

 private:
  std::int64_t clusters_ = 0;
  bool known_ = false;
  Buffer<float> moved_;   // (k) at most, in the unit of the half rows
  Buffer<Word> largest_;  // (2) bits of the largest move and its centroid's number; bits of the largest other
  Buffer<std::int32_t> uncertified_;  // (n) positions, those of a block from its first row's on
  Buffer<Word> uncertified_count_;    // (blocks)
  std::vector<Word> counts_;          // (blocks) the same, here
  Buffer<float> state_;               // (4, rows of a batch) norm, residual, half norm and bound
  Buffer<std::int32_t> nearest_;      // (rows of a batch)
};

}  // namespace kith::cuda
