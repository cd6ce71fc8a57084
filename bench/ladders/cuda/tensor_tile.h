// A kernel over tiles of 128 x 128 distances by products on tensor cores (compute capability 8.0 and later), and the
// transposition that gives it the columns of B as rows.
//
// Vectors are sequences of 16-bit words: fp16 values, or pairs of int8 values. Asynchronous copies fill later stages of
// 64 bytes per vector while an earlier one is multiplied. Each of the eight warps computes 64 x 32 elements. The
// arithmetic defines the product of 32 bytes of 16 rows and 8 columns, and the distance from squares and product.
#pragma once

#include <cuda_pipeline.h>

#include "bench/ladders/cuda/distances.h"
#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

inline constexpr int kTransposeSide = 32;  // rows, and columns, of a transposed tile

/// to (columns, rows) = from (rows, columns) transposed; both sizes are multiples of kTransposeSide.
template <class From, class To>
__global__ void transpose_kernel(const From* from, int rows, int columns, To* to) {
  __shared__ From tile[kTransposeSide][kTransposeSide + 1];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTransposeSide;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTransposeSide;
  for (unsigned i = threadIdx.y; i < kTransposeSide; i += blockDim.y) {
    tile[i][threadIdx.x] = from[(first_row + i) * columns + first_column + threadIdx.x];
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < kTransposeSide; i += blockDim.y) {
    to[(first_column + i) * rows + first_row + threadIdx.x] = static_cast<To>(tile[threadIdx.x][i]);
  }
}

template <class From, class To>
void launch_transpose(const Context& context, const From* from, int rows, int columns, To* to) {
  const dim3 tiles(columns / kTransposeSide, rows / kTransposeSide);
  transpose_kernel<<<tiles, dim3(kTransposeSide, 8), 0, context.stream>>>(from, rows, columns, to);
}

constexpr int kDepth = 32;                          // words of a vector in a stage
constexpr int kStages = 3;                          // stages in shared memory
constexpr int kChunk = 8;                           // words of a 16-byte chunk
constexpr int kTileWords = kDistanceTile * kDepth;  // words of one operand part in a stage
constexpr unsigned kWarpRows = 64, kWarpColumns = 32;
constexpr unsigned kWarpsAcross = kDistanceTile / kWarpColumns;
static_assert(kDistanceTile / kWarpRows * kWarpsAcross == kBlockWarps, "the warps cover the tile");

template <class Sum>
struct TensorOperands {
  const std::uint16_t* a[2];  // (rows, depth) high and low parts
  const std::uint16_t* b[2];  // (columns, depth)
  const Sum* a_square;
  const Sum* b_square;
  int depth;  // words of a vector, a multiple of kDepth
  int columns;
  Sum* out;  // (rows, columns)
};

/// Offset of a chunk of a row in its tile, permuted so that the rows of one load are in different banks.
__device__ inline unsigned offset_of(unsigned row, unsigned chunk) {
  return row * kDepth + (chunk ^ (row / 2 % 4)) * kChunk;
}

__device__ inline void fetch_tile(std::uint16_t* to, const std::uint16_t* from, int depth) {
  constexpr unsigned kChunks = kDepth / kChunk, kRowsAtOnce = kBlock / kChunks;
  const unsigned row = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
  from += static_cast<std::int64_t>(row) * depth + chunk * kChunk;
#pragma unroll
  for (unsigned offset = 0; offset < kDistanceTile; offset += kRowsAtOnce) {
    __pipeline_memcpy_async(to + offset_of(row + offset, chunk), from + static_cast<std::int64_t>(offset) * depth, 16);
  }
}

/// Loads 32 bytes of each of 16 vectors of a tile: rows of A, or two groups of eight columns of B.
__device__ inline void load_vectors(unsigned (&to)[4], const std::uint16_t* tile, unsigned first_row,
                                    unsigned first_chunk) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::uint16_t* from = tile + offset_of(first_row + lane % 16, first_chunk + lane / 16);
  load_rows_16x16(to, static_cast<std::uint32_t>(__cvta_generic_to_shared(from)));
}

