// Screens rows of up to eight columns against centroids in shared memory.
//
// All threads of a warp read the same centroids, in groups of eight, and keep the smallest score of each group; those
// of the best group are computed again. Per row and centroid this takes d subtractions, d multiply-adds and one integer
// operation. 3 x 10^6 rows of 3 columns and 256 centroids take 0.2 ms of an H200's 3 x 10^13 operations per second, and
// 0.01 ms for 0.05 GB.
// narrow_screen.cu and narrow_screen_bytes.cu instantiate the templates, which take long to compile.
#pragma once

#include <algorithm>
#include <climits>
#include <limits>

#include "core/numbers/screen.h"
#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"

namespace kith::cuda {

// Scores of rows of few columns against groups of centroids, |x^ - c^|^2, and the best of each row.

inline constexpr int kNarrowRows = 4;          // of a thread
inline constexpr int kNarrowBatch = 64;        // groups in shared memory, which have numbers
inline constexpr int kNeverBits = 0x7F61B180;  // just below kNarrowAbsent, with low bits of zero; no score is above it

template <class T, int D>
__device__ void load_row(const PointOperand<T>& rows, std::int64_t row, float (&x)[D]) {
#pragma unroll
  for (int j = 0; j < D; ++j) x[j] = screened(__ldg(&rows.values[row * D + j]), rows.scale, __ldg(&rows.center[j]));
}

/// The score of each centroid of a group. The group has rows of eight values: first terms, then D columns.
template <int D, int Rows>
__device__ void score_group(const float4* group, const float (&x)[Rows][D], float (&score)[Rows][kNarrowGroup]) {
  const auto load = [&](int row, float(&values)[kNarrowGroup]) {
    const float4 low = group[2 * row], high = group[2 * row + 1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
  };
  float first[kNarrowGroup];
  load(0, first);
#pragma unroll
  for (int j = 0; j < D; ++j) {
    float c[kNarrowGroup];
    load(1 + j, c);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int i = 0; i < kNarrowGroup; ++i) {
        const float before = j == 0 ? first[i] : score[r][i];
        const float t = __fsub_rn(x[r][j], c[i]);
        score[r][i] = __fmaf_rn(t, t, before);
      }
    }
  }
}

/// Minima and maxima of scores: floats that are not negative order like their bits, of which a minimum of three is one
/// operation.
__device__ inline float smaller(float a, float b) { return __int_as_float(min(__float_as_int(a), __float_as_int(b))); }
__device__ inline float larger(float a, float b) { return __int_as_float(max(__float_as_int(a), __float_as_int(b))); }
__device__ inline float smallest(float a, float b, float c) {
  return __int_as_float(__vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
}

/// A score whose low bits, of which `mask` has all, are replaced by a number.
__device__ inline float marked(float score, int mask, int number) {
  return __int_as_float((__float_as_int(score) & ~mask) | number);
}
__device__ inline int number_of(float score, int mask) { return __float_as_int(score) & mask; }
__device__ inline float never() { return __int_as_float(kNeverBits); }

/// The smallest scores of the two best groups, with the numbers of the groups.
struct BestGroups {
  float best = never(), second = never();

  __device__ void take(const float (&score)[kNarrowGroup], int number) {
    const float low = smallest(smallest(score[0], score[1], score[2]), smallest(score[3], score[4], score[5]),
                               smaller(score[6], score[7]));
    const float own = marked(low, kNarrowBatch - 1, number);
    second = smaller(second, larger(best, own));
    best = smaller(best, own);
  }
  __device__ int number() const { return number_of(best, kNarrowBatch - 1); }
};

template <int D>
__device__ void screen_groups(const float4* batch, int stride, int count, const float (&x)[kNarrowRows][D],
                              BestGroups (&kept)[kNarrowRows]) {
#pragma unroll 1
  for (int g = 0; g < count; ++g) {
    float score[kNarrowRows][kNarrowGroup];
    score_group(batch + g * stride, x, score);
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) kept[r].take(score[r], g);
  }
}

/// The smallest score of a row, of centroid `member` of the best group, and the smallest of all others. Differences:
/// best is at least and second at most what the screen computed.
struct NarrowResult {
  int member;
  float best, second;
};

