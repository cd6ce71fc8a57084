// Distances by the definition of core/numbers/distance.h, one warp at a time: lane l of the warp is accumulator l.
//
// Several distances are computed together, so that each value loaded serves more than one and the additions across
// lanes are shared: with N distances the tree costs N - 1 + log2(32 / N) exchanges instead of 5 N.
#pragma once

#include "core/numbers/distance.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

static_assert(kLanes == kWarp, "the definition's accumulators are the lanes of a warp");

/// One step of an accumulator. x - c and c - x have the same square, so either operand may be the point.
__device__ inline double add_square(double x, double c, double sum) {
  const double t = __dsub_rn(x, c);
  return __fma_rn(t, t, sum);
}

/// An accumulator of rows of bits adds the bits that differ and, times this, those that either row has: both numbers
/// are smaller, and float64 holds the sums exactly.
inline constexpr double kInEither = 0x1p27;
static_assert(kMostBits < (std::int64_t{1} << 27));

/// One step of an accumulator, for any measure.
template <Measure M>
__device__ inline double add_term(double x, double c, double sum) {
  if constexpr (is_of_bits(M)) {
    const auto a = static_cast<unsigned>(x), b = static_cast<unsigned>(c);
    return __dadd_rn(sum, kInEither * __popc(a | b) + __popc(a ^ b));
  }
  if constexpr (M == Measure::squared_euclidean) return add_square(x, c, sum);
  if constexpr (M == Measure::inner_product) return __fma_rn(x, c, sum);
  if constexpr (M == Measure::manhattan) return __dadd_rn(sum, fabs(__dsub_rn(x, c)));
  return fmax(sum, fabs(__dsub_rn(x, c)));
}
/// Combines two accumulators.
template <Measure M>
__device__ inline double join(double a, double b) {
  return M == Measure::chebyshev ? fmax(a, b) : __dadd_rn(a, b);
}
/// D from the accumulator at the root of the tree.
template <Measure M>
__device__ inline double distance_from(double sum) {
  if constexpr (is_of_bits(M)) {
    const auto counts = static_cast<std::int64_t>(sum), each = static_cast<std::int64_t>(kInEither);
    return bit_distance(M, counts % each, counts / each);
  }
  return M == Measure::inner_product ? __dsub_rn(0.0, sum) : sum;
}

/// Accumulators of this lane for the distances of every x[r] and every c[s]: sum[r * C + s]. Rows have d columns.
template <Measure M = Measure::squared_euclidean, int R, int C, class X>
__device__ inline void accumulate_grid(const X* const (&x)[R], const double* const (&c)[C], std::int64_t d,
                                       double (&sum)[R * C]) {
#pragma unroll
  for (int i = 0; i < R * C; ++i) sum[i] = 0.0;
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    double left[R], right[C];
#pragma unroll
    for (int r = 0; r < R; ++r) left[r] = static_cast<double>(x[r][j]);
#pragma unroll
    for (int s = 0; s < C; ++s) right[s] = c[s][j];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int s = 0; s < C; ++s) sum[r * C + s] = add_term<M>(left[r], right[s], sum[r * C + s]);
    }
  }
}

/// Accumulators of this lane for the distances of x[i] and c[i]. kSteps: of 32 columns, whose loads are in flight
/// together.
template <Measure M = Measure::squared_euclidean, int kSteps = 0, int N, class X>
__device__ inline void accumulate_pairs(const X* const (&x)[N], const double* const (&c)[N], std::int64_t d,
                                        double (&sum)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) sum[i] = 0.0;
#pragma unroll(kSteps > 0 ? kSteps : N <= 4 ? 2 : 1)
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
#pragma unroll
    for (int i = 0; i < N; ++i) sum[i] = add_term<M>(static_cast<double>(x[i][j]), c[i][j], sum[i]);
  }
}

/// The tree over the lanes, for N distances at once (N a power of two up to 32): this lane receives distance
/// lane * N / 32. While several distances remain, the upper half of the lanes continues with the upper half of them.
/// a + b and b + a have the same bits, so it does not matter which of two lanes adds.
template <int N, Measure M = Measure::squared_euclidean, int W = kWarp / 2, int Size>
__device__ inline double add_lanes(double (&sum)[Size]) {
  static_assert(N > 0 && N <= kWarp && (N & (N - 1)) == 0 && N <= Size);
  if constexpr (N > 1) {
    const bool upper = (lane_index() & W) != 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const double keep = upper ? sum[i + N / 2] : sum[i];
      const double pass = upper ? sum[i] : sum[i + N / 2];
      sum[i] = join<M>(keep, __shfl_xor_sync(kAllLanes, pass, W));
    }
    return add_lanes<N / 2, M, W / 2>(sum);
  } else {
    double total = sum[0];
#pragma unroll
    for (int w = W; w > 0; w /= 2) total = join<M>(total, __shfl_xor_sync(kAllLanes, total, w));
    return distance_from<M>(total);
  }
}

