// The fp16 product of rows and columns on the tensor cores of compute capability 9.0, with an epilogue that
// evaluates the scores while they are in registers.
//
// A block has one producer warp, which only copies, and two warpgroups of consumers, each with its own 128 rows.
// Columns stream through a ring of tiles (64 dimensions deep). Rows of up to 128 dimensions are loaded into registers:
// shared memory then serves the columns alone, and a consumer evaluates one half of its scores while the other half is
// multiplied. Wider rows stay in shared memory while all columns pass, in two alternating sets if they fit, or are
// copied with the columns; one consumer then evaluates its scores while the other multiplies.
//
// Cost: 2 n k d operations. With two instructions per score the product of 10^6 x 128 with 4096 takes 1.33 ms on an
// H200, 789 TFLOP/s, the limit of its power; with both operands in shared memory it takes 1.89 ms. Producer and
// consumers follow CUTLASS's warp-specialised kernels; the reduction in the epilogue follows FlashAttention, and
// flash-kmeans for this problem.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/device/hopper.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/epilogue.h"
#include "kernels/cuda/screen/fp16_columns.h"

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

#ifdef KITH_HOPPER

/// A stage of a ring, and the parity of the current round.
struct RingPlace {
  int stage = 0;
  unsigned parity = 0;
  __device__ void next(int stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

/// The layout of shared memory: addresses of barriers and tiles.
struct Layout {
  std::uint32_t base;
  RingShape shape;
  __device__ std::uint32_t full(int stage) const { return base + stage * 16; }
  __device__ std::uint32_t empty(int stage) const { return base + stage * 16 + 8; }
  __device__ std::uint32_t points_full(int set) const { return base + (kMostStages + set) * 16; }
  __device__ std::uint32_t points_empty(int set) const { return base + (kMostStages + set) * 16 + 8; }
  __device__ std::uint32_t points(int set, int consumer, int depth_tile) const {
    return stage(shape.stages) + set * shape.set_bytes() +
           (consumer * shape.points.depth_tiles + depth_tile) * shape.points.tile_bytes();
  }
  __device__ std::uint32_t stage(int stage) const { return base + kBarrierBytes + stage * shape.stage_bytes(); }
  /// Points that are copied with the columns of a stage, after them.
  __device__ std::uint32_t stage_points(int stage_index, int consumer) const {
    return stage(stage_index) + (1 + consumer) * kFp16TileBytes;
  }
};

/// A tile of a group of 128 rows, of points or of centroids; a group has `count` tiles of `bytes` bytes.
__device__ inline const uint4* tile_at(const uint4* tiles, std::int64_t group, int depth_tile, int count, int bytes) {
  return tiles + (group * count + depth_tile) * (bytes / 16);
}

/// The producer: one thread that keeps the ring full.
__device__ inline void produce(const Fp16Arguments& arguments, const Work& work, const Layout& layout) {
  const RingShape& shape = arguments.shape;
  const int depth_tiles = shape.points.depth_tiles;
  RingPlace ring, set;
  for (unsigned item = blockIdx.x; item < work.items(); item += gridDim.x) {
    const std::int64_t group = static_cast<std::int64_t>(work.row_tile(item)) * kConsumers;
    if (shape.point_sets > 0) {
      barrier_wait(layout.points_empty(set.stage), set.parity ^ 1U);
      barrier_expect(layout.points_full(set.stage), shape.set_bytes());
      bulk_copy(layout.points(set.stage, 0, 0),
                tile_at(arguments.points, group, 0, depth_tiles, shape.points.tile_bytes()), shape.set_bytes(),
                layout.points_full(set.stage));
      set.next(shape.point_sets);
    }
    for (unsigned tile = work.first_tile(item); tile < work.last_tile(item); ++tile) {
      for (int depth_tile = 0; depth_tile < depth_tiles; ++depth_tile) {
        barrier_wait(layout.empty(ring.stage), ring.parity ^ 1U);
        barrier_expect(layout.full(ring.stage), shape.stage_bytes());
        bulk_copy(layout.stage(ring.stage), tile_at(arguments.columns, tile, depth_tile, depth_tiles, kFp16TileBytes),
                  kFp16TileBytes, layout.full(ring.stage));
        if (shape.point_sets == 0) {
          for (int consumer = 0; consumer < kConsumers; ++consumer) {
            bulk_copy(layout.stage_points(ring.stage, consumer),
                      tile_at(arguments.points, group + consumer, depth_tile, depth_tiles, kFp16TileBytes),
                      kFp16TileBytes, layout.full(ring.stage));
          }
        }
        ring.next(shape.stages);
      }
    }
  }
}

/// The position of a consumer's thread.
struct ConsumerPlace {
  int consumer, thread, lane, warp;
  __device__ std::int64_t row(unsigned row_tile) const {
    return (static_cast<std::int64_t>(row_tile) * kConsumers + consumer) * kFp16TileRows + warp * 16 + lane / 4;
  }
};

inline constexpr int kLowerRows = kFp16TileBytes / 2 >> 4, kStep = 32 >> 4;  // in units of a descriptor's address
inline constexpr int kTileSteps = kFp16TileColumns / 16;                     // products along a tile

/// A consumer of narrow rows, which are in registers; two products of 64 rows run in turn. (Queuing the next tile's
/// first product before the last scores are evaluated gains nothing: running products occupy the ports of the registers
/// that the evaluation reads, so the two do not overlap.)
template <int kSteps, class Epilogue>
__device__ void consume_narrow(const Fp16Arguments& arguments, const typename Epilogue::Arguments& epilogue_arguments,
                               const Work& work, const Layout& layout, const ConsumerPlace& place) {
  constexpr int kDepthTiles = (kSteps + kTileSteps - 1) / kTileSteps;
  RingPlace ring, set;
  float upper_product[64] = {}, lower_product[64] = {};
  unsigned rows[2][kSteps][4];
  Epilogue epilogue(epilogue_arguments, work.rows);
  int stage[kDepthTiles];  // of the current column tile
  const auto next_tile = [&] {
#pragma unroll
    for (int depth_tile = 0; depth_tile < kDepthTiles; ++depth_tile) {
      stage[depth_tile] = ring.stage;
      barrier_wait(layout.full(ring.stage), ring.parity);
      ring.next(arguments.shape.stages);
    }
  };
  const auto release_tile = [&] {
    if (place.thread != 0) return;
#pragma unroll
    for (int depth_tile = 0; depth_tile < kDepthTiles; ++depth_tile) barrier_arrive(layout.empty(stage[depth_tile]));
  };
  const auto multiply = [&](float(&product)[64], const unsigned(&a)[kSteps][4]) {
    products_done(product);
    products_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const std::uint64_t b = operand_descriptor(layout.stage(stage[step / kTileSteps]));
      multiply_64x128x16(product, a[step], b + step % kTileSteps * kStep, step);
    }
    products_commit();
  };
  for (unsigned item = blockIdx.x; item < work.items(); item += gridDim.x) {
    barrier_wait(layout.points_full(set.stage), set.parity);
    const Fp16Layout& points = arguments.shape.points;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const int row = half * 64 + place.warp * 16 + place.lane % 16;
        const int chunk = step % kTileSteps * kStepChunks + place.lane / 16;
        // Steps beyond the columns multiply zeros of the centroids, so any finite values will do.
        const int existing = chunk < points.chunks ? chunk : place.lane / 16;
        load_rows_16x16(rows[half][step], layout.points(set.stage, place.consumer, step / kTileSteps) +
                                              static_cast<std::uint32_t>(points.place(row, 0, existing)) * 16);
      }
    }
    const unsigned first = work.first_tile(item), last = work.last_tile(item);
    epilogue.begin(place.row(work.row_tile(item)));
    for (unsigned tile = first; tile < last; ++tile) {
      next_tile();
      const float* base = base_of_lane(arguments.score_base, tile, place.lane);
      multiply(upper_product, rows[0]);
      multiply(lower_product, rows[1]);
      products_wait<1>();
      products_done(upper_product);
      epilogue.template take<0>(upper_product, base, tile);
      products_wait<0>();
      products_done(lower_product);
      if (tile == first) {
        // The first products have finished, so the rows are in registers. A barrier right after the loads does not
        // ensure it.
        warpgroup_sync(place.consumer, kGroupThreads);
        if (place.thread == 0) barrier_arrive(layout.points_empty(set.stage));
      }
      release_tile();
      epilogue.template take<1>(lower_product, base, tile);
    }
    set.next(arguments.shape.point_sets);
    epilogue.finish(place.row(work.row_tile(item)));
  }
}