/// second: of BestGroups.
template <int D>
__device__ NarrowResult narrow_result(const float4* group, const float (&x)[1][D], float second) {
  constexpr int kMembers = kNarrowGroup - 1;
  float score[1][kNarrowGroup];
  score_group(group, x, score);
  float best = never();
  second = marked(second, kNarrowBatch - 1, 0);
#pragma unroll
  for (int i = 0; i < kNarrowGroup; i += 2) {
    const float a = marked(score[0][i], kMembers, i), b = marked(score[0][i + 1], kMembers, i + 1);
    const float above_a = larger(best, a);
    best = smaller(best, a);
    const float above_b = larger(best, b);
    best = smaller(best, b);
    second = smallest(second, above_a, above_b);
  }
  return {number_of(best, kMembers), marked(best, kMembers, kMembers), marked(second, kMembers, 0)};
}

/// |x^|, rounded; infinite if a value is.
template <int D>
__device__ float narrow_norm(const float (&x)[D]) {
  float square = 0.0F;
#pragma unroll
  for (int j = 0; j < D; ++j) square = __fmaf_rn(x[j], x[j], square);
  return sqrtf(square);
}

/// The limit of the candidates of a row with this difference. Infinite where differences may leave the range of
/// float32.
__device__ inline float candidate_limit(const ScreenMargin& margin, float difference, float norm) {
  return difference < never() ? difference_limit(margin, difference, norm) : std::numeric_limits<float>::infinity();
}

// Decides ambiguous rows of few columns by their distances to the centroids within their limits.
//
// A row costs about as much as a row of the screen, and a float64 distance for each of its few candidates.

inline constexpr int kNarrowLanes = 8;  // that share an ambiguous row

template <class T, int D>
struct NarrowRefinement {
  PointOperand<T> rows;
  const float4* groups;     // (groups, 2 (D + 1))
  const double* centroids;  // (clusters, D)
  int clusters;
  AmbiguousRows ambiguous;
  Count count;
  std::int32_t* nearest;
  Word* distances;  // += number of distances computed
};

/// D by the definition. Its tree needs only as many accumulators as there are columns, since the others are zero.
template <int D>
__device__ double narrow_distance(const double (&x)[D], const double* centroid) {
  constexpr int kWidth = D <= 1 ? 1 : D <= 2 ? 2 : D <= 4 ? 4 : 8;
  static_assert(D <= kWidth);
  double sum[kWidth] = {};
#pragma unroll
  for (int j = 0; j < D; ++j) sum[j] = add_square(x[j], centroid[j], 0.0);
#pragma unroll
  for (int w = kWidth / 2; w > 0; w /= 2) {
#pragma unroll
    for (int j = 0; j < w; ++j) sum[j] = __dadd_rn(sum[j], sum[j + w]);
  }
  return sum[0];
}

