// The memory layout of fp16 rows: tiles of 128 rows by 64 columns, chunks of 16 bytes.
#pragma once

#include <cstdint>

#include "core/runtime/portable.h"

namespace kith::cuda {

inline constexpr int kFp16TileRows = 128;
inline constexpr int kFp16TileColumns = 64;
inline constexpr int kFp16TileBytes = kFp16TileRows * kFp16TileColumns * 2;
inline constexpr int kChunkValues = 8;                              // fp16 values in 16 bytes
inline constexpr int kRowChunks = kFp16TileColumns / kChunkValues;  // of a row in a full tile
inline constexpr int kStepColumns = 16;                             // that one tensor core instruction multiplies
inline constexpr int kStepChunks = kStepColumns / kChunkValues;

/// Rows of up to this many columns have no fp16 copies: float32 screens are the fastest for any number of centroids.
inline constexpr std::int64_t kMostFloat32Columns = 4;
/// At most the bytes of a row's fp16 values, and those of its norms.
inline constexpr std::int64_t fp16_row_bytes(std::int64_t columns) {
  return (columns + kFp16TileColumns - 1) / kFp16TileColumns * kFp16TileColumns * 2;
}
inline constexpr std::int64_t kFp16StateBytes = 8;

struct Fp16Layout {
  int depth_tiles = 1;      // of a row: one for every 64 columns
  int chunks = kRowChunks;  // of a row in a tile

  KITH_BOTH int tile_bytes() const { return kFp16TileRows * chunks * 16; }
  /// The index of a chunk of a row of a block. The same chunk of the row's next tile is kFp16TileRows * chunks further.
  KITH_BOTH std::int64_t place(std::int64_t row, int depth_tile, int chunk) const {
    const auto r = static_cast<std::uint32_t>(row);
    const std::uint32_t swizzled = chunks == kRowChunks ? chunk ^ (r % 8) : chunk;
    return (static_cast<std::int64_t>(r / kFp16TileRows) * depth_tiles + depth_tile) * (kFp16TileRows * chunks) +
           (r % kFp16TileRows) * chunks + swizzled;
  }
};

}  // namespace kith::cuda