/// A consumer of wide rows, which are in shared memory: multiplies its 128 rows with every column tile, and evaluates
/// the scores.
template <class Epilogue>
__device__ void consume_wide(const Fp16Arguments& arguments, const typename Epilogue::Arguments& epilogue_arguments,
                             const Work& work, const Layout& layout, const ConsumerPlace& place) {
  const RingShape& shape = arguments.shape;
  const int depth_tiles = shape.points.depth_tiles;
  RingPlace ring, set;
  float upper_product[64] = {}, lower_product[64] = {};
  Epilogue epilogue(epilogue_arguments, work.rows);
  for (unsigned item = blockIdx.x; item < work.items(); item += gridDim.x) {
    const unsigned last = work.last_tile(item);
    if (shape.point_sets > 0) barrier_wait(layout.points_full(set.stage), set.parity);
    epilogue.begin(place.row(work.row_tile(item)));
    for (unsigned tile = work.first_tile(item); tile < last; ++tile) {
      int held_stage = -1;
      for (int depth_tile = 0; depth_tile < depth_tiles; ++depth_tile) {
        barrier_wait(layout.full(ring.stage), ring.parity);
        const std::uint32_t rows = shape.point_sets > 0 ? layout.points(set.stage, place.consumer, depth_tile)
                                                        : layout.stage_points(ring.stage, place.consumer);
        const std::uint64_t a = operand_descriptor(rows), b = operand_descriptor(layout.stage(ring.stage));
        products_done(upper_product);
        products_done(lower_product);
        products_fence();
#pragma unroll
        for (int step = 0; step < kTileSteps; ++step) {
          multiply_64x128x16(upper_product, a + step * kStep, b + step * kStep, depth_tile + step);
          multiply_64x128x16(lower_product, a + kLowerRows + step * kStep, b + step * kStep, depth_tile + step);
        }
        products_commit();
        if (held_stage >= 0) {
          products_wait<1>();
          if (place.thread == 0) barrier_arrive(layout.empty(held_stage));
        }
        held_stage = ring.stage;
        ring.next(shape.stages);
      }
      products_wait<0>();
      products_done(upper_product);
      products_done(lower_product);
      if (place.thread == 0) {
        barrier_arrive(layout.empty(held_stage));
        if (shape.point_sets > 0 && tile + 1 == last) barrier_arrive(layout.points_empty(set.stage));
      }
      const float* base = base_of_lane(arguments.score_base, tile, place.lane);
      epilogue.template take<0>(upper_product, base, tile);
      epilogue.template take<1>(lower_product, base, tile);
    }
    if (shape.point_sets > 0) set.next(shape.point_sets);
    epilogue.finish(place.row(work.row_tile(item)));
  }
}

