// The second step of the fp16 screen for many centroids: rows whose nearest centroid is known to be in one or
// two groups of 32 are sorted by group and multiplied with the columns of that group alone.
#pragma once

#include <cstdint>

#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/refinement.h"
#include "kernels/cuda/screen/screening_input.h"

namespace kith::cuda {

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
/// columns become listed: the columns are candidates with place i in the workspace. If bounds are requested, those of
/// rows in one group contain a lower bound of the scores of all other groups on entry. Queues only.
template <class T>
void nearest_in_groups(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                       const GroupWorkspace& groups, const RefinementWorkspace& workspace, ScreeningCounts* counts);

/// Appends the listed rows and their limits to `ambiguous`. Queues only.
template <class T>
void append_listed_rows(const HeldRows<T>& held, const ScreeningInput& rows, const GroupWorkspace& groups,
                        const AmbiguousRows& ambiguous);

}  // namespace kith::cuda
