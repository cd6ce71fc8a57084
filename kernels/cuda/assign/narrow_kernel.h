// Screens rows of up to eight columns; the centroids are in shared memory, and all threads of a warp read the same
// ones.
//
// Per row and centroid: d subtractions, d multiply-adds and one integer operation, since only the smallest score of
// each group of eight centroids is kept. The scores of the best group are computed again. 3 x 10^6 rows of 3 columns
// and 256 centroids take 0.18 ms of an H200's 3 x 10^13 operations per second, and 0.01 ms for 0.05 GB.
// narrow_screen_floats.cu and narrow_screen_bytes.cu instantiate the templates, which take long to compile.
#pragma once

#include <algorithm>
#include <climits>
#include <limits>

#include "core/difference_margin.h"
#include "kernels/cuda/assign/narrow_centroids.h"
#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/screened_value.h"

namespace kith::cuda {

inline constexpr int kNarrowRows = 4;          // of a thread
inline constexpr int kNarrowBatch = 64;        // groups in shared memory, which have numbers
inline constexpr int kNarrowLanes = 8;         // that share an ambiguous row
inline constexpr int kNeverBits = 0x7F61B180;  // below 3e38, with low bits of zero; no score at or above it counts

/// Squared distances are not negative, so their bits order like their values. NaN, which only values beyond float32
/// give, makes the limit of the row infinite.
__device__ inline float score_of(int bits) { return __int_as_float(bits); }

/// A group in memory: column j of its eight centroids is at 2 j and 2 j + 1.
template <int D, int Rows>
__device__ void score_group(const float4* group, const float (&x)[Rows][D], float (&score)[Rows][kNarrowGroup]) {
#pragma unroll
  for (int j = 0; j < D; ++j) {
    const float4 low = group[2 * j], high = group[2 * j + 1];
    const float c[kNarrowGroup] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int i = 0; i < kNarrowGroup; ++i) {
        const float t = __fsub_rn(x[r][j], c[i]);
        score[r][i] = j == 0 ? __fmul_rn(t, t) : __fmaf_rn(t, t, score[r][i]);
      }
    }
  }
}

/// The smallest scores of the two best groups, as bits; the last bits of each are the number of the group.
struct BestGroups {
  int best = kNeverBits, second = kNeverBits;

  __device__ void take(const float (&score)[kNarrowGroup], int number) {
    const auto bits = [&](int i) { return __float_as_int(score[i]); };
    const int smallest = __vimin3_s32(__vimin3_s32(bits(0), bits(1), bits(2)), __vimin3_s32(bits(3), bits(4), bits(5)),
                                      min(bits(6), bits(7)));
    const int marked = (smallest & ~(kNarrowBatch - 1)) | number;
    second = min(second, max(best, marked));
    best = min(best, marked);
  }
};

/// The nearest centroid of a row in the best group, a lower bound of the scores of all others, and the limit that this
/// bound has to exceed.
struct NarrowResult {
  int member;
  float second, limit;
};

/// second: of BestGroups.
template <int D>
__device__ NarrowResult narrow_result(const float4* group, const float (&x)[1][D], int second,
                                      const ScreenMargin& margin) {
  float score[1][kNarrowGroup];
  score_group(group, x, score);
  int best = kNeverBits;
  second &= ~(kNarrowBatch - 1);
#pragma unroll
  for (int i = 0; i < kNarrowGroup; i += 2) {
    const auto marked = [&](int m) { return (__float_as_int(score[0][m]) & ~(kNarrowGroup - 1)) | m; };
    const int a = marked(i), b = marked(i + 1);
    const int above_a = max(best, a);
    best = min(best, a);
    const int above_b = max(best, b);
    best = min(best, b);
    second = __vimin3_s32(second, above_a, above_b);
  }
  float square = 0.0F;
#pragma unroll
  for (int j = 0; j < D; ++j) square = __fmaf_rn(x[0][j], x[0][j], square);
  const float limit = best < kNeverBits ? difference_limit(margin, score_of(best | (kNarrowGroup - 1)), sqrtf(square))
                                        : std::numeric_limits<float>::infinity();
  return {best & (kNarrowGroup - 1), score_of(second & ~(kNarrowGroup - 1)), limit};
}

template <class T, int D>
struct NarrowArguments {
  PointOperand<T> rows;
  const float4* groups;  // (groups, 2 D)
  int group_count;
  ScreenMargin margin;
  std::int32_t* nearest;
  AmbiguousRows ambiguous;
};

template <class T, int D>
__device__ void load_row(const PointOperand<T>& rows, std::int64_t row, const float (&center)[D], float (&x)[D]) {
#pragma unroll
  for (int j = 0; j < D; ++j) x[j] = screened(__ldg(&rows.values[row * D + j]), rows.scale, center[j]);
}

