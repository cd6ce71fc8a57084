// The fp16 screen on the tensor cores: a screening pass that decides most rows, and a refinement pass that
// finds the candidates of the others.
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
  static constexpr std::int64_t kBatch = 1 << 17;  // most ambiguous rows in one refinement pass

  Fp16Screen() = default;
  /// For `count` centroids, in one step, or in two by groups of them. Requires held.fp16.
  template <class T>
  Fp16Screen(const HeldRows<T>& held, std::int64_t count, bool in_groups);

  Fp16Columns columns;
  GroupWorkspace groups;  // empty if there is one step
  /// The ambiguous rows of the most recent block, with the counter of this block.
  template <class T>
  AmbiguousRows ambiguous(const Block<T>& block) const {
    return {row_.data(), limit_.data(), &counts(block)->ambiguous};
  }
  template <class T>
  ScreeningCounts* counts(const Block<T>& block) const {
    return counts_.data() + block.first / block_rows_;
  }
  /// The counts of every block. Waits for the device.
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

/// The input for all rows of a block; the screening pass fills their labels and, if requested, their bounds. Without
/// fp16 rows only count and nearest are set.
template <class T>
ScreeningInput whole_block(const HeldRows<T>& held, const Block<T>& block, bool bounds);

/// Gathers the fp16 rows at `chosen` positions of a block (at most kBatch) in screen.gathered(). Queues only.
template <class T>
void gather_fp16_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                      const std::int32_t* chosen, Count count);

/// The screening pass over rows of a block. Sets rows.nearest[i] of decided rows; listed rows get kListed, and their
/// candidates, with place i, are in the workspace. screen.counts(block) counts listed and ambiguous rows. Queues only.
template <class T>
void screen_fp16(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block, const ScreeningInput& rows,
                 const RefinementWorkspace& workspace);

/// Appends the listed rows of the most recent block to its ambiguous rows, if their candidates overflowed the list or
/// their values are not on the device. Queues only.
template <class T>
void append_listed_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const ScreeningInput& rows);

/// The refinement pass over rows first .. first + count - 1 of `ambiguous`, at most kBatch: lists their candidates by
/// place. Queues only.
template <class T>
void collect_fp16_candidates(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                             const AmbiguousRows& ambiguous, const CandidateOutput& candidates, std::int64_t first,
                             Count count);

}  // namespace kith::cuda
