// The second step of the half-precision screen against many centroids: rows whose nearest centroid is known to be in
// one or two groups of 32 are brought together by group and multiplied with its columns alone.
#pragma once

#include <cstdint>

#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/refinement.h"
#include "kernels/cuda/screen/screening_input.h"

namespace kith::cuda {

/// What the first step finds for every row of a block.
struct RowGroups {
  static constexpr std::int32_t kNone = -1;
  std::int32_t* first;   // (rows) the group, none: the row is left ambiguous
  std::int32_t* second;  // (rows) another one that may have the nearest centroid, or none
  float* limit;          // (rows) columns with higher scores are not the nearest
};

/// What a block's rows still need, as the device counts it.
struct ScreeningCounts {
  Word ambiguous = 0;             // rows listed as ambiguous
  Word listed = 0;                // rows whose candidates are listed by position, for decide_listed of refine.h
  Word listed_candidates = 0;     // of the listed rows
  Word ambiguous_candidates = 0;  // of the ambiguous rows, found by the refinement pass
};

/// Device memory of the step, for blocks of up to `rows` rows against `columns` centroids.
struct GroupWorkspace {
  static constexpr std::int64_t kBinRows = 128;       // rows of one group that are multiplied together
  static constexpr std::int64_t kPartRows = 1 << 16;  // at least

  GroupWorkspace() = default;
  GroupWorkspace(Pool& pool, std::int64_t rows, std::int64_t columns);

  std::int64_t groups = 0;
  std::int64_t part_rows = 0;          // rows whose bins follow each other, so that memory is read in the order of rows
  std::int64_t parts = 0;              // of a block
  Buffer<std::int32_t> first, second;  // (rows) RowGroups
  Buffer<float> limit;                 // (rows) RowGroups
  Buffer<std::int32_t> order;          // (bins, kBinRows) rows by group, -1 where there is none
  Buffer<unsigned> sizes;              // (2, parts, groups) rows, and how many are in their bins already
  Buffer<unsigned> first_bin;          // (parts, groups), then the number of bins
  Buffer<std::int32_t> bin_group;      // (bins) whose rows a bin has
  RowGroups rows() const { return {first.data(), second.data(), limit.data()}; }
};

/// Rows whose groups are in the room: rows.nearest[i] = the only column within the row's limit. Rows with several
/// become listed: their columns are counted, and listed while there is room, as candidates of refine.h whose place is
/// i. Where bounds are wanted, those of rows in one group hold a score that all other groups are above. Queues only.
template <class T>
void nearest_in_groups(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                       const GroupWorkspace& groups, const RefinementWorkspace& room, ScreeningCounts* counts);

/// Appends the listed rows to `ambiguous`, with their limits: when their candidates found no room. Queues only.
template <class T>
void append_listed_rows(const HeldRows<T>& held, const ScreeningInput& rows, const GroupWorkspace& groups,
                        const AmbiguousRows& ambiguous);

}  // namespace kith::cuda
