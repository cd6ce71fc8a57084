// Ranges and magnitudes of the columns, in one pass over the points each.
//
// A pass reads n d values: 10^6 x 128 float32 take at least 0.11 ms on an H200 (4.8 TB/s). A thread walks down a range
// of rows in a few columns, neighbouring threads in neighbouring columns. Threads combine their partial results with
// 64-bit integer atomics, so that the order does not affect the result.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/numbers/fixed_point.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/statistics/column_magnitudes.h"
#include "kernels/cuda/statistics/column_walk.h"
#include "kernels/cuda/statistics/operations.h"

namespace kith::cuda {
namespace {

constexpr Word kSign = Word{1} << 63;

/// An integer whose order is that of the values; -0 equals +0.
__device__ Word ordered(double value) {
  const Word bits = bits_of(value + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double unordered(Word order) { return std::bit_cast<double>((order & kSign) != 0 ? order & ~kSign : ~order); }

/// How the threads divide rows and columns (statistics/column_walk.h).
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
