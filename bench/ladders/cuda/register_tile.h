// A kernel over tiles of 128 x 128 elements. A thread keeps 8 x 8 of them in registers, so that it uses each value
// from shared memory eight times. The rung defines the term of a pair of values and the element computed from the sum.
#pragma once

#include <type_traits>

#include "bench/ladders/cuda/distances.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// Op: T add(T sum, T a, T b), T finish(T sum, int64 row, int64 column) for T = float or int.
template <class T, class Op>
__global__ void __launch_bounds__(kBlock) register_kernel(DistanceProblemOf<T> p, Op op) {
  using Four = std::conditional_t<std::is_same_v<T, float>, float4, int4>;
  constexpr int kDepth = 8, kSide = 8;       // columns of A per step; a thread has kSide x kSide elements
  constexpr int kPitch = kDistanceTile + 4;  // keeps rows aligned and spreads the columns of A over the banks
  __shared__ __align__(16) T a[kDepth][kPitch];
  __shared__ __align__(16) T b[kDepth][kDistanceTile];
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kDistanceTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kDistanceTile;
  T sum[kSide][kSide] = {};
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
      T rows[kSide], columns[kSide];
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
      for (int r = 0; r < kSide; ++r) {
#pragma unroll
        for (int c = 0; c < kSide; ++c) sum[r][c] = op.add(sum[r][c], rows[r], columns[c]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kSide; ++r) {
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
