// The fp16 product of rows and columns on the tensor cores of compute capability 8.0 and later. It has the
// operands and epilogues of wgmma_product.h.
//
// A block is four warps with 128 rows, of which each warp multiplies 16 of the upper and 16 of the lower 64 with 128
// columns: 128 scores in a thread's registers, the same ones as a thread of a warpgroup has. Columns stream through a
// ring of tiles (64 dimensions deep) by asynchronous copies; rows stay in shared memory while all columns pass, or
// are copied with the columns when they are too wide. Two blocks share a multiprocessor where its shared memory allows:
// one multiplies while the other evaluates its scores.
//
// Cost: 2 n k d operations, 0.84 ms for 10^6 x 128 against 1024 at the 312 TFLOP/s of an A100. Per 16 dimensions a warp
// reads 5 KiB of shared memory for 2^16 multiply-adds: 40 clocks, while the four tensor cores multiply for 64.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/epilogue.h"
#include "kernels/cuda/screen/fp16_columns.h"

namespace kith::cuda {

inline constexpr int kMmaWarps = 4;
inline constexpr int kMmaThreads = kMmaWarps * kWarp;
inline constexpr int kMmaStages = 4;  // at most
inline constexpr int kMmaBlocks = 2;  // of a multiprocessor, as far as registers allow
inline constexpr int kRowBytes = kFp16TileBytes / kFp16TileRows;
inline constexpr int kChunkBytes = 16;  // copied and swizzled as one
static_assert(kFp16TileRows == kMmaWarps * 32, "a warp has 32 rows");
static_assert(kRowBytes == 128, "eight rows of eight chunks, swizzled, touch every bank once");

/// The configuration: how a block uses shared memory.
struct MmaShape {
  int depth_tiles = 1;   // of a row
  bool resident = true;  // rows stay; otherwise they are copied with the columns
  int stages = 2;        // of the ring, 2 to kMmaStages
  __host__ __device__ int stage_bytes() const { return resident ? kFp16TileBytes : 2 * kFp16TileBytes; }
  __host__ __device__ int points_bytes() const { return resident ? depth_tiles * kFp16TileBytes : 0; }
  int shared_bytes() const { return points_bytes() + stages * stage_bytes(); }
};

/// Bytes of shared memory.
struct SharedStorage {
  int block = 0;           // maximum of a block
  int multiprocessor = 0;  // shared by its blocks
  int reserved = 0;        // of each block, by the system
};

/// Rows stay if two stages fit beside them; two blocks per multiprocessor are preferred to one.
inline MmaShape mma_shape(int depth_tiles, const SharedStorage& available) {
  MmaShape shape;
  shape.depth_tiles = depth_tiles;
  const int shared = std::min(available.block, available.multiprocessor / kMmaBlocks - available.reserved);
  for (const int bytes : {shared, available.block}) {
    if (shape.depth_tiles > bytes / kFp16TileBytes - 2) continue;
    shape.stages = std::min(kMmaStages, bytes / kFp16TileBytes - shape.depth_tiles);
    return shape;
  }
  shape.resident = false;
  const int bytes = shared >= 2 * shape.stage_bytes() ? shared : available.block;
  shape.stages = std::min(kMmaStages, bytes / shape.stage_bytes());
  return shape;
}

/// The problem and its configuration.
struct MmaArguments {
  const uint4* points;   // tiles of the rows
  const uint4* columns;  // tiles of the centroids
  const float* score_base;
  Count rows;
  unsigned column_tiles;
  MmaShape shape;
  unsigned range_tiles;  // column tiles of a block: all, or a range where the epilogue has ranges
};

#ifdef KITH_AMPERE

/// Copies `count` tiles unchanged. All threads of the block call it.
__device__ inline void copy_tiles(std::uint32_t to, const uint4* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count * (kFp16TileBytes / kChunkBytes); i += kMmaThreads) {
    copy_chunk(to + i * kChunkBytes, from + i);
  }
}

/// The ring of tiles. Step s multiplies tile s % depth_tiles of the rows and of the block's column tile s /
/// depth_tiles. Every fetch ends one group of copies, also the fetch of a step that does not exist.
class MmaRing {
 public:
  __device__ MmaRing(const MmaArguments& arguments, unsigned row_group, unsigned first, unsigned last,
                     std::uint32_t base)
      : shape_(arguments.shape),
        columns_(arguments.columns + std::int64_t{first} * arguments.shape.depth_tiles * kTileChunks),
        points_(arguments.points + std::int64_t{row_group} * arguments.shape.depth_tiles * kTileChunks),
        steps_(static_cast<int>(last - first) * arguments.shape.depth_tiles),
        base_(base) {
    if (shape_.resident) copy_tiles(base_, points_, shape_.depth_tiles);  // they arrive with the first step
    for (int step = 0; step < shape_.stages - 1; ++step) fetch(step);
  }

