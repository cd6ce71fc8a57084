// Rows of a self-join as operands of its products: some of them, or all in the order of how far they see.
#pragma once

#include <cstdint>

#include "kernels/cuda/search/fp16_operands.h"

namespace kith::cuda {

/// Rows chosen[i], or i x stride where nothing is chosen.
struct RowChoice {
  const std::int32_t* chosen = nullptr;  // (count)
  std::int64_t stride = 1;
  std::int64_t count = 0;
  __device__ std::int64_t row(std::int64_t i) const { return chosen != nullptr ? chosen[i] : i * stride; }
};

/// Rows of a base as a base of their own.
struct CopiedRows {
  Buffer<uint4> tiles;       // whole ones
  Buffer<float> score_base;  // (count, padded, and a tile) in the order of base_place_of_row
  std::int64_t count = 0;

  /// Those from place `first` on, a multiple of kQueryTile. `base`: that they were copied from.
  template <class T>
  SearchBase<T> as_base(SearchBase<T> base, std::int64_t first = 0) const {
    base.rows = count - first;
    base.tiles = tiles.data() + column_shape(base.d).place(first, 0, 0);
    base.score_base = score_base.data() + first;
    return base;
  }
};

/// Queues only.
template <class T>
CopiedRows copy_rows(const HeldRows<T>& held, const SearchBase<T>& base, const RowChoice& rows);

/// All rows, those that see least far first: a row's reach is its limit and what is added to its own score, so that u =
/// (what is added to the other row's score - the product) says for both rows of a pair whether the other one is within
/// the limit: u <= reach - what is added to the other one's.
struct OrderedRows {
  CopiedRows rows;
  Buffer<std::int32_t> row;    // (n) the position of each
  Buffer<float> limit;         // (n)
  Buffer<float> column_limit;  // (n, padded) the same in the order of base_place_of_row; negative where there is no row
  Buffer<float> group_reach;   // (tiles, kQuarters) the largest reach of a group, rounded up
};

/// limit: (n) of the scores that a row wants; negative: none. Queues only.
template <class T>
OrderedRows order_by_reach(const HeldRows<T>& held, const SearchBase<T>& base, const float* limit);

}  // namespace kith::cuda
