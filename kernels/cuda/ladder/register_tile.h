// Tiles of 128 x 128 elements with 8 x 8 in the registers of each thread, so that a value from shared memory serves
// eight; what is added for each pair of values, and what becomes of the sum, is the rung's.
#pragma once

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/distances.h"

namespace kith::cuda {

/// Op: float add(float sum, float a, float b), float finish(float sum, int64 row, int64 column).
template <class Op>
__global__ void __launch_bounds__(kBlock) register_kernel(DistanceProblem p, Op op) {
  constexpr int kDeep = 8, kEach = 8;        // columns of A at a time, elements of a thread each way
  constexpr int kPitch = kDistanceTile + 4;  // rows stay aligned, and columns of A spread over the banks
  __shared__ __align__(16) float a[kDeep][kPitch];
  __shared__ __align__(16) float b[kDeep][kDistanceTile];
  const int me = static_cast<int>(threadIdx.x), x = me % 16, y = me / 16;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kDistanceTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kDistanceTile;
  float sum[kEach][kEach] = {};
  for (int first = 0; first < p.depth; first += kDeep) {
    const float4 from_a = *reinterpret_cast<const float4*>(p.a + (first_row + me / 2) * p.depth + first + me % 2 * 4);
    const float4 from_b = *reinterpret_cast<const float4*>(
        p.b + (first + me / 32) * static_cast<std::int64_t>(p.columns) + first_column + me % 32 * 4);
    a[me % 2 * 4][me / 2] = from_a.x;
    a[me % 2 * 4 + 1][me / 2] = from_a.y;
    a[me % 2 * 4 + 2][me / 2] = from_a.z;
    a[me % 2 * 4 + 3][me / 2] = from_a.w;
    *reinterpret_cast<float4*>(&b[me / 32][me % 32 * 4]) = from_b;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kDeep; ++j) {
      float rows[kEach], columns[kEach];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 of_a = *reinterpret_cast<const float4*>(&a[j][y * 4 + half * 64]);
        const float4 of_b = *reinterpret_cast<const float4*>(&b[j][x * 4 + half * 64]);
        rows[half * 4] = of_a.x, rows[half * 4 + 1] = of_a.y, rows[half * 4 + 2] = of_a.z, rows[half * 4 + 3] = of_a.w;
        columns[half * 4] = of_b.x, columns[half * 4 + 1] = of_b.y;
        columns[half * 4 + 2] = of_b.z, columns[half * 4 + 3] = of_b.w;
      }
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
#pragma unroll
        for (int c = 0; c < kEach; ++c) sum[r][c] = op.add(sum[r][c], rows[r], columns[c]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const std::int64_t row = first_row + y * 4 + r % 4 + r / 4 * 64;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t column = first_column + x * 4 + half * 64;
      const float* of = &sum[r][half * 4];
      *reinterpret_cast<float4*>(p.out + row * p.columns + column) =
          make_float4(op.finish(of[0], row, column), op.finish(of[1], row, column + 1),
                      op.finish(of[2], row, column + 2), op.finish(of[3], row, column + 3));
    }
  }
}

}  // namespace kith::cuda