template <class T, int D>
__global__ void __launch_bounds__(kBlock) narrow_kernel(const __grid_constant__ NarrowArguments<T, D> arguments) {
  constexpr int kStride = 2 * D + 1;  // so that threads read different groups from different banks
  __shared__ float4 batch[kNarrowBatch * kStride];
  const PointOperand<T>& rows = arguments.rows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kBlock * kNarrowRows;
  float center[D];
#pragma unroll
  for (int j = 0; j < D; ++j) center[j] = rows.center[j];

  const auto load_batch = [&](int first) {
    __syncthreads();  // all threads have read the batch before
    const int count = min(arguments.group_count - first, kNarrowBatch);
    for (int i = static_cast<int>(threadIdx.x); i < count * 2 * D; i += kBlock) {
      batch[i / (2 * D) * kStride + i % (2 * D)] =
          __ldg(&arguments.groups[static_cast<std::int64_t>(first) * 2 * D + i]);
    }
    __syncthreads();
    return count;
  };
  const bool one_batch = arguments.group_count <= kNarrowBatch;
  int loaded = load_batch(0);

  for (std::int64_t first = blockIdx.x * std::int64_t{kBlock} * kNarrowRows; first < rows.rows; first += step) {
    float x[kNarrowRows][D];
    BestGroups kept[kNarrowRows];
    int base[kNarrowRows] = {};  // the first group of the batch that has the best
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r)
      load_row(rows, min(first + r * kBlock + threadIdx.x, rows.rows - 1), center, x[r]);
    for (int batch_first = 0; batch_first < arguments.group_count; batch_first += kNarrowBatch) {
      if (!one_batch) loaded = load_batch(batch_first);
      int before[kNarrowRows];
#pragma unroll
      for (int r = 0; r < kNarrowRows; ++r) before[r] = kept[r].best;
#pragma unroll 1
      for (int g = 0; g < loaded; ++g) {
        float score[kNarrowRows][kNarrowGroup];
        score_group(&batch[g * kStride], x, score);
#pragma unroll
        for (int r = 0; r < kNarrowRows; ++r) kept[r].take(score[r], g);
      }
#pragma unroll
      for (int r = 0; r < kNarrowRows; ++r) {
        if (kept[r].best != before[r]) base[r] = batch_first;
      }
    }
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) {
      const std::int64_t row = first + r * kBlock + threadIdx.x;
      const int number = kept[r].best & (kNarrowBatch - 1), group = base[r] + number;
      const float4* values = one_batch ? &batch[number * kStride] : arguments.groups + std::int64_t{group} * 2 * D;
      float own[1][D];
#pragma unroll
      for (int j = 0; j < D; ++j) own[0][j] = x[r][j];
      const NarrowResult result = narrow_result(values, own, kept[r].second, arguments.margin);
      const bool mine = row < rows.rows;
      if (mine) arguments.nearest[row] = group * kNarrowGroup + result.member;
      arguments.ambiguous.append(mine && !(result.second > result.limit), row, result.limit);
    }
  }
}

template <class T, int D>
struct AmbiguousNarrowRows {
  PointOperand<T> rows;
  const float4* groups;     // (groups, 2 D)
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
    decide_narrow_kernel(const __grid_constant__ AmbiguousNarrowRows<T, D> arguments) {
  constexpr int kTogether = kWarp / kNarrowLanes;
  const PointOperand<T>& rows = arguments.rows;
  const int own_lane = lane_index() % kNarrowLanes,
            group_count = (arguments.clusters + kNarrowGroup - 1) / kNarrowGroup;
  float center[D];
#pragma unroll
  for (int j = 0; j < D; ++j) center[j] = rows.center[j];
  const std::int64_t count = arguments.count.get();
  Word distances = 0;
  for (std::int64_t first = warp_index() * kTogether; first < count; first += warp_count() * kTogether) {
    const std::int64_t place = first + lane_index() / kNarrowLanes;
    const bool mine = place < count;
    const std::int32_t row = arguments.ambiguous.row[mine ? place : count - 1];
    const float limit = arguments.ambiguous.limit[mine ? place : count - 1];
    float x[1][D];
    double exact[D];
    load_row(rows, row, center, x[0]);
#pragma unroll
    for (int j = 0; j < D; ++j) exact[j] = static_cast<double>(rows.values[std::int64_t{row} * D + j]);
    double smallest = std::numeric_limits<double>::infinity();
    int nearest = INT_MAX;
    for (int g = own_lane; g < group_count; g += kNarrowLanes) {
      float score[1][kNarrowGroup];
      score_group(arguments.groups + std::int64_t{g} * 2 * D, x, score);
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
      groups_(held.pool(), (clusters + kNarrowGroup - 1) / kNarrowGroup * kNarrowGroup * held.columns()),
      counts_(held.pool(), 1 + (held.rows() + held.block_rows - 1) / held.block_rows) {}

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
  ambiguous.count = counts_.data() + 1 + blocks_done_++;
  launch_narrow<1>(held,
                   NarrowBlock<T>{rows, groups_.data(), centroids_, clusters_, ambiguous, nearest, counts_.data()});
}

/// Instantiates the members for points of type T.
#define KITH_INSTANTIATE_NARROW(T)                                       \
  template NarrowScreen::NarrowScreen(const HeldRows<T>&, std::int64_t); \
  template void NarrowScreen::begin(const HeldRows<T>&, const double*);  \
  template void NarrowScreen::assign(const HeldRows<T>&, const PointOperand<T>&, AmbiguousRows, std::int32_t*);

}  // namespace kith::cuda
