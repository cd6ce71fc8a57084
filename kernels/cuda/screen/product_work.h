// The division of the fp16 product of wgmma_product.h: shared memory into a ring, rows and columns into work
// items.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/count.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/screen/epilogue.h"

namespace kith::cuda {

inline constexpr int kConsumers = 2;       // warpgroups
inline constexpr int kGroupThreads = 128;  // of a warpgroup
inline constexpr int kFp16Threads = (kConsumers + 1) * kGroupThreads;
inline constexpr int kFp16BlockRows = kConsumers * kFp16TileRows;
inline constexpr int kMostStages = 8;
inline constexpr int kSharedBytes = 227 * 1024;
inline constexpr int kBarrierBytes = 1024;  // the tiles start at a multiple of 1024 bytes
inline constexpr int kMostHeldTiles = 2;    // of a row whose values are in registers
inline constexpr int kMostSets = 4;         // of points

/// The configuration: how a block uses shared memory.
struct RingShape {
  Fp16Layout points;
  int held_steps = 0;  // steps of 16 columns of points in registers: 1, 2, 4 or 8; 0: rows are too wide
  int point_sets = 1;  // of points in shared memory, in turn; 0: points are copied with the columns
  int stages = 1;      // of the ring
  __host__ __device__ int stage_bytes() const {
    return point_sets > 0 ? kFp16TileBytes : (1 + kConsumers) * kFp16TileBytes;
  }
  __host__ __device__ int set_bytes() const { return kConsumers * points.depth_tiles * points.tile_bytes(); }
  int shared_bytes() const { return kBarrierBytes + point_sets * set_bytes() + stages * stage_bytes(); }
};

inline RingShape ring_shape(const Fp16Layout& points) {
  RingShape shape;
  shape.points = points;
  const int available = kSharedBytes - kBarrierBytes, depth_tiles = shape.points.depth_tiles;
  if (depth_tiles <= kMostHeldTiles) {
    shape.held_steps = 1;
    while (shape.held_steps * kStepChunks < depth_tiles * points.chunks) shape.held_steps *= 2;
    shape.stages = kMostStages;
    shape.point_sets = std::min(kMostSets, (available - shape.stages * kFp16TileBytes) / shape.set_bytes());
    return shape;
  }
  constexpr int kLeastStages = 4;
  shape.point_sets =
      std::min(2, (available / kFp16TileBytes - kLeastStages) / (kConsumers * std::min(depth_tiles, 1000)));
  const int remaining =
      available / kFp16TileBytes - shape.point_sets * kConsumers * (shape.point_sets > 0 ? depth_tiles : 0);
  shape.stages = std::min(kMostStages, shape.point_sets > 0 ? remaining : remaining / (1 + kConsumers));
  return shape;
}

/// The problem and its configuration.
struct Fp16Arguments {
  const uint4* points;   // tiles of the rows
  const uint4* columns;  // tiles of the centroids
  const float* score_base;
  Count rows;
  unsigned column_tiles;
  RingShape shape;
  unsigned range_tiles = 0;  // of a column range, if the epilogue has ranges
};

/// The work items of the blocks: row tiles, each partitioned by columns if the epilogue allows it and there are fewer
/// row tiles than blocks; or, for epilogues with column ranges, all row tiles of one range after the other.
struct Work {
  std::int64_t rows;
  unsigned row_tiles, column_tiles, partitions, range_tiles;

  template <class Epilogue>
  __device__ static Work of(const Fp16Arguments& arguments) {
    Work work{arguments.rows.get(), 0, arguments.column_tiles, 1,
              has_column_ranges<Epilogue> ? arguments.range_tiles : 0};
    work.row_tiles = static_cast<unsigned>((work.rows + kFp16BlockRows - 1) / kFp16BlockRows);
    if (has_column_ranges<Epilogue>) {
      work.partitions = (work.column_tiles + work.range_tiles - 1) / work.range_tiles;
    } else if (Epilogue::kAnyColumns && work.row_tiles > 0) {
      work.partitions = min(max(gridDim.x / work.row_tiles, 1U), work.column_tiles);
    }
    return work;
  }
  __device__ unsigned items() const { return row_tiles * partitions; }
  __device__ unsigned row_tile(unsigned item) const { return range_tiles > 0 ? item % row_tiles : item / partitions; }
  __device__ unsigned first_tile(unsigned item) const {
    return range_tiles > 0 ? item / row_tiles * range_tiles : column_tiles * (item % partitions) / partitions;
  }
  __device__ unsigned last_tile(unsigned item) const {
    return range_tiles > 0 ? min(first_tile(item) + range_tiles, column_tiles)
                           : column_tiles * (item % partitions + 1) / partitions;
  }
};

}  // namespace kith::cuda
