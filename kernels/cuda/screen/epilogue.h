// The interface of an epilogue: what an fp16 product does with its scores while they are in registers.
//
// An epilogue E has
//   E::Arguments      what a launch passes to it
//   E::kAnyColumns    true: a row may be processed several times, with other columns each time
//   E::kColumnRanges  present and true: columns come in ranges whose length the launch gives
//   E::kSharesRows    present and true: both consumers of a block take the same 128 rows
//   E(arguments, rows), begin(row), take<H>(products, score_base, tile) for the parts H = 0, 1 of the rows,
//   finish(row)
// A thread has rows `row` and row + 8 (part 0), row + 64 and row + 72 (part 1), and 32 columns of each column tile, a
// group; score_base points to the addends of the first of them.
#pragma once

namespace kith::cuda {

template <class Epilogue>
inline constexpr bool has_column_ranges = requires {
  Epilogue::kColumnRanges;
};

/// Both consumers take the same 128 rows, and pairs of column tiles in turn, so that few rows keep both busy.
template <class Epilogue>
inline constexpr bool shares_rows = requires {
  requires Epilogue::kSharesRows;
};

}  // namespace kith::cuda
