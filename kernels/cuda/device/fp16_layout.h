// How rows in half precision lie in memory: pieces of 128 rows, units of 16 bytes.
#pragma once

#include <cstdint>

#include "core/portable.h"

namespace kith::cuda {

inline constexpr int kPieceRows = 128;
inline constexpr int kPieceColumns = 64;
inline constexpr int kPieceBytes = kPieceRows * kPieceColumns * 2;
inline constexpr int kChunkValues = 8;                          // fp16 of a 16-byte unit
inline constexpr int kRowUnits = kPieceColumns / kChunkValues;  // of a row of a whole piece
inline constexpr int kStepColumns = 16;                         // that the tensor cores multiply at a time
inline constexpr int kStepUnits = kStepColumns / kChunkValues;

/// How rows are laid out.
struct Fp16Layout {
  int pieces = 1;         // of a row
  int units = kRowUnits;  // of a row of a piece

  KITH_BOTH int piece_bytes() const { return kPieceRows * units * 16; }
  /// Where a unit of a row (of a block) is, in units. A following piece is kPieceRows * units on.
  KITH_BOTH std::int64_t place(std::int64_t row, int piece, int unit) const {
    const auto r = static_cast<std::uint32_t>(row);
    const std::uint32_t swizzled = units == kRowUnits ? unit ^ (r % 8) : unit;
    return (static_cast<std::int64_t>(r / kPieceRows) * pieces + piece) * (kPieceRows * units) +
           (r % kPieceRows) * units + swizzled;
  }
};

}  // namespace kith::cuda
