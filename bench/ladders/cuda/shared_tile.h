// The kernels of the ladder of distances that compute one element per thread, from global memory or from tiles in
// shared memory, in float32 or int32.
#pragma once

#include "bench/ladders/cuda/distances.h"

namespace kith::cuda {

inline constexpr int kSide = 16;  // rows, and columns, of the tiles in shared memory

// sum + (a - b)^2
__device__ inline float add_square(float sum, float a, float b) {
  const float t = a - b;
  return fmaf(t, t, sum);
}
__device__ inline int add_square(int sum, int a, int b) { return sum + (a - b) * (a - b); }

/// For register_kernel (register_tile.h).
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

}  // namespace kith::cuda
