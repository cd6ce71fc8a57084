// How the half-precision product of fp16_product.h is divided: shared memory into a ring, rows and columns by block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/count.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/device/fragments.h"

namespace kith::cuda {

inline constexpr int kConsumers = 2;       // warpgroups
inline constexpr int kGroupThreads = 128;  // of a warpgroup
inline constexpr int kFp16Threads = (kConsumers + 1) * kGroupThreads;
inline constexpr int kFp16BlockRows = kConsumers * kPieceRows;
inline constexpr int kMostStages = 8;
inline constexpr int kSharedBytes = 227 * 1024;
inline constexpr int kBarrierBytes = 1024;  // and the pieces start at a multiple of 1024 bytes
inline constexpr int kMostHeldPieces = 2;   // of rows in registers
inline constexpr int kMostSets = 4;         // of points

/// How shared memory is used.
struct RingShape {
  Fp16Layout points;
  int held_steps = 0;  // steps of 16 columns of points that wait in registers: 1, 2, 4 or 8; 0: they are too wide
  int point_sets = 1;  // of points in shared memory, in turn; 0: they travel with the centroids
  int stages = 1;      // of the ring
  __host__ __device__ int stage_bytes() const { return point_sets > 0 ? kPieceBytes : (1 + kConsumers) * kPieceBytes; }
  __host__ __device__ int set_bytes() const { return kConsumers * points.pieces * points.piece_bytes(); }
  int shared_bytes() const { return kBarrierBytes + point_sets * set_bytes() + stages * stage_bytes(); }
};

inline RingShape ring_shape(const Fp16Layout& points) {
  RingShape shape;
  shape.points = points;
  const int room = kSharedBytes - kBarrierBytes, pieces = shape.points.pieces;
  if (pieces <= kMostHeldPieces) {
    shape.held_steps = 1;
    while (shape.held_steps * kStepUnits < pieces * points.units) shape.held_steps *= 2;
    shape.stages = kMostStages;
    shape.point_sets = std::min(kMostSets, (room - shape.stages * kPieceBytes) / shape.set_bytes());
    return shape;
  }
  constexpr int kLeastStages = 4;
  shape.point_sets = std::min(2, (room / kPieceBytes - kLeastStages) / (kConsumers * std::min(pieces, 1000)));
  const int left = room / kPieceBytes - shape.point_sets * kConsumers * (shape.point_sets > 0 ? pieces : 0);
  shape.stages = std::min(kMostStages, shape.point_sets > 0 ? left : left / (1 + kConsumers));
  return shape;
}

/// What is multiplied.
struct Fp16Arguments {
  const uint4* points;   // pieces of the rows
  const uint4* columns;  // pieces of the centroids
  const float* score_base;
  Count rows;
  unsigned column_tiles;
  RingShape shape;
  unsigned run = 0;  // tiles of columns of an item of work, where the epilogue has runs
};

/// How the product is divided among blocks: tiles of rows, and of columns where the epilogue can do with some of them
/// and there are fewer tiles of rows than blocks; or runs of columns for all rows, one run after the other.
struct Work {
  std::int64_t rows;
  unsigned row_tiles, column_tiles, parts, run;

  template <class Epilogue>
  __device__ static Work of(const Fp16Arguments& arguments) {
    Work work{arguments.rows.get(), 0, arguments.column_tiles, 1, has_runs<Epilogue> ? arguments.run : 0};
    work.row_tiles = static_cast<unsigned>((work.rows + kFp16BlockRows - 1) / kFp16BlockRows);
    if (has_runs<Epilogue>) {
      work.parts = (work.column_tiles + work.run - 1) / work.run;
    } else if (Epilogue::kAnyColumns && work.row_tiles > 0) {
      work.parts = min(max(gridDim.x / work.row_tiles, 1U), work.column_tiles);
    }
    return work;
  }
  __device__ unsigned items() const { return row_tiles * parts; }
  __device__ unsigned row_tile(unsigned item) const { return run > 0 ? item % row_tiles : item / parts; }
  __device__ unsigned first_tile(unsigned item) const {
    return run > 0 ? item / row_tiles * run : column_tiles * (item % parts) / parts;
  }
  __device__ unsigned last_tile(unsigned item) const {
    return run > 0 ? min(first_tile(item) + run, column_tiles) : column_tiles * (item % parts + 1) / parts;
  }
};

}  // namespace kith::cuda
