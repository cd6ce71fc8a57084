// Divides a matrix among threads: each walks down a range of rows in a few columns, so that neighbouring threads read
// neighbouring values and a sum over rows stays in a register.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

inline constexpr std::int64_t kRangeRows = 64;  // default number of rows that a thread walks

/// A thread block is `width` columns wide and kBlock / width row ranges high.
struct WalkShape {
  int width = 1;  // a power of two up to kBlock / 2
  dim3 grid;      // x: row ranges, y: columns
};

inline WalkShape walk_shape(const Context& context, std::int64_t rows, std::int64_t d,
                            std::int64_t range_rows = kRangeRows) {
  WalkShape shape;
  shape.width = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(d, 1, kBlock / 2))));
  const std::int64_t ranges = (rows + range_rows - 1) / range_rows;
  const std::int64_t block_ranges = kBlock / shape.width;
  const std::int64_t blocks = std::max<std::int64_t>((ranges + block_ranges - 1) / block_ranges, 1);
  // With few rows, divide the columns among blocks as well.
  const std::int64_t column_groups = (d + shape.width - 1) / shape.width;
  const std::int64_t column_blocks = std::max<std::int64_t>(std::int64_t{context.multiprocessors} * 16 / blocks, 1);
  shape.grid = dim3(static_cast<unsigned>(blocks),
                    static_cast<unsigned>(std::min<std::int64_t>({column_groups, column_blocks, 65535})));
  return shape;
}

/// The columns and the row range of this thread.
struct ColumnWalk {
  __device__ ColumnWalk(std::int64_t rows, int width, std::int64_t range_rows = kRangeRows) {
    const std::int64_t range = static_cast<std::int64_t>(blockIdx.x) * (kBlock / width) + threadIdx.x / width;
    first = range * range_rows;
    last = first + range_rows < rows ? first + range_rows : rows;
    column = static_cast<std::int64_t>(blockIdx.y) * width + threadIdx.x % width;
    column_step = static_cast<std::int64_t>(gridDim.y) * width;
  }
  std::int64_t first, last;          // rows first .. last - 1; none when first >= last
  std::int64_t column, column_step;  // columns column, column + column_step, ...
};

}  // namespace kith::cuda