#endif

/// kHeldSteps: steps of 16 columns of rows in registers; 0: rows are wide.
template <int kHeldSteps, class Epilogue>
__global__ void __launch_bounds__(kFp16Threads, 1)
    fp16_screen_kernel(const __grid_constant__ Fp16Arguments arguments,
                       const __grid_constant__ typename Epilogue::Arguments epilogue_arguments) {
#ifdef KITH_HOPPER
  extern __shared__ __align__(1024) unsigned char shared[];
  const Layout layout{shared_address(shared), arguments.shape};
  const Work work = Work::of<Epilogue>(arguments);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < arguments.shape.stages; ++stage) {
      barrier_init(layout.full(stage), 1);
      barrier_init(layout.empty(stage), kConsumers);
    }
    for (int set = 0; set < arguments.shape.point_sets; ++set) {
      barrier_init(layout.points_full(set), 1);
      barrier_init(layout.points_empty(set), kConsumers);
    }
    barrier_init_fence();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  if (group == kConsumers) {
    give_registers<24>();
    if (threadIdx.x % kGroupThreads == 0) produce(arguments, work, layout);
  } else {
    take_registers<240>();
    const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
    const ConsumerPlace place{group, thread, thread % kWarp, thread / kWarp};
    if constexpr (kHeldSteps > 0) {
      consume_narrow<kHeldSteps, Epilogue>(arguments, epilogue_arguments, work, layout, place);
    } else {
      consume_wide<Epilogue>(arguments, epilogue_arguments, work, layout, place);
    }
  }
#endif
}

}  // namespace kith::cuda
