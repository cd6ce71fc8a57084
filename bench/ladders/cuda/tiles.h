// The kernels of the ladder of distances, in float32 or int32: one element per thread, from global memory or from tiles
// in shared memory; and tiles of which each thread keeps 8 x 8 elements in registers.
#pragma once

#include <type_traits>

#include "bench/ladders/cuda/distances.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

inline constexpr int kSide = 16;  // rows, and columns, of the tiles in shared memory

// sum + (a - b)^2
__device__ inline float add_square(float sum, float a, float b) {
  const float t = a - b;
  return fmaf(t, t, sum);
}
__device__ inline int add_square(int sum, int a, int b) { return sum + (a - b) * (a - b); }

/// For register_kernel.
template <class T>
struct Differences {
  __device__ T add(T sum, T a, T b) const { return add_square(sum, a, b); }
  __device__ T finish(T sum, std::int64_t, std::int64_t) const { return sum; }
};

/// One thread per element, reading global memory only.
template <class T>
__global__ void element_kernel(DistanceProblemOf<T> p) {
  const int column = static_cast<int>(blockIdx.x * kSide + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * kSide + threadIdx.y);
  T sum = 0;
  for (int j = 0; j < p.depth; ++j) {
    sum = add_square(sum, p.a[static_cast<std::int64_t>(row) * p.depth + j],
                     p.b[static_cast<std::int64_t>(j) * p.columns + column]);
  }
  p.out[static_cast<std::int64_t>(row) * p.columns + column] = sum;
}

/// Tiles of 16 x 16 in shared memory. If the tile of B is stored transposed, the threads of a warp read the same banks;
/// if not, neighbouring threads read neighbouring values.
template <bool kTransposed, class T>
__global__ void tile_kernel(DistanceProblemOf<T> p) {
  __shared__ T a[kSide][kSide], b[kSide][kSide];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSide + x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kSide + y;
  T sum = 0;
  for (int first = 0; first < p.depth; first += kSide) {
    a[y][x] = p.a[row * p.depth + first + x];
    (kTransposed ? b[x][y] : b[y][x]) = p.b[static_cast<std::int64_t>(first + y) * p.columns + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kSide; ++j) sum = add_square(sum, a[y][j], kTransposed ? b[x][j] : b[j][x]);
    __syncthreads();
  }
  p.out[row * p.columns + column] = sum;
}

/// Tiles of 128 x 128 elements. A thread keeps 8 x 8 of them in registers, so that it uses each value from shared
/// memory eight times. Op: T add(T sum, T a, T b), T finish(T sum, int64 row, int64 column) for T = float or int.
template <class T, class Op>
__global__ void __launch_bounds__(kBlock) register_kernel(DistanceProblemOf<T> p, Op op) {
  using Four = std::conditional_t<std::is_same_v<T, float>, float4, int4>;
  constexpr int kDepth = 8, kOwn = 8;        // columns of A per step; a thread has kOwn x kOwn elements
  constexpr int kPitch = kDistanceTile + 4;  // keeps rows aligned and spreads the columns of A over the banks
  __shared__ __align__(16) T a[kDepth][kPitch];
  __shared__ __align__(16) T b[kDepth][kDistanceTile];
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kDistanceTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kDistanceTile;
  T sum[kOwn][kOwn] = {};
  for (int first = 0; first < p.depth; first += kDepth) {
    const Four loaded_a =
        *reinterpret_cast<const Four*>(p.a + (first_row + thread / 2) * p.depth + first + thread % 2 * 4);
    const Four loaded_b = *reinterpret_cast<const Four*>(
        p.b + (first + thread / 32) * static_cast<std::int64_t>(p.columns) + first_column + thread % 32 * 4);
    a[thread % 2 * 4][thread / 2] = loaded_a.x;
    a[thread % 2 * 4 + 1][thread / 2] = loaded_a.y;
    a[thread % 2 * 4 + 2][thread / 2] = loaded_a.z;
    a[thread % 2 * 4 + 3][thread / 2] = loaded_a.w;
    *reinterpret_cast<Four*>(&b[thread / 32][thread % 32 * 4]) = loaded_b;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kDepth; ++j) {
      T rows[kOwn], columns[kOwn];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const Four a_values = *reinterpret_cast<const Four*>(&a[j][y * 4 + part * 64]);
        const Four b_values = *reinterpret_cast<const Four*>(&b[j][x * 4 + part * 64]);
        rows[part * 4] = a_values.x, rows[part * 4 + 1] = a_values.y, rows[part * 4 + 2] = a_values.z,
                    rows[part * 4 + 3] = a_values.w;
        columns[part * 4] = b_values.x, columns[part * 4 + 1] = b_values.y;
        columns[part * 4 + 2] = b_values.z, columns[part * 4 + 3] = b_values.w;
      }
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
#pragma unroll
        for (int c = 0; c < kOwn; ++c) sum[r][c] = op.add(sum[r][c], rows[r], columns[c]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    const std::int64_t row = first_row + y * 4 + r % 4 + r / 4 * 64;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const std::int64_t column = first_column + x * 4 + part * 64;
      const T* sums = &sum[r][part * 4];
      *reinterpret_cast<Four*>(p.out + row * p.columns + column) =
          Four{op.finish(sums[0], row, column), op.finish(sums[1], row, column + 1),
               op.finish(sums[2], row, column + 2), op.finish(sums[3], row, column + 3)};
    }
  }
}

}  // namespace kith::cuda
