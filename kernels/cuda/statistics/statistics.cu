// Ranges and magnitudes of the columns, in one pass over the points each.
//
// A pass reads n d values: 10^6 x 128 float32 take at least 0.11 ms on an H200 (4.8 TB/s). A thread walks down a range
// of rows in a few columns, neighbouring threads in neighbouring columns. Threads combine their partial results with
// 64-bit integer atomics, so that the order does not affect the result.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/numbers/fixed_point.h"
#include "core/points/data_plan.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {
namespace {

// The threads divide a matrix: each walks down a range of rows in a few columns, so that neighbouring threads read
// neighbouring values and a sum over rows stays in a register.

constexpr std::int64_t kRangeRows = 64;  // default number of rows that a thread walks

/// A thread block is `width` columns wide and kBlock / width row ranges high.
struct WalkShape {
  int width = 1;  // a power of two up to kBlock / 2
  dim3 grid;      // x: row ranges, y: columns
};

WalkShape walk_shape(const Context& context, std::int64_t rows, std::int64_t d, std::int64_t range_rows = kRangeRows) {
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

/// The sums that a kernel adds to, and the limits of scaled values that count as small or lost.
struct MagnitudeSums {
  Word* sum;           // (d)
  Word* absolute_sum;  // (d)
  Word* off_grid;      // (d) not 0: some row is not on the grid
  Word* small;         // (d)
  Word* lost;          // (d)
  double small_limit, lost_limit;
};

/// Adds to magnitudes the sums that launch(factors, sums) computes over the rows. factors: (2, d) the two factors of
/// each column's grid, on the device.
template <class T, class Launch>
void sum_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes,
                    const Launch& launch) {
  const std::int64_t d = held.columns();
  const Stream& stream = held.stream();
  Buffer<double> factors(held.pool(), 2 * d);
  Buffer<Word> sums(held.pool(), 5 * d);
  stream.upload(factors.data(), scales.first.data(), d);
  stream.upload(factors.data() + d, scales.second.data(), d);
  stream.fill(sums.data(), 0, 5 * d);
  launch(static_cast<const double*>(factors.data()),
         MagnitudeSums{sums.data(), sums.data() + d, sums.data() + 2 * d, sums.data() + 3 * d, sums.data() + 4 * d,
                       scales.small_limit(), scales.lost_limit()});
  std::vector<Word> host_sums(5 * d);
  stream.download(host_sums.data(), sums.data(), 5 * d);
  for (std::int64_t j = 0; j < d; ++j) {
    magnitudes.sum[j] += static_cast<std::int64_t>(host_sums[j]);
    magnitudes.absolute_sum[j] += static_cast<std::int64_t>(host_sums[d + j]);
    magnitudes.on_grid[j] &= static_cast<std::uint8_t>(host_sums[2 * d + j] == 0);
    magnitudes.small[j] += static_cast<std::int64_t>(host_sums[3 * d + j]);
    magnitudes.lost[j] += static_cast<std::int64_t>(host_sums[4 * d + j]);
  }
}

constexpr Word kSign = Word{1} << 63;

/// An integer whose order is that of the values; -0 equals +0.
__device__ Word ordered(double value) {
  const Word bits = bits_of(value + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double unordered(Word order) { return std::bit_cast<double>((order & kSign) != 0 ? order & ~kSign : ~order); }

/// How the threads divide rows and columns.
struct WalkArguments {
  int width;
  std::int64_t range_rows;
};

/// Row ranges per multiprocessor: just enough to keep it busy, since each one ends with atomic operations per column.
constexpr std::int64_t ranges_per_multiprocessor(std::int64_t groups) {
  constexpr std::int64_t kThreads = 1024;
  return std::max<std::int64_t>(kThreads / std::min<std::int64_t>(groups, kBlock / 2), 1);
}

/// Neighbouring values of a row, loaded together: up to 16 bytes and four values, if the number of columns allows.
template <class T, int kSize>
struct alignas(kSize * sizeof(T)) Pack {
  T x[kSize];
};

/// groups: packs per row.
template <class T, int kSize>
__global__ void range_kernel(const Pack<T, kSize>* values, std::int64_t rows, std::int64_t groups,
                             WalkArguments walk_arguments, Word* minimum, Word* maximum) {
  const ColumnWalk walk(rows, walk_arguments.width, walk_arguments.range_rows);
  if (walk.first >= walk.last) return;
  for (std::int64_t g = walk.column; g < groups; g += walk.column_step) {
    Pack<T, kSize> low = values[walk.first * groups + g], high = low;
#pragma unroll 8
    for (std::int64_t i = walk.first + 1; i < walk.last; ++i) {
      const Pack<T, kSize> v = values[i * groups + g];
#pragma unroll
      for (int c = 0; c < kSize; ++c) {
        low.x[c] = v.x[c] < low.x[c] ? v.x[c] : low.x[c];
        high.x[c] = v.x[c] > high.x[c] ? v.x[c] : high.x[c];
      }
    }
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      atomicMin(&minimum[g * kSize + c], ordered(static_cast<double>(low.x[c])));
      atomicMax(&maximum[g * kSize + c], ordered(static_cast<double>(high.x[c])));
    }
  }
}

/// A number rounded to an integer, ties to even.
struct Rounded {
  Word integer;
  double number;
};

/// Fast rounding is exact if no scaled value has more bits. This holds for all but the smallest data sets.
constexpr int kFastBits = 51;

template <bool kFast>
__device__ Rounded rounded(double scaled) {
  if constexpr (kFast) {
    // Doubles from 2^52 to 2^53 have a spacing of 1, so the addition rounds to an integer, and the difference of the
    // bits is that integer.
    constexpr double kShift = 0x1.8p52;
    const double shifted = __dadd_rn(scaled, kShift);
    return {bits_of(shifted) - bits_of(kShift), __dsub_rn(shifted, kShift)};
  } else {
    const double number = rint(scaled);
    return {static_cast<Word>(static_cast<std::int64_t>(number)), number};
  }
}

template <bool kFast, class T, int kSize>
__global__ void magnitude_kernel(const Pack<T, kSize>* values, std::int64_t rows, std::int64_t groups,
                                 WalkArguments walk_arguments, const double* first, const double* second,
                                 MagnitudeSums out) {
  const ColumnWalk walk(rows, walk_arguments.width, walk_arguments.range_rows);
  if (walk.first >= walk.last) return;
  for (std::int64_t g = walk.column; g < groups; g += walk.column_step) {
    double factor[kSize], more[kSize];
    Word sum[kSize] = {}, absolute_sum[kSize] = {};
    unsigned off_grid[kSize] = {}, small[kSize] = {}, lost[kSize] = {};
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      factor[c] = first[g * kSize + c];
      more[c] = second[g * kSize + c];
    }
#pragma unroll 4
    for (std::int64_t i = walk.first; i < walk.last; ++i) {
      const Pack<T, kSize> v = values[i * groups + g];
#pragma unroll
      for (int c = 0; c < kSize; ++c) {
        const double scaled = static_cast<double>(v.x[c]) * factor[c] * more[c];
        const Rounded q = rounded<kFast>(scaled);
        sum[c] += q.integer;
        absolute_sum[c] += rounded<kFast>(fabs(scaled)).integer;
        off_grid[c] |= q.number == scaled ? 0U : 1U;
        const bool counts = v.x[c] != 0;
        small[c] += counts && fabs(scaled) < out.small_limit ? 1U : 0U;
        lost[c] += counts && fabs(scaled) < out.lost_limit ? 1U : 0U;
      }
    }
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const std::int64_t j = g * kSize + c;
      atomicAdd(&out.sum[j], sum[c]);
      atomicAdd(&out.absolute_sum[j], absolute_sum[c]);
      if (off_grid[c] != 0) atomicOr(&out.off_grid[j], Word{1});
      if (small[c] != 0) atomicAdd(&out.small[j], Word{small[c]});
      if (lost[c] != 0) atomicAdd(&out.lost[j], Word{lost[c]});
    }
  }
}

