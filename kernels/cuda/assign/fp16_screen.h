// Looks at rows in half precision on the tensor cores: the first decides most rows, the second finds the candidates of
// the others.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/assign/fp16_groups.h"
#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/refinement.h"
#include "kernels/cuda/screen/screening_input.h"

namespace kith::cuda {

/// Device memory of the screen of one assignment.
class Fp16Screen {
 public:
  static constexpr std::int64_t kBatch = 1 << 17;  // ambiguous rows that are looked at together

  Fp16Screen() = default;
  /// For `count` centroids; held.fp16 must have been made.
  template <class T>
  Fp16Screen(const HeldRows<T>& held, std::int64_t count);

  Fp16Columns columns;
  GroupWorkspace groups;  // without groups where the columns are few
  /// AmbiguousRows rows of the block that was looked at last, with the counter of this one.
  template <class T>
  AmbiguousRows ambiguous(const Block<T>& block) const {
    return {row_.data(), limit_.data(), &counts(block)->ambiguous};
  }
  template <class T>
  ScreeningCounts* counts(const Block<T>& block) const {
    return counts_.data() + block.first / block_rows_;
  }
  /// Of every block. Waits for the device.
  std::vector<ScreeningCounts> download_counts(const Stream& stream) const {
    std::vector<ScreeningCounts> result(static_cast<std::size_t>(counts_.size()));
    stream.download(result.data(), counts_.data(), counts_.size());
    return result;
  }
  uint4* gathered() const { return gathered_.data(); }
  explicit operator bool() const { return columns.count > 0; }

 private:
  Buffer<std::int32_t> row_;        // (rows of a block)
  Buffer<float> limit_;             // (rows of a block)
  Buffer<ScreeningCounts> counts_;  // (blocks)
  std::int64_t block_rows_ = 1;
  Buffer<uint4> gathered_;  // tiles of a batch of ambiguous rows
};

/// All rows of a block, for a first look that fills their labels, and their bounds if these are wanted. Without half
/// rows there is nothing to look at but their number.
template <class T>
ScreeningInput whole_block(const HeldRows<T>& held, const Block<T>& block, bool bounds);

/// The half rows at some positions of a block (at most kBatch), brought together in screen.gathered(). Queues only.
template <class T>
void gather_fp16_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                      const std::int32_t* chosen, Count count);

/// The first look at rows of a block. rows.nearest[i] of rows that are decided; of listed ones it is above every
/// column, and their candidates are in the room, i their place. counts(block) counts both kinds. Queues only.
template <class T>
void screen_fp16(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block, const ScreeningInput& rows,
                 const RefinementWorkspace& room);

/// Appends the listed rows among those of the block looked at last to the ambiguous ones: where their candidates found
/// no room, or their values are not on the device. Queues only.
template <class T>
void append_listed_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const ScreeningInput& rows);

/// The second look at ambiguous rows `first` and following of the block looked at last, up to kBatch: their candidates,
/// by place. Queues only.
template <class T>
void collect_fp16_candidates(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                             const CandidateOutput& candidates, std::int64_t first, Count count);

}  // namespace kith::cuda
