// Looks at rows in half precision on the tensor cores: the first decides most rows, the second finds the candidates of
// the others.
#pragma once

#include <cstdint>

#include "kernels/cuda/half_columns.h"
#include "kernels/cuda/half_groups.h"
#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/looked_rows.h"
#include "kernels/cuda/recheck.h"

namespace kith::cuda {

/// Device memory of the screen of one assignment.
class HalfScreen {
 public:
  static constexpr std::int64_t kBatch = 1 << 17;  // undecided rows that are looked at together

  HalfScreen() = default;
  /// For `count` centroids; held.half must have been made.
  template <class T>
  HalfScreen(const HeldRows<T>& held, std::int64_t count);

  HalfColumns columns;
  GroupRoom groups;  // without groups where the columns are few
  Undecided undecided() const { return {row_.data(), limit_.data(), &left_.data()->undecided}; }
  HalfLeft* left() const { return left_.data(); }
  uint4* gathered() const { return gathered_.data(); }
  explicit operator bool() const { return columns.count > 0; }

 private:
  Buffer<std::int32_t> row_;  // (rows of a block)
  Buffer<float> limit_;       // (rows of a block)
  Buffer<HalfLeft> left_;     // (1)
  Buffer<uint4> gathered_;    // pieces of a batch of undecided rows
};

/// All rows of a block, for a first look that fills their labels, and their gaps if these are wanted. Without half rows
/// there is nothing to look at but their number.
template <class T>
LookedRows whole_block(const HeldRows<T>& held, const Block<T>& block, bool gaps);

/// The half rows at `count` positions of a block (at most kBatch), brought together in screen.gathered(). Queues only.
template <class T>
void gather_halves(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block, const std::int32_t* chosen,
                   std::int64_t count);

/// Nearest column of rows: those that are decided get rows.nearest[i]; i is their place in the room too. Waits for the
/// device.
template <class T>
HalfLeft screen_halves(const HeldRows<T>& held, const HalfScreen& screen, const LookedRows& rows,
                       const RecheckRoom& room);

/// Candidates of screen.undecided() rows first .. first + count - 1 (at most kBatch), as Collect of recheck.h.
template <class T>
void collect_half_candidates(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block,
                             const RecheckRoom& room, std::int64_t first, std::int64_t count);

}  // namespace kith::cuda
