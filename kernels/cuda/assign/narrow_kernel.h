// Screens rows of up to eight columns against centroids in shared memory.
//
// All threads of a warp read the same centroids, in groups of eight, and keep the smallest score of each group; those
// of the best group are computed again. Per row and centroid this takes d subtractions, d multiply-adds and one integer
// operation. 3 x 10^6 rows of 3 columns and 256 centroids take 0.2 ms of an H200's 3 x 10^13 operations per second, and
// 0.01 ms for 0.05 GB. From five columns on, a warp begins with products, which need no subtractions, and goes on with
// differences if products certify too little.
// narrow_screen_floats.cu and narrow_screen_bytes.cu instantiate the templates, which take long to compile.
#pragma once

#include <algorithm>

#include "kernels/cuda/assign/narrow_candidates.h"
#include "kernels/cuda/assign/narrow_centroids.h"
#include "kernels/cuda/assign/narrow_scores.h"

namespace kith::cuda {

inline constexpr int kLeastProductColumns = 5;  // with fewer, products save too little

template <class T, int D>
struct NarrowArguments {
  PointOperand<T> rows;
  const float4* groups;  // (groups, 2 (D + 2))
  int group_count;
  const Word* largest;  // (2) of pack_narrow_centroids()
  int exponent;
  ScreenMargin differences;
  std::int32_t* nearest;
  AmbiguousRows ambiguous;
};

/// The margin of products: each score is a chain of multiply-adds that starts with the half squared norm.
template <class T, int D>
__device__ ScreenMargin product_margin(const NarrowArguments<T, D>& in) {
  constexpr double kMarking = 2 * kNarrowBatch * 0x1p-23;  // the numbers of groups and of members
  const LargestNorms centroids{sqrt(__longlong_as_double(static_cast<long long>(in.largest[0]))),
                               sqrt(__longlong_as_double(static_cast<long long>(in.largest[1])))};
  return screen_margin(centroids, D, in.exponent, {0x1p-24, tile_accumulation(D), tile_accumulation(D), kMarking});
}

/// Screens the rows of a thread by products. Stores the results and returns true, unless too many of the warp's rows
/// are ambiguous.
template <class T, int D>
__device__ bool take_products(const NarrowArguments<T, D>& arguments, const ScreenMargin& margin, const float4* batch,
                              int stride, std::int64_t first, const float (&x)[kNarrowRows][D]) {
  constexpr int kMostAmbiguous = kWarp * kNarrowRows / 8;  // as many cost as much as differences for all
  BestGroups<NarrowScores::products> kept[kNarrowRows];
  screen_groups(batch, stride, arguments.group_count, x, kept);
  std::int32_t label[kNarrowRows];
  bool is_ambiguous[kNarrowRows];
  int count = 0;
#pragma unroll
  for (int r = 0; r < kNarrowRows; ++r) {
    float own[1][D];
#pragma unroll
    for (int j = 0; j < D; ++j) own[0][j] = x[r][j];
    const int number = kept[r].number();
    const NarrowResult result = narrow_result<NarrowScores::products>(batch + number * stride, own, kept[r].second);
    label[r] = number * kNarrowGroup + result.member;
    is_ambiguous[r] = first + r * kBlock + threadIdx.x < arguments.rows.rows &&
                      !(__fsub_rd(result.second, result.best) > margin.at(narrow_norm(x[r])));
    count += __popc(__ballot_sync(kAllLanes, is_ambiguous[r]));
  }
  if (count > kMostAmbiguous) return false;
#pragma unroll
  for (int r = 0; r < kNarrowRows; ++r) {
    const std::int64_t row = first + r * kBlock + threadIdx.x;
    if (row < arguments.rows.rows) arguments.nearest[row] = label[r];
    float limit = 0.0F;
    if (is_ambiguous[r]) {
      const auto* values = reinterpret_cast<const float*>(batch + label[r] / kNarrowGroup * stride);
      float difference = 0.0F;
#pragma unroll
      for (int j = 0; j < D; ++j) {
        const float t = __fsub_rn(x[r][j], values[(1 + j) * kNarrowGroup + label[r] % kNarrowGroup]);
        difference = __fmaf_rn(t, t, difference);
      }
      limit = candidate_limit(arguments.differences, difference, narrow_norm(x[r]));
    }
    arguments.ambiguous.append(is_ambiguous[r], row, limit);
  }
  return true;
}

template <class T, int D>
__global__ void __launch_bounds__(kBlock, D <= 3 ? 3 : 2)
    narrow_kernel(const __grid_constant__ NarrowArguments<T, D> arguments) {
  constexpr int kSize = 2 * (D + 2), kStride = kSize + 1;  // so that threads read different groups from different banks
  __shared__ float4 batch[kNarrowBatch * kStride];
  __shared__ ScreenMargin product;
  const PointOperand<T>& rows = arguments.rows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kBlock * kNarrowRows;
  const bool one_batch = arguments.group_count <= kNarrowBatch;
  bool products = D >= kLeastProductColumns && one_batch;  // the same in all threads of a warp
  if (products && threadIdx.x == 0) product = product_margin(arguments);

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
    if constexpr (D >= kLeastProductColumns) {
      products = products && take_products(arguments, product, batch, kStride, first, x);
      if (products) continue;
    }
    BestGroups<NarrowScores::differences> kept[kNarrowRows];
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
      const NarrowResult result = narrow_result<NarrowScores::differences>(values, own, kept[r].second);
      const float limit = candidate_limit(arguments.differences, result.best, narrow_norm(x[r]));
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
  const Word* largest;
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
      {block.rows, groups, group_count, block.largest, held.plan.screen.exponent, difference_margin(D, 1, 0),
       block.nearest, block.ambiguous});
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
      groups_(held.pool(), (clusters + kNarrowGroup - 1) / kNarrowGroup * kNarrowGroup * (held.columns() + 2)),
      counts_(held.pool(), kCountsBeforeBlocks + (held.rows() + held.block_rows - 1) / held.block_rows) {}

template <class T>
void NarrowScreen::begin(const HeldRows<T>& held, const double* centroids) {
  centroids_ = centroids;
  blocks_done_ = 0;
  held.stream().fill(counts_.data(), 0, counts_.size());
  pack_narrow_centroids(*held.context, centroids, clusters_, held.columns(), power_of_two(-held.plan.screen.exponent),
                        held.center.data(), groups_.data(), counts_.data() + 1);
}

template <class T>
void NarrowScreen::assign(const HeldRows<T>& held, const PointOperand<T>& rows, AmbiguousRows ambiguous,
                          std::int32_t* nearest) {
  ambiguous.count = counts_.data() + kCountsBeforeBlocks + blocks_done_++;
  launch_narrow<1>(held, NarrowBlock<T>{rows, groups_.data(), counts_.data() + 1, centroids_, clusters_, ambiguous,
                                        nearest, counts_.data()});
}

/// Instantiates the members for points of type T.
#define KITH_INSTANTIATE_NARROW(T)                                       \
  template NarrowScreen::NarrowScreen(const HeldRows<T>&, std::int64_t); \
  template void NarrowScreen::begin(const HeldRows<T>&, const double*);  \
  template void NarrowScreen::assign(const HeldRows<T>&, const PointOperand<T>&, AmbiguousRows, std::int32_t*);

}  // namespace kith::cuda