/// Eight lanes process a row, and each every eighth group: the definition decides among the centroids within the limit.
template <class T, int D>
__global__ void __launch_bounds__(kBlock)
    decide_narrow_kernel(const __grid_constant__ NarrowRefinement<T, D> arguments) {
  constexpr int kTogether = kWarp / kNarrowLanes;
  const PointOperand<T>& rows = arguments.rows;
  const int own_lane = lane_index() % kNarrowLanes,
            group_count = (arguments.clusters + kNarrowGroup - 1) / kNarrowGroup;
  const std::int64_t count = arguments.count.get();
  Word distances = 0;
  for (std::int64_t first = warp_index() * kTogether; first < count; first += warp_count() * kTogether) {
    const std::int64_t place = first + lane_index() / kNarrowLanes;
    const bool mine = place < count;
    const std::int32_t row = arguments.ambiguous.row[mine ? place : count - 1];
    const float limit = arguments.ambiguous.limit[mine ? place : count - 1];
    float x[1][D];
    double exact[D];
    load_row(rows, row, x[0]);
#pragma unroll
    for (int j = 0; j < D; ++j) exact[j] = static_cast<double>(rows.values[std::int64_t{row} * D + j]);
    double smallest = std::numeric_limits<double>::infinity();
    int nearest = INT_MAX;
    for (int g = own_lane; g < group_count; g += kNarrowLanes) {
      float score[1][kNarrowGroup];
      score_group(arguments.groups + std::int64_t{g} * 2 * (D + 1), x, score);
      unsigned within = 0;
#pragma unroll
      for (int i = 0; i < kNarrowGroup; ++i) within |= score[0][i] > limit ? 0U : 1U << i;
      for (; within != 0; within &= within - 1) {
        const int c = g * kNarrowGroup + __ffs(static_cast<int>(within)) - 1;
        if (c >= arguments.clusters) break;
        const double distance = narrow_distance<D>(exact, arguments.centroids + std::int64_t{c} * D);
        const bool nearer = distance < smallest || nearest == INT_MAX;  // c ascends, so ties keep the lowest
        nearest = nearer ? c : nearest;
        smallest = nearer ? distance : smallest;
        distances += mine ? 1 : 0;
      }
    }
#pragma unroll
    for (int w = kNarrowLanes / 2; w > 0; w /= 2) {
      const double distance = __shfl_xor_sync(kAllLanes, smallest, w);
      const int other = __shfl_xor_sync(kAllLanes, nearest, w);
      const bool nearer = distance < smallest || (distance == smallest && other < nearest);
      smallest = nearer ? distance : smallest;
      nearest = nearer ? other : nearest;
    }
    if (mine && own_lane == 0) arguments.nearest[row] = nearest;
  }
  distances = warp_sum(distances);
  if (lane_index() == 0 && distances > 0) atomicAdd(arguments.distances, distances);
}

template <class T, int D>
struct NarrowArguments {
  PointOperand<T> rows;
  const float4* groups;  // (groups, 2 (D + 1))
  int group_count;
  ScreenMargin margin;
  std::int32_t* nearest;
  AmbiguousRows ambiguous;
};

template <class T, int D>
__global__ void __launch_bounds__(kBlock, D <= 3 ? 3 : 2)
    narrow_kernel(const __grid_constant__ NarrowArguments<T, D> arguments) {
  constexpr int kSize = 2 * (D + 1), kStride = kSize + 1;  // so that threads read different groups from different banks
  __shared__ float4 batch[kNarrowBatch * kStride];
  const PointOperand<T>& rows = arguments.rows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kBlock * kNarrowRows;
  const bool one_batch = arguments.group_count <= kNarrowBatch;

  const auto load_batch = [&](int first) {
    __syncthreads();  // all threads have read the batch before
    const int count = min(arguments.group_count - first, kNarrowBatch);
    for (int i = static_cast<int>(threadIdx.x); i < count * kSize; i += kBlock) {
      batch[i / kSize * kStride + i % kSize] = __ldg(&arguments.groups[static_cast<std::int64_t>(first) * kSize + i]);
    }
    __syncthreads();
    return count;
  };
  int loaded = load_batch(0);

  for (std::int64_t first = blockIdx.x * std::int64_t{kBlock} * kNarrowRows; first < rows.rows; first += step) {
    float x[kNarrowRows][D];
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) load_row(rows, min(first + r * kBlock + threadIdx.x, rows.rows - 1), x[r]);
    BestGroups kept[kNarrowRows];
    int base[kNarrowRows] = {};  // the first group of the batch that has the best
    for (int batch_first = 0; batch_first < arguments.group_count; batch_first += kNarrowBatch) {
      if (!one_batch) loaded = load_batch(batch_first);
      float before[kNarrowRows];
#pragma unroll
      for (int r = 0; r < kNarrowRows; ++r) before[r] = kept[r].best;
      screen_groups(batch, kStride, loaded, x, kept);
#pragma unroll
      for (int r = 0; r < kNarrowRows; ++r) {
        if (__float_as_int(kept[r].best) != __float_as_int(before[r])) base[r] = batch_first;
      }
    }
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) {
      const std::int64_t row = first + r * kBlock + threadIdx.x;
      const int number = kept[r].number(), group = base[r] + number;
      const float4* values = one_batch ? &batch[number * kStride] : arguments.groups + std::int64_t{group} * kSize;
      float own[1][D];
#pragma unroll
      for (int j = 0; j < D; ++j) own[0][j] = x[r][j];
      const NarrowResult result = narrow_result(values, own, kept[r].second);
      const float limit = candidate_limit(arguments.margin, result.best, narrow_norm(x[r]));
      const bool mine = row < rows.rows;
      if (mine) arguments.nearest[row] = group * kNarrowGroup + result.member;
      arguments.ambiguous.append(mine && !(result.second > limit), row, limit);
    }
  }
}