/// launch(packs, packs per row, grid, walk arguments) with the largest packs that divide a row.
template <class T, class Launch>
void with_packs(const Context& context, const T* values, std::int64_t rows, std::int64_t d, const Launch& launch) {
  constexpr int kLargest = std::min<int>(16 / sizeof(T), 4);  // more columns per thread need too many registers
  const auto walk = [&]<int kSize>(std::integral_constant<int, kSize>) {
    const std::int64_t groups = d / kSize;
    const std::int64_t range_rows =
        std::max(kRangeRows, rows / (std::int64_t{context.multiprocessors} * ranges_per_multiprocessor(groups)));
    const WalkShape shape = walk_shape(context, rows, groups, range_rows);
    launch(reinterpret_cast<const Pack<T, kSize>*>(values), groups, shape.grid, WalkArguments{shape.width, range_rows});
    check(cudaGetLastError());
  };
  d % kLargest == 0 ? walk(std::integral_constant<int, kLargest>{}) : walk(std::integral_constant<int, 1>{});
}

/// factors: (2, d) the two factors of each column's grid.
template <class T>
__global__ void weighted_magnitude_kernel(const T* values, std::int64_t rows, std::int64_t d, int width,
                                          RowWeights weights, const double* factors, MagnitudeSums out) {
  const ColumnWalk walk(rows, width);
  if (walk.first >= walk.last) return;
  for (std::int64_t j = walk.column; j < d; j += walk.column_step) {
    const double first = factors[j], second = factors[d + j];
    Word sum = 0, absolute_sum = 0, off_grid = 0, small = 0, lost = 0;
    for (std::int64_t i = walk.first; i < walk.last; ++i) {
      const RowWeight weight = weights.of(i);
      const auto value = static_cast<double>(values[i * d + j]);
      const double scaled = value * first * (second * weight.factor);
      const double rounded = rint(scaled);
      const auto q = static_cast<std::int64_t>(rounded);
      const auto copies = static_cast<Word>(weight.copies);
      sum += static_cast<Word>(q) * copies;
      absolute_sum += static_cast<Word>(q < 0 ? -q : q) * copies;
      if (rounded != scaled) off_grid = 1;
      if (value == 0.0) continue;
      if (fabs(scaled) < out.small_limit) small += copies;
      if (fabs(scaled) < out.lost_limit) lost += copies;
    }
    atomicAdd(&out.sum[j], sum);
    atomicAdd(&out.absolute_sum[j], absolute_sum);
    if (off_grid != 0) atomicOr(&out.off_grid[j], off_grid);
    if (small != 0) atomicAdd(&out.small[j], small);
    if (lost != 0) atomicAdd(&out.lost[j], lost);
  }
}

