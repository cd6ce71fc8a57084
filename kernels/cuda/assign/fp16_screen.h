// The fp16 screen on the tensor cores: a screening pass that decides most rows, and a refinement pass that
// finds the candidates of the others.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

// The second step for many centroids: rows whose nearest centroid is known to be in one or two groups of 32 are sorted
// by group and multiplied with the columns of that group alone.

inline constexpr std::int32_t kListed = 0x7F7F7F7F;  // `nearest` of a listed row: above every column

/// The result of the first step for every row of a block.
struct RowGroups {
  static constexpr std::int32_t kNone = -1;
  std::int32_t* first;   // (rows) the group; kNone: the row is ambiguous
  std::int32_t* second;  // (rows) another group that may contain the nearest centroid; if there is none, negative
  float* limit;          // (rows) columns with higher scores are not nearest

  /// `second` of an ambiguous row with this best group.
  __host__ __device__ static std::int32_t of_ambiguous(std::int32_t best) { return -2 - best; }
  /// The group with the best score, whether the row is ambiguous or not.
  __device__ std::int32_t best(std::int64_t row) const { return first[row] >= 0 ? first[row] : -2 - second[row]; }
};

/// The input of a screening pass: all rows of a block.
struct ScreeningInput {
  std::int64_t count = 0;
  const uint4* tiles = nullptr;
  const float* norm = nullptr;      // (count) |x^|, rounded up
  const float* residual = nullptr;  // (count) |x' - x^|, rounded up
  std::int32_t* nearest = nullptr;  // (count) out
};

/// Counts of the rows of a block that the screening pass did not decide.
struct ScreeningCounts {
  Word ambiguous = 0;             // rows in AmbiguousRows
  Word listed = 0;                // rows whose candidates are listed, for decide_listed()
  Word listed_candidates = 0;     // of the listed rows
  Word ambiguous_candidates = 0;  // of the ambiguous rows, found by the refinement pass
  Word longer_candidates = 0;     // of the rows that are too long for the screen
};

/// Device memory of the step, for blocks of up to `rows` rows against `columns` centroids.
struct GroupWorkspace {
  static constexpr std::int64_t kBinRows = 128;            // rows of one group that are multiplied together
  static constexpr std::int64_t kPartitionRows = 1 << 16;  // at least

  GroupWorkspace() = default;
  GroupWorkspace(Pool& pool, std::int64_t rows, std::int64_t columns);

  std::int64_t groups = 0;
  std::int64_t partition_rows = 0;     // a partition's bins are consecutive, so rows are read in order
  std::int64_t partitions = 0;         // of a block
  Buffer<std::int32_t> first, second;  // (rows) of RowGroups
  Buffer<float> limit;                 // (rows) of RowGroups
  Buffer<std::int32_t> order;          // (bins, kBinRows) rows by group, -1: none
  Buffer<unsigned> sizes;              // (2, partitions, groups) rows of each group, and rows already placed
  Buffer<unsigned> first_bin;          // (partitions, groups) index of the first bin, then the number of all bins
  Buffer<std::int32_t> bin_group;      // (bins) the group of each bin
  RowGroups rows() const { return {first.data(), second.data(), limit.data()}; }
};

/// Decides the rows in `groups`: rows.nearest[i] is the only column within the row's limit. Rows with several such
/// columns become listed: the columns are candidates with place i in the workspace. Does not wait.
template <class T>
void nearest_in_groups(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                       const GroupWorkspace& groups, const RefinementWorkspace& workspace, ScreeningCounts* counts);

/// Appends the listed rows and their limits to `ambiguous`. Does not wait.
template <class T>
void append_listed_rows(const HeldRows<T>& held, const ScreeningInput& rows, const GroupWorkspace& groups,
                        const AmbiguousRows& ambiguous);

/// Device memory of the screen of one assignment.
class Fp16Screen {
 public:
  static constexpr std::int64_t kBatch = 1 << 17;  // most ambiguous rows in one refinement pass

  Fp16Screen() = default;
  /// A screen for `count` centroids, in one step, or in two by groups of them. Requires held.fp16.
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

/// The input for all rows of a block; the screening pass fills their labels.
template <class T>
ScreeningInput whole_block(const HeldRows<T>& held, const Block<T>& block);

/// The screening pass over rows of a block. Sets rows.nearest[i] of decided rows; listed rows get kListed, and their
/// candidates, with place i, are in the workspace. screen.counts(block) counts listed and ambiguous rows. Does not
/// wait.
template <class T>
void screen_fp16(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block, const ScreeningInput& rows,
                 const RefinementWorkspace& workspace);

/// Appends the listed rows of the most recent block to its ambiguous rows, if their candidates overflowed the list or
/// their values are not on the device. Does not wait.
template <class T>
void append_listed_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const ScreeningInput& rows);

/// The refinement pass over rows first .. first + count - 1 of `ambiguous`, at most kBatch: lists their candidates by
/// place. Does not wait.
template <class T>
void collect_fp16_candidates(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                             const AmbiguousRows& ambiguous, const CandidateOutput& candidates, std::int64_t first,
                             Count count);

}  // namespace kith::cuda