/// Resident blocks of a multiprocessor. More blocks would only repeat the loads of the centroids.
template <class Kernel>
int resident_blocks(Kernel kernel) {
  int blocks = 1;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kBlock, 0));
  return std::max(blocks, 1);
}

/// What both kernels take.
template <class T>
struct NarrowBlock {
  PointOperand<T> rows;
  const float* groups;
  const double* centroids;
  std::int64_t clusters;
  AmbiguousRows ambiguous;
  std::int32_t* nearest;
  Word* distances;
};

template <int D, class T>
void launch_narrow(const HeldRows<T>& held, const NarrowBlock<T>& block) {
  if (held.columns() != D) {
    if constexpr (D < kMostNarrowColumns) launch_narrow<D + 1>(held, block);
    return;
  }
  const auto* groups = reinterpret_cast<const float4*>(block.groups);
  const auto group_count = static_cast<int>((block.clusters + kNarrowGroup - 1) / kNarrowGroup);
  const auto blocks = [&](std::int64_t rows_of_block, int resident) {
    return std::min(held.context->grid(block.rows.rows, rows_of_block),
                    static_cast<unsigned>(held.context->multiprocessors * resident));
  };
  narrow_kernel<T, D><<<blocks(kBlock * kNarrowRows, resident_blocks(narrow_kernel<T, D>)), kBlock, 0, held.stream()>>>(
      {block.rows, groups, group_count, difference_margin(D, 1, 0), block.nearest, block.ambiguous});
  check(cudaGetLastError());
  constexpr int kMostBlocks = 4;  // of a multiprocessor: few rows are ambiguous, unless they tie
  decide_narrow_kernel<T, D><<<blocks(kBlock / kNarrowLanes, kMostBlocks), kBlock, 0, held.stream()>>>(
      {block.rows,
       groups,
       block.centroids,
       static_cast<int>(block.clusters),
       block.ambiguous,
       {block.rows.rows, block.ambiguous.count},
       block.nearest,
       block.distances});
  check(cudaGetLastError());
}

template <class T>
NarrowScreen::NarrowScreen(const HeldRows<T>& held, std::int64_t clusters)
    : clusters_(clusters),
      groups_(held.pool(), (clusters + kNarrowGroup - 1) / kNarrowGroup * kNarrowGroup * (held.columns() + 1)),
      counts_(held.pool(), kCountsBeforeBlocks + (held.rows() + held.block_rows - 1) / held.block_rows) {}

template <class T>
void NarrowScreen::begin(const HeldRows<T>& held, const double* centroids) {
  centroids_ = centroids;
  blocks_done_ = 0;
  held.stream().fill(counts_.data(), 0, counts_.size());
  pack_narrow_centroids(*held.context, centroids, clusters_, held.columns(), power_of_two(-held.plan.screen.exponent),
                        held.center.data(), groups_.data());
}

template <class T>
void NarrowScreen::assign(const HeldRows<T>& held, const PointOperand<T>& rows, AmbiguousRows ambiguous,
                          std::int32_t* nearest) {
  ambiguous.count = counts_.data() + kCountsBeforeBlocks + blocks_done_++;
  launch_narrow<1>(held,
                   NarrowBlock<T>{rows, groups_.data(), centroids_, clusters_, ambiguous, nearest, counts_.data()});
}

/// Instantiates the members for points of type T.
#define KITH_INSTANTIATE_NARROW(T)                                       \
  template NarrowScreen::NarrowScreen(const HeldRows<T>&, std::int64_t); \
  template void NarrowScreen::begin(const HeldRows<T>&, const double*);  \
  template void NarrowScreen::assign(const HeldRows<T>&, const PointOperand<T>&, AmbiguousRows, std::int32_t*);

}  // namespace kith::cuda
