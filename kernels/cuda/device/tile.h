// The screening product: scores half_sq_norm[c] - x^.c^ of rows against columns (centroids, or points of a search),
// tile by tile in registers. An epilogue uses the scores there; they are never stored as a whole.
//
// A block of 256 threads multiplies 128 rows by 128 columns, 8 of the d dimensions at a time, each thread 8 x 8 scores.
// The next 8 dimensions are loaded into registers while the present ones are multiplied from shared memory;
// with two shared buffers one barrier per step suffices. There are 64 multiply-adds for 16 shared values in 4 loads, so
// the floor is the float32 rate: 2 n k d operations, 4.5 ms for 10^6 x 128 against 1024 at the 60 TFLOP/s of an H200.
// Per step a block reads 8 KiB for 2^17 multiply-adds, mostly from the second-level cache: 1.9 TB/s at that rate.
//
// The shape is that of CUTLASS's SIMT kernels and of S. Gray's maxas SGEMM (2014), whose assignment of lanes to scores
// lets lanes 0-15 and 16-31 share their 16-byte shared loads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/numbers/screen.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

// The float32 value that a screen multiplies: x^ = x 2^-exponent - center, rounded. Every screen calls screened().

/// The type in which points of type T are screened; float32 represents bytes exactly.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// One rounding. `scale` = 2^-exponent, exact in float32 for every exponent of float32 data.
__device__ inline float screened(float x, float scale, float center) { return __fmaf_rn(x, scale, -center); }

/// Two roundings: to float64, then to float32, which dominates.
__device__ inline float screened(double x, double scale, float center) {
  return __double2float_rn(__dsub_rn(__dmul_rn(x, scale), static_cast<double>(center)));
}

inline constexpr int kTileRows = 128;
inline constexpr int kTileColumns = 128;
inline constexpr int kTileDepth = 8;  // dimensions per step
inline constexpr int kTileThreads = 256;
inline constexpr int kTileVector = 4;                  // values that a thread loads of each operand per step
inline constexpr int kTileStride = kTileRows + 4;      // of a shared row: stores of a warp then hit 32 banks
inline constexpr int kWarpColumns = kTileColumns / 2;  // columns that a warp scores
static_assert(kTileRows == kTileColumns, "both operands are loaded by the same threads in the same way");
static_assert(kTileRows * kTileDepth == kTileThreads * kTileVector, "one vector of each operand per thread and step");
static_assert(kTileStride % 4 == 0, "shared rows are read 16 bytes at a time");

/// The columns rounded up to a whole number of steps.
inline std::int64_t padded_depth(std::int64_t d) { return (d + kTileDepth - 1) / kTileDepth * kTileDepth; }

/// A(d) of core/numbers/screen.h: each product is one chain of d fused multiply-adds of float32.
KITH_BOTH inline double tile_accumulation(std::int64_t d) {
  const double chain = static_cast<double>(d + 2) * 0x1p-24;
  return chain < 0.5 ? chain / (1 - chain) : std::numeric_limits<double>::infinity();
}

/// An operand that has been screened: rows of `pitch` values, zero beyond the dimensions.
struct ScreenedOperand {
  const float* values = nullptr;
  std::int64_t rows = 0;
  int pitch = 0;  // a multiple of kTileDepth

  using Value = float;
  struct Vector {
    float4 values;
  };
  __device__ const float* row(std::int64_t i) const { return values + (i < rows ? i : rows - 1) * pitch; }
  /// Values j .. j + 3 of a row.
  __device__ Vector load(const float* row, int j) const { return {__ldg(reinterpret_cast<const float4*>(row + j))}; }
  __device__ float4 finish(const Vector& vector, int) const { return vector.values; }
};

/// Held points, which are screened while they are copied to shared memory.
template <class T>
struct PointOperand {
  const T* values = nullptr;             // (n, d)
  const std::int32_t* chosen = nullptr;  // positions of the rows to multiply, null: all
  std::int64_t rows = 0;                 // that are multiplied
  int d = 0;
  Arithmetic<T> scale = 1;        // 2^-exponent of the screen
  const float* center = nullptr;  // (d), zero up to the tile's depth