  /// Waits for a step, and starts to fetch the step that replaces the one before.
  __device__ void advance(int step) const {
    switch (shape_.stages) {
      case 2:
        copies_wait<0>();
        break;
      case 3:
        copies_wait<1>();
        break;
      default:
        copies_wait<kMmaStages - 2>();
        break;
    }
    __syncthreads();  // the copies of all threads have arrived, and all have finished the step before
    fetch(step + shape_.stages - 1);
  }
  __device__ std::uint32_t columns(int step) const {
    return base_ + shape_.points_bytes() + step % shape_.stages * shape_.stage_bytes();
  }
  __device__ std::uint32_t points(int step) const {
    return shape_.resident ? base_ + step % shape_.depth_tiles * kFp16TileBytes : columns(step) + kFp16TileBytes;
  }

 private:
  static constexpr int kTileChunks = kFp16TileBytes / kChunkBytes;

  __device__ void fetch(int step) const {
    if (step < steps_) {
      copy_tiles(columns(step), columns_ + std::int64_t{step} * kTileChunks, 1);
      if (!shape_.resident) {
        copy_tiles(points(step), points_ + std::int64_t{step % shape_.depth_tiles} * kTileChunks, 1);
      }
    }
    copies_commit();
  }

  const MmaShape& shape_;
  const uint4* columns_;
  const uint4* points_;
  int steps_;
  std::uint32_t base_;
};

/// Adds the products of a tile of rows and a tile of columns, both in shared memory.
__device__ inline void multiply_tiles(float (&upper_product)[64], float (&lower_product)[64], std::uint32_t points,
                                      std::uint32_t columns) {
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp, place = lane % 16 * kRowBytes;
  const std::uint32_t row = points + warp * 16 * kRowBytes + place, column = columns + place;
#pragma unroll
  for (int step = 0; step < kFp16TileColumns / 16; ++step) {
    const int chunk = ((2 * step + lane / 16) ^ (lane % 8)) * kChunkBytes;
    unsigned upper[4], lower[4];
    load_rows_16x16(upper, row + chunk);
    load_rows_16x16(lower, row + kFp16TileRows / 2 * kRowBytes + chunk);
#pragma unroll
    for (int p = 0; p < 16; p += 2) {
      unsigned b[4];
      load_rows_16x16(b, column + p * 8 * kRowBytes + chunk);
#pragma unroll
      for (int next = 0; next < 2; ++next) {
        const uint2 eight{b[next], b[next + 2]};
        multiply_16x8x16(&upper_product[4 * (p + next)], {upper[0], upper[2]}, {upper[1], upper[3]}, eight);
        multiply_16x8x16(&lower_product[4 * (p + next)], {lower[0], lower[2]}, {lower[1], lower[3]}, eight);
      }
    }
  }
}

#endif

/// One block per 128 rows, and per column range if the epilogue has ranges. Epilogues: see screen/epilogue.h.
template <class Epilogue>
__global__ void __launch_bounds__(kMmaThreads, kMmaBlocks)
    mma_screen_kernel(const __grid_constant__ MmaArguments arguments,
                      const __grid_constant__ typename Epilogue::Arguments epilogue_arguments) {
#ifdef KITH_AMPERE
  const unsigned first = has_column_ranges<Epilogue> ? blockIdx.y * arguments.range_tiles : 0;
  const unsigned last =
      has_column_ranges<Epilogue> ? min(first + arguments.range_tiles, arguments.column_tiles) : arguments.column_tiles;
  const unsigned row_group = blockIdx.x;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::int64_t rows = arguments.rows.get();
  if (std::int64_t{row_group} * kFp16TileRows >= rows) return;
  const MmaRing ring(arguments, row_group, first, last, shared_address(shared));
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t row = std::int64_t{row_group} * kFp16TileRows + warp * 16 + lane / 4;
  Epilogue epilogue(epilogue_arguments, rows);
  epilogue.begin(row);
  int step = 0;
  for (unsigned tile = first; tile < last; ++tile) {
    float upper_product[64] = {}, lower_product[64] = {};
    for (int depth_tile = 0; depth_tile < arguments.shape.depth_tiles; ++depth_tile, ++step) {
      ring.advance(step);
      multiply_tiles(upper_product, lower_product, ring.points(step), ring.columns(step));
    }
    const float* base = base_of_lane(arguments.score_base, tile, lane);
    epilogue.template take<0>(upper_product, base, tile);
    epilogue.template take<1>(lower_product, base, tile);
  }
  epilogue.finish(row);
#endif
}

}  // namespace kith::cuda
