// Copies of held rows as operands of the products of a self-join: a sample, or all rows ordered by their thresholds.
#pragma once

#include <cstdint>

#include "kernels/cuda/search/fp16_operands.h"

namespace kith::cuda {

/// A subset of the rows: row i of it is chosen[i], or i * stride if `chosen` is null.
struct RowSubset {
  const std::int32_t* chosen = nullptr;  // (count)
  std::int64_t stride = 1;
  std::int64_t count = 0;
  __device__ std::int64_t row(std::int64_t i) const { return chosen != nullptr ? chosen[i] : i * stride; }
};

/// A copy of some rows of a base, which can be a base itself.
struct CopiedRows {
  Buffer<uint4> tiles;       // full-width
  Buffer<float> score_base;  // (count, padded, plus one tile) in the order of base_place_of_row
  std::int64_t count = 0;

  /// The copied rows from row `first` on, a multiple of kQueryTile, as a base. base: the base they were copied from.
  template <class T>
  SearchBase<T> as_base(SearchBase<T> base, std::int64_t first = 0) const {
    base.rows = count - first;
    base.tiles = tiles.data() + column_shape(base.d).place(first, 0, 0);
    base.score_base = score_base.data() + first;
    return base;
  }
};

/// Asynchronous.
template <class T>
CopiedRows copy_rows(const HeldRows<T>& held, const SearchBase<T>& base, const RowSubset& rows);

/// All rows in ascending order of their thresholds. A row's threshold is its limit plus its own score base, so that the
/// score of row b for row a decides whether b is within a's limit and whether a is within b's (self_join.cu).
struct OrderedRows {
  CopiedRows rows;
  Buffer<std::int32_t> row;       // (n) original positions
  Buffer<float> limit;            // (n)
  Buffer<float> column_limit;     // (n, padded) limits in the order of base_place_of_row; negative in the padding
  Buffer<float> group_threshold;  // (tiles, kQuarters) the largest threshold of a group, rounded up
};

/// limit: (n) largest score of a row in each list; negative: none. Asynchronous.
template <class T>
OrderedRows order_by_threshold(const HeldRows<T>& held, const SearchBase<T>& base, const float* limit);

}  // namespace kith::cuda