/// Multiplies 16 rows of A by this warp's 32 columns of B.
template <class Arithmetic>
__device__ void multiply_rows(typename Arithmetic::Sum (&sum)[4][4], const unsigned (&a)[4],
                              const unsigned (&b)[2][4]) {
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const unsigned* columns = &b[n / 2][n % 2];
    Arithmetic::multiply(sum[n], make_uint2(a[0], a[2]), make_uint2(a[1], a[3]), make_uint2(columns[0], columns[2]));
  }
}

/// kParts 1: high x high; 2: high x high, high x low and low x high.
template <class Arithmetic, int kParts>
__global__ void __launch_bounds__(kBlock, 2) tensor_kernel(TensorOperands<typename Arithmetic::Sum> operands) {
  extern __shared__ __align__(128) std::uint16_t shared[];  // [stage][A, B][part][128][32]
  using Sum = typename Arithmetic::Sum;
  constexpr int kStageWords = 2 * kParts * kTileWords;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kDistanceTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kDistanceTile;
  const int depth = operands.depth, steps = depth / kDepth;
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned warp_row = warp / kWarpsAcross * kWarpRows, warp_column = warp % kWarpsAcross * kWarpColumns;

  const auto fetch = [&](int step) {
    if (step < steps) {
      std::uint16_t* stage = shared + step % kStages * kStageWords;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        fetch_tile(stage + part * kTileWords, operands.a[part] + first_row * depth + step * kDepth, depth);
        fetch_tile(stage + (kParts + part) * kTileWords, operands.b[part] + first_column * depth + step * kDepth,
                   depth);
      }
    }
    __pipeline_commit();
  };

  Sum sum[4][4][4] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();            // the stage has arrived for all threads, and the one before has been read
    fetch(step + kStages - 1);  // overwrites the one before
    const std::uint16_t* a_tile = shared + step % kStages * kStageWords;
    const std::uint16_t* b_tile = a_tile + kParts * kTileWords;
#pragma unroll
    for (unsigned chunk = 0; chunk < kDepth / kChunk; chunk += 2) {
      unsigned a[4], b[kParts][2][4];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        load_vectors(b[part][0], b_tile + part * kTileWords, warp_column, chunk);
        load_vectors(b[part][1], b_tile + part * kTileWords, warp_column + 16, chunk);
      }
#pragma unroll
      for (unsigned m = 0; m < 4; ++m) {
        load_vectors(a, a_tile, warp_row + m * 16, chunk);
#pragma unroll
        for (int part = 0; part < kParts; ++part) multiply_rows<Arithmetic>(sum[m], a, b[part]);
        if constexpr (kParts == 2) {
          load_vectors(a, a_tile + kTileWords, warp_row + m * 16, chunk);
          multiply_rows<Arithmetic>(sum[m], a, b[0]);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < 4; ++m) {
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      const std::int64_t row = first_row + warp_row + m * 16 + upper * 8 + lane_index() / 4;
      const Sum a_square = operands.a_square[row];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const std::int64_t column = first_column + warp_column + n * 8 + lane_index() % 4 * 2;
        typename Arithmetic::Pair pair;
        pair.x = Arithmetic::finish(a_square, operands.b_square[column], sum[m][n][upper * 2]);
        pair.y = Arithmetic::finish(a_square, operands.b_square[column + 1], sum[m][n][upper * 2 + 1]);
        *reinterpret_cast<typename Arithmetic::Pair*>(operands.out + row * operands.columns + column) = pair;
      }
    }
  }
}

template <class Arithmetic, int kParts>
void launch_tensor_tiles(const Context& context, int rows, const TensorOperands<typename Arithmetic::Sum>& operands) {
  constexpr int kSharedBytes = kStages * 2 * kParts * kTileWords * static_cast<int>(sizeof(std::uint16_t));
  check(cudaFuncSetAttribute(tensor_kernel<Arithmetic, kParts>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes));
  const dim3 tiles(operands.columns / kDistanceTile, rows / kDistanceTile);
  tensor_kernel<Arithmetic, kParts><<<tiles, kBlock, kSharedBytes, context.stream>>>(operands);
}

}  // namespace kith::cuda