  using Value = T;
  struct Vector {
    T x[kTileVector];
  };
  __device__ const T* row(std::int64_t i) const {
    if (i >= rows) i = rows - 1;
    return values + (chosen != nullptr ? static_cast<std::int64_t>(chosen[i]) : i) * d;
  }
  __device__ Vector load(const T* row, int j) const {
    Vector vector;
    if (d % kTileVector == 0 && j < d) {  // then every row starts at a multiple of four values
      if constexpr (sizeof(T) == 1) {
        const unsigned four = __ldg(reinterpret_cast<const unsigned*>(row + j));
#pragma unroll
        for (int i = 0; i < kTileVector; ++i) vector.x[i] = static_cast<T>(four >> 8 * i & 0xFFU);
      } else if constexpr (sizeof(T) == sizeof(float)) {
        const float4 x = __ldg(reinterpret_cast<const float4*>(row + j));
        vector.x[0] = x.x, vector.x[1] = x.y, vector.x[2] = x.z, vector.x[3] = x.w;
      } else {
        const double2 low = __ldg(reinterpret_cast<const double2*>(row + j));
        const double2 high = __ldg(reinterpret_cast<const double2*>(row + j + 2));
        vector.x[0] = low.x, vector.x[1] = low.y, vector.x[2] = high.x, vector.x[3] = high.y;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kTileVector; ++i) vector.x[i] = j + i < d ? __ldg(row + j + i) : T{0};
    }
    return vector;
  }
  /// Loads the center late: it is in the L1 cache, and keeping it in registers costs more.
  __device__ float4 finish(const Vector& vector, int j) const {
    const float4 at = __ldg(reinterpret_cast<const float4*>(center + j));
    return {screened(vector.x[0], scale, at.x), screened(vector.x[1], scale, at.y), screened(vector.x[2], scale, at.z),
            screened(vector.x[3], scale, at.w)};
  }
};

/// The scores of a tile that a thread has: 8 rows and 8 columns, each two sequences of four.
struct TilePlace {
  __device__ TilePlace() {
    const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_index();
    row0 = warp / 2 * 32 + ((lane >> 4) * 2 + (lane & 1)) * 4;
    column0 = warp % 2 * kWarpColumns + ((lane >> 1) & 7) * 4;
  }
  __device__ int row(int i) const { return row0 + i / 4 * 16 + i % 4; }
  __device__ int column(int j) const { return column0 + j / 4 * 32 + j % 4; }
  /// True in one of the eight lanes that share a row.
  __device__ bool first_of_row() const { return (threadIdx.x & 14U) == 0; }
  int row0, column0;
};

/// The smallest over the eight lanes of a warp that share a row; a NaN counts as no value.
__device__ inline float smallest_of_row(float value) {
#pragma unroll
  for (int w = 2; w <= 8; w *= 2) value = fminf(value, __shfl_xor_sync(kAllLanes, value, w));
  return value;
}

/// The tiles of a launch: each block multiplies one row tile with a range of column tiles.
struct TileGrid {
  unsigned row_tiles = 0;
  unsigned column_tiles = 0;
  unsigned range_tiles = 0;  // of a column range, which a block takes
  unsigned blocks() const { return row_tiles * ((column_tiles + range_tiles - 1) / range_tiles); }
};

/// Column ranges as long as `wanted_blocks` allow: one range when the rows alone make enough blocks. The rows of a
/// launch and the number of labels are bounded, so 32 bits suffice for tiles.
inline TileGrid tile_grid(std::int64_t rows, std::int64_t columns, std::int64_t wanted_blocks) {
  const std::int64_t row_tiles = (rows + kTileRows - 1) / kTileRows;
  const std::int64_t column_tiles = (columns + kTileColumns - 1) / kTileColumns;
  const std::int64_t ranges = std::clamp<std::int64_t>(wanted_blocks / row_tiles, 1, column_tiles);
  return {static_cast<unsigned>(row_tiles), static_cast<unsigned>(column_tiles),
          static_cast<unsigned>((column_tiles + ranges - 1) / ranges)};
}

