// How threads share a matrix when each owns a column and walks down a run of rows, so that neighbouring threads read
// neighbouring values and a sum over rows stays in one register.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

inline constexpr std::int64_t kRangeRows = 64;  // rows that a thread walks, unless told otherwise

/// A block of kBlock threads is `width` columns wide and kBlock / width runs high.
struct WalkShape {
  int width = 1;  // a power of two up to kBlock / 2
  dim3 grid;      // x: runs, y: columns
};

inline WalkShape walk_shape(const Context& context, std::int64_t rows, std::int64_t d,
                            std::int64_t range_rows = kRangeRows) {
  WalkShape shape;
  shape.width = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(d, 1, kBlock / 2))));
  const std::int64_t runs = (rows + range_rows - 1) / range_rows;
  const std::int64_t high = kBlock / shape.width;
  const std::int64_t blocks = std::max<std::int64_t>((runs + high - 1) / high, 1);
  // Few rows: spread the columns over blocks as well.
  const std::int64_t column_groups = (d + shape.width - 1) / shape.width;
  const std::int64_t spare = std::max<std::int64_t>(std::int64_t{context.multiprocessors} * 16 / blocks, 1);
  shape.grid =
      dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(std::min<std::int64_t>({column_groups, spare, 65535})));
  return shape;
}

/// The columns and the run of rows of this thread.
struct ColumnWalk {
  __device__ ColumnWalk(std::int64_t rows, int width, std::int64_t range_rows = kRangeRows) {
    const std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * (kBlock / width) + threadIdx.x / width;
    first = run * range_rows;
    last = first + range_rows < rows ? first + range_rows : rows;
    column = static_cast<std::int64_t>(blockIdx.y) * width + threadIdx.x % width;
    column_step = static_cast<std::int64_t>(gridDim.y) * width;
  }
  std::int64_t first, last;          // rows first .. last - 1; none when first >= last
  std::int64_t column, column_step;  // columns column, column + column_step, ...
};

}  // namespace kith::cuda
