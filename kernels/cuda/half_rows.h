// Rows in half precision, laid out as the tensor cores read them, with what rounding took
// from each row.
//
// 128 rows by 64 columns are one piece of 16 KiB: a row is 128 bytes, and the 16-byte unit u of row r stands at place
// u ^ (r % 8) (the 128-byte swizzle), so that a piece is one contiguous bulk copy. Rows and columns beyond the data are
// zero.
#pragma once

#include <cstdint>

#include "core/screen.h"
#include "kernels/cuda/held_rows.h"

namespace kith::cuda {

inline constexpr int kPieceRows = 128;
inline constexpr int kPieceColumns = 64;
inline constexpr int kPieceBytes = kPieceRows * kPieceColumns * 2;

/// Halves hold x' 2^8, |x'| < 1 in every column: far from their limit of 65504, and small columns above their
/// subnormals.
inline constexpr int kHalfShift = 8;
/// Products and norms are in units of 4^-kHalfShift of the screen's.
inline int half_exponent(const Screen& screen) { return screen.exponent - kHalfShift; }

inline std::int64_t pieces_of(std::int64_t columns) { return (columns + kPieceColumns - 1) / kPieceColumns; }
/// Groups of 128 rows, an even number: two consumers take them in pairs.
inline std::int64_t row_groups_of(std::int64_t rows) { return (rows + 2 * kPieceRows - 1) / (2 * kPieceRows) * 2; }

/// Room for half rows, and their norms, on the device. [group of 128 rows][piece of 64 columns].
HalfRows room_for_halves(Pool& pool, std::int64_t rows, std::int64_t columns);

/// Fills `out` from rows (count, d) on the device, measures them, and waits.
template <class T, class X>
void make_halves(const HeldRows<T>& held, const X* rows, std::int64_t count, HalfRows& out);

}  // namespace kith::cuda