using TileShared = float[2][kTileDepth][kTileStride];

__device__ inline void store_vector(TileShared& shared, int buffer, int row, int j, float4 vector) {
  shared[buffer][j][row] = vector.x;
  shared[buffer][j + 1][row] = vector.y;
  shared[buffer][j + 2][row] = vector.z;
  shared[buffer][j + 3][row] = vector.w;
}

__device__ inline void load_eight(float (&out)[8], const float* at, int apart) {
  const float4 low = *reinterpret_cast<const float4*>(at), high = *reinterpret_cast<const float4*>(at + apart);
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
  out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

/// One step: adds the products of the dimensions that are in shared memory.
__device__ inline void multiply(const TileShared& rows, const TileShared& columns, int buffer, const TilePlace& place,
                                float (&product)[8][8]) {
#pragma unroll
  for (int k = 0; k < kTileDepth; ++k) {
    float x[8], c[8];
    load_eight(x, &rows[buffer][k][place.row0], 16);
    load_eight(c, &columns[buffer][k][place.column0], 32);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
#pragma unroll
      for (int s = 0; s < 8; ++s) product[r][s] = __fmaf_rn(x[r], c[s], product[r][s]);
    }
  }
}

/// Each block makes one epilogue, passes it the products of each tile, and finishes it:
///   Epilogue(const Arguments&, Shared&, const TilePlace&, first_row)   take(products, first_column)   finish()
template <class Rows, class Columns, class Epilogue>
__global__ void __launch_bounds__(kTileThreads, 2)
    tile_kernel(const Rows rows, const Columns columns, const int depth, const TileGrid grid,
                const typename Epilogue::Arguments arguments) {
  __shared__ __align__(16) TileShared row_values;
  __shared__ __align__(16) TileShared column_values;
  __shared__ typename Epilogue::Shared epilogue_shared;

  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x % grid.row_tiles) * kTileRows;
  unsigned tile = blockIdx.x / grid.row_tiles * grid.range_tiles;
  const unsigned end = min(tile + grid.range_tiles, grid.column_tiles);

  // Each thread loads four values of one row and of one column per step.
  const int load_row = static_cast<int>(threadIdx.x) / 2, load_j = static_cast<int>(threadIdx.x) % 2 * kTileVector;
  const typename Rows::Value* const row = rows.row(first_row + load_row);
  const TilePlace place;
  Epilogue epilogue(arguments, epilogue_shared, place, first_row);

  for (; tile < end; ++tile) {
    const std::int64_t first_column = static_cast<std::int64_t>(tile) * kTileColumns;
    const typename Columns::Value* const column = columns.row(first_column + load_row);
    float product[8][8] = {};
    int buffer = 0;
    store_vector(row_values, 0, load_row, load_j, rows.finish(rows.load(row, load_j), load_j));
    store_vector(column_values, 0, load_row, load_j, columns.finish(columns.load(column, load_j), load_j));
    __syncthreads();
    for (int j = kTileDepth; j < depth; j += kTileDepth) {
      const typename Rows::Vector row_vector = rows.load(row, j + load_j);
      const typename Columns::Vector column_vector = columns.load(column, j + load_j);
      multiply(row_values, column_values, buffer, place, product);
      buffer ^= 1;
      store_vector(row_values, buffer, load_row, load_j, rows.finish(row_vector, j + load_j));
      store_vector(column_values, buffer, load_row, load_j, columns.finish(column_vector, j + load_j));
      __syncthreads();
    }
    multiply(row_values, column_values, buffer, place, product);
    epilogue.take(product, first_column);
    __syncthreads();  // all threads have finished reading both buffers
  }
  epilogue.finish();
}

}  // namespace kith::cuda