/// The definition's tree of additions over kCount accumulators, in the registers of a lane.
template <int kCount, int kSize>
__device__ double add_accumulators(double (&sum)[kSize]) {
  if constexpr (kCount > 1) {
#pragma unroll
    for (int l = 0; l < kCount / 2; ++l) sum[l] = __dadd_rn(sum[l], sum[l + kCount / 2]);
    return add_accumulators<kCount / 2>(sum);
  } else {
    return sum[0];
  }
}

/// D of a row and a centroid of at most kColumns columns, by one thread. The accumulators beyond the columns are zero,
/// which the tree of additions does not change.
template <int kColumns, class X>
__device__ double distance_of_few_columns(const X* x, const double* c, std::int64_t d) {
  static_assert(kColumns <= kLanes && (kColumns & (kColumns - 1)) == 0);
  double sum[kColumns];
#pragma unroll
  for (int l = 0; l < kColumns; ++l) sum[l] = l < d ? add_square(static_cast<double>(x[l]), c[l], 0.0) : 0.0;
  return add_accumulators<kColumns>(sum);
}

/// Distances of 32 consecutive rows, eight at a time: this lane receives that of row first + lane. centroid(i): the
/// centroid (d) of row first + i, called by all lanes. Rows from `rows` on repeat the last.
template <class X, class CentroidOf>
__device__ inline double distances_of_rows(const X* values, std::int64_t first, std::int64_t rows, std::int64_t d,
                                           const CentroidOf& centroid) {
  constexpr int kTogether = 8;
  constexpr int kLanesEach = kWarp / kTogether;
  double distance = 0.0;
  for (int at = 0; at < kWarp; at += kTogether) {
    const X* x[kTogether];
    const double* c[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const std::int64_t row = first + at + i;
      x[i] = values + (row < rows ? row : rows - 1) * d;
      c[i] = centroid(at + i);
    }
    double sum[kTogether];
    accumulate_pairs<Measure::squared_euclidean, 4>(x, c, d, sum);
    const double result = add_lanes<kTogether>(sum);  // lane l has that of row first + at + l / kLanesEach
    const int turn = lane_index() - at;
    const double mine = __shfl_sync(kAllLanes, result, turn * kLanesEach & (kWarp - 1));
    if (turn >= 0 && turn < kTogether) distance = mine;
  }
  return distance;
}

/// Rows and others, all pairs of which distances_of_grid() measures.
template <class X>
struct DistanceGrid {
  static constexpr int kSide = 4;  // a warp takes kSide x kSide pairs at a time

  const X* values = nullptr;  // (rows, d)
  std::int64_t rows = 0;
  std::int64_t padded = 0;         // rows with those that do not exist, a multiple of kSide or all rows
  const double* others = nullptr;  // (count, d)
  std::int64_t count = 0;
  std::int64_t d = 0;

  /// Items of work, one for a warp at a time.
  __host__ __device__ std::int64_t items() const {
    return (padded + kSide - 1) / kSide * ((count + kSide - 1) / kSide);
  }
};

/// Distances of all pairs, with each loaded value used four times. take(row, other, distance): called by one lane, also
/// for rows that do not exist, with any distance.
template <Measure M = Measure::squared_euclidean, class X, class Take>
__device__ inline void distances_of_grid(const DistanceGrid<X>& grid, const Take& take) {
  constexpr int kSide = DistanceGrid<X>::kSide, kPairLanes = kWarp / (kSide * kSide);
  const int pair = lane_index() / kPairLanes;
  const std::int64_t across = (grid.padded + kSide - 1) / kSide;
  for (std::int64_t item = warp_index(); item < grid.items(); item += warp_count()) {
    const std::int64_t first_row = item % across * kSide, first_other = item / across * kSide;
    const X* x[kSide];
    const double* c[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      x[i] = grid.values + min(first_row + i, grid.rows - 1) * grid.d;
      c[i] = grid.others + min(first_other + i, grid.count - 1) * grid.d;
    }
    double sum[kSide * kSide];
    accumulate_grid<M>(x, c, grid.d, sum);
    const double distance = add_lanes<kSide * kSide, M>(sum);
    const std::int64_t row = first_row + pair / kSide, other = first_other + pair % kSide;
    if (lane_index() % kPairLanes == 0 && row < grid.padded && other < grid.count) take(row, other, distance);
  }
}

/// Distances of `count` pairs, four at a time per warp of the grid. pair(i, x, c): sets the rows (d) of pair i, called
/// by all lanes; take(i, distance): called by one lane.
template <class X, Measure M = Measure::squared_euclidean, class Pair, class Take>
__device__ inline void distances_of_pairs(std::int64_t count, std::int64_t d, const Pair& pair, const Take& take) {
  constexpr int kTogether = 4;
  constexpr int kLanesEach = kWarp / kTogether;
  for (std::int64_t first = warp_index() * kTogether; first < count; first += warp_count() * kTogether) {
    const X* x[kTogether];
    const double* c[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) pair(min(first + i, count - 1), x[i], c[i]);
    double sum[kTogether];
    accumulate_pairs<M, 4>(x, c, d, sum);
    const double distance = add_lanes<kTogether, M>(sum);
    const std::int64_t mine = first + lane_index() / kLanesEach;
    if (lane_index() % kLanesEach == 0 && mine < count) take(mine, distance);
  }
}

}  // namespace kith::cuda
