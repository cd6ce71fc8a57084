// Rows whose label is proved not to have changed since the last assignment are left alone (core/bounds.h): when few
// labels change any more, the screen looks at the others only, gathered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cuda/half_screen.h"
#include "kernels/cuda/held_rows.h"

namespace kith::cuda {

/// Tells the gaps that an assignment changed so many labels of the held rows. Once these are few, the following
/// assignments keep gaps.
template <class T>
void note_changed(HeldRows<T>& held, std::int64_t changed) {
  constexpr std::int64_t kFew = 8;  // one row in so many
  held.gaps.wanted = held.gaps.wanted || (!held.gaps.refused && changed < held.rows() / kFew);
}

/// Positions of rows in their block, on the device.
struct RowList {
  const std::int32_t* position;
  std::int64_t count;
};

/// Device memory of an assignment that keeps gaps; empty where none does.
class GapRoom {
 public:
  GapRoom() = default;
  /// For `clusters` centroids; held.half must have been made. Takes held.gaps' memory too; empty when there is none, or
  /// gaps are not wanted.
  template <class T>
  GapRoom(HeldRows<T>& held, std::int64_t clusters);
  explicit operator bool() const { return moved_.size() > 0; }

  /// Queued before the rows are looked at: what the centroids (k, d) on the device moved since held.gaps were kept, of
  /// which nothing is known until finish().
  template <class T>
  void begin(HeldRows<T>& held, const double* centroids);
  /// Whether there are gaps from an assignment before.
  bool known() const { return known_; }
  /// Lowers the gaps of all rows by what the centroids moved. Returns how many may have changed their label. Waits for
  /// the device.
  template <class T>
  std::int64_t lower(const HeldRows<T>& held, const HalfColumns& columns);
  /// Those of a block, in any order.
  template <class T>
  RowList open_rows(const HeldRows<T>& held, const Block<T>& block) const {
    return {open_.data() + block.first, static_cast<std::int64_t>(found_[block.first / held.block_rows])};
  }

  /// Some rows of a block, at most HalfScreen::kBatch, brought together for the first look. Queues only.
  template <class T>
  LookedRows gather(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block,
                    const RowList& rows) const;
  /// What the first look found for them goes to their places in the block, and its undecided rows get their positions
  /// in the block. Queues only.
  template <class T>
  void put_back(HeldRows<T>& held, const Block<T>& block, const LookedRows& looked, const Undecided& undecided,
                std::int64_t undecided_rows) const;

  /// The labels and gaps of all rows are those of the centroids of begin(). Where the gaps of before left most rows
  /// open, `screened` of all, the next assignments do without: one, then two, and so on up to eight.
  template <class T>
  void finish(HeldRows<T>& held, std::int64_t screened) const {
    constexpr int kLongestRest = 8;
    held.gaps.clusters = clusters_;
    if (!known_) return;
    const bool paid = screened <= held.rows() / 2;
    held.gaps.rest = paid ? 0 : held.gaps.next_rest;
    held.gaps.next_rest = paid ? 1 : std::min(2 * held.gaps.next_rest, kLongestRest);
  }

 private:
  std::int64_t clusters_ = 0;
  bool known_ = false;
  Buffer<float> moved_;           // (k) at most, in the unit of the half rows
  Buffer<Word> largest_;          // (2) bits of the largest move and its centroid's number; bits of the largest other
  Buffer<std::int32_t> open_;     // (n) positions, those of a block from its first row's on
  Buffer<Word> open_count_;       // (blocks)
  std::vector<Word> found_;       // (blocks) the same, here
  Buffer<float> state_;           // (4, rows of a batch) norm, residual, half norm and gap
  Buffer<std::int32_t> nearest_;  // (rows of a batch)
};

}  // namespace kith::cuda