/// add_magnitudes() for weighted rows: a weight of w has the same effect as repeating the row w times
/// (core/points/weights.h). Integer weights multiply the rounded values, others the values.
template <class T>
void add_weighted_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes) {
  const RowWeights weights{held.weight.data(), scales.integral_weights};
  sum_magnitudes(held, scales, magnitudes, [&](const double* factors, const MagnitudeSums& out) {
    held.for_blocks([&](const Block<T>& block) {
      const WalkShape shape = walk_shape(*held.context, block.rows, held.columns());
      weighted_magnitude_kernel<<<shape.grid, kBlock, 0, held.stream()>>>(
          held.on_device(block), block.rows, held.columns(), shape.width, weights.from(block.first), factors, out);
      check(cudaGetLastError());
    });
  });
}

}  // namespace

template <class T>
void add_range(const HeldRows<T>& held, ColumnRange& range) {
  const std::int64_t d = held.columns();
  Buffer<Word> minimum(held.pool(), d), maximum(held.pool(), d);
  held.stream().fill(minimum.data(), 0xFF, d);
  held.stream().fill(maximum.data(), 0, d);
  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    with_packs(*held.context, values, block.rows, d,
               [&](auto* packs, std::int64_t groups, dim3 grid, WalkArguments walk_arguments) {
                 range_kernel<<<grid, kBlock, 0, held.stream()>>>(packs, block.rows, groups, walk_arguments,
                                                                  minimum.data(), maximum.data());
               });
  });
  std::vector<Word> low(d), high(d);
  held.stream().download(low.data(), minimum.data(), d);
  held.stream().download(high.data(), maximum.data(), d);
  for (std::int64_t j = 0; j < d; ++j) {
    range.minimum[j] = std::min(range.minimum[j], unordered(low[j]));
    range.maximum[j] = std::max(range.maximum[j], unordered(high[j]));
  }
}

template <class T>
void add_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes) {
  if (held.weight.size() > 0) return add_weighted_magnitudes(held, scales, magnitudes);
  const std::int64_t d = held.columns();
  sum_magnitudes(held, scales, magnitudes, [&](const double* factors, const MagnitudeSums& out) {
    held.for_blocks([&](const Block<T>& block) {
      const T* values = held.on_device(block);
      with_packs(*held.context, values, block.rows, d,
                 [&](auto* packs, std::int64_t groups, dim3 grid, WalkArguments walk_arguments) {
                   const auto launch = [&](auto kernel) {
                     kernel<<<grid, kBlock, 0, held.stream()>>>(packs, block.rows, groups, walk_arguments, factors,
                                                                factors + d, out);
                   };
                   using Packs = std::remove_cvref_t<decltype(*packs)>;
                   constexpr int kSize = sizeof(Packs) / sizeof(T);
                   scales.low_bits <= kFastBits ? launch(magnitude_kernel<true, T, kSize>)
                                                : launch(magnitude_kernel<false, T, kSize>);
                 });
    });
  });
}

#define KITH_INSTANTIATE(T)                                  \
  template void add_range(const HeldRows<T>&, ColumnRange&); \
  template void add_magnitudes(const HeldRows<T>&, const ColumnScales&, ColumnMagnitudes&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
