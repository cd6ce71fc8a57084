// Screens rows of up to eight columns; the centroids are in shared memory, and all threads of a warp read the same one.
//
// Per row and centroid: d multiply-adds, two additions and 2.5 minima, as for KeepTwo of nearest_epilogues.h; both use
// quantized scores. 10^7 x 2 rows and 16 centroids take 0.03 ms of an H200's integer units, and 0.03 ms for 0.12 GB.
// narrow_screen_floats.cu and narrow_screen_bytes.cu instantiate the templates, which take long to compile.
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/screened_value.h"

namespace kith::cuda {

inline constexpr int kNarrowBatch = 512;  // centroids in shared memory
inline constexpr int kNarrowRows = 4;     // of a thread
static_assert(kNarrowBatch % kNumbered == 0);

template <class T>
struct NarrowArguments {
  const T* values;  // (rows, d)
  std::int64_t rows;
  Arithmetic<T> scale;
  const float* center;  // (d)
  ScreenedOperand columns;
  const float* half_sq_norm;  // (k)
  LargestNorms largest;       // of the points
  const Word* centroids;      // (2) bits of the largest squares
  int exponent;
  std::int32_t* nearest;
  AmbiguousRows ambiguous;
};

struct NarrowBound {
  QuantizationGrid grid;
  ScreenMargin margin;  // infinite where scores may leave the range of float32
};

template <class T>
__device__ NarrowBound narrow_bound(const NarrowArguments<T>& in, int d) {
  const LargestNorms centroids{sqrt(__longlong_as_double(static_cast<long long>(in.centroids[0]))),
                               sqrt(__longlong_as_double(static_cast<long long>(in.centroids[1])))};
  NarrowBound bound;
  bound.margin = screen_margin(centroids, d, in.exponent, {0x1p-24, tile_accumulation(d)});
  if (!quantization_grid(in.largest, centroids, bound.grid)) {
    bound.margin.constant = std::numeric_limits<float>::infinity();
  }
  return bound;
}

/// A centroid in shared memory: its values, and the addend of its scores.
template <int D>
struct NarrowColumn {
  float c[D];
  float base;
};

/// |x^|, rounded up.
template <int D>
__device__ float narrow_norm(const float (&x)[D]) {
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < D; ++j) sum = __fmaf_ru(x[j], x[j], sum);
  return __fsqrt_ru(sum);
}

template <class T, int D>
__global__ void __launch_bounds__(kBlock) narrow_kernel(const __grid_constant__ NarrowArguments<T> arguments) {
  __shared__ NarrowColumn<D> batch[kNarrowBatch];
  __shared__ NarrowBound bound;
  const std::int64_t clusters = arguments.columns.rows,
                     step = static_cast<std::int64_t>(gridDim.x) * kBlock * kNarrowRows;
  if (threadIdx.x == 0) bound = narrow_bound(arguments, D);
  __syncthreads();
  const QuantizationGrid& grid = bound.grid;
  const float offset = grid.offset();
  float center[D];
#pragma unroll
  for (int j = 0; j < D; ++j) center[j] = arguments.center[j];

  const auto load_batch = [&](std::int64_t first) {
    __syncthreads();  // all threads have read the batch before
    const int padded =
        static_cast<int>(min((clusters - first + kNumbered - 1) / kNumbered * kNumbered, std::int64_t{kNarrowBatch}));
    for (int i = static_cast<int>(threadIdx.x); i < padded; i += kBlock) {
      const std::int64_t c = first + i;
      const bool exists = c < clusters;
#pragma unroll
      for (int j = 0; j < D; ++j)
        batch[i].c[j] = exists ? arguments.columns.values[c * arguments.columns.pitch + j] : 0.0F;
      batch[i].base = exists ? grid.base(arguments.half_sq_norm[c]) : QuantizationGrid::kNever;
    }
    __syncthreads();
    return padded;
  };
  int loaded = load_batch(0);

  for (std::int64_t first = blockIdx.x * std::int64_t{kBlock} * kNarrowRows; first < arguments.rows; first += step) {
    float x[kNarrowRows][D];
    QuantizedBestTwo kept[kNarrowRows];
    std::int32_t tile[kNarrowRows] = {};
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) {
      const std::int64_t row = min(first + r * kBlock + threadIdx.x, arguments.rows - 1);
#pragma unroll
      for (int j = 0; j < D; ++j) x[r][j] = screened(__ldg(&arguments.values[row * D + j]), arguments.scale, center[j]);
    }
    for (std::int64_t batch_first = 0; batch_first < clusters; batch_first += kNarrowBatch) {
      if (clusters > kNarrowBatch) loaded = load_batch(batch_first);
      for (int base = 0; base < loaded; base += kNumbered) {
        int before[kNarrowRows];
#pragma unroll
        for (int r = 0; r < kNarrowRows; ++r) before[r] = kept[r].best;
#pragma unroll
        for (int i = 0; i < kNumbered; i += 2) {
          const NarrowColumn<D> a = batch[base + i], b = batch[base + i + 1];
#pragma unroll
          for (int r = 0; r < kNarrowRows; ++r) {
            float with_a = __fmul_rn(x[r][0], a.c[0]), with_b = __fmul_rn(x[r][0], b.c[0]);
#pragma unroll
            for (int j = 1; j < D; ++j) {
              with_a = __fmaf_rn(x[r][j], a.c[j], with_a);
              with_b = __fmaf_rn(x[r][j], b.c[j], with_b);
            }
            kept[r].take_pair(quantized_score(a.base, with_a, offset), quantized_score(b.base, with_b, offset), i);
          }
        }
#pragma unroll
        for (int r = 0; r < kNarrowRows; ++r) {
          if (kept[r].best != before[r]) tile[r] = static_cast<std::int32_t>(batch_first) + base;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) {
      const std::int64_t row = first + r * kBlock + threadIdx.x;
      const bool mine = row < arguments.rows;
      const float best = quantized_value(kept[r].best), second = quantized_value(kept[r].second);
      const float margin = __fadd_ru(bound.margin.at(narrow_norm(x[r])), grid.error);
      const bool decided = __fsub_rd(second, best) > margin;
      if (mine) arguments.nearest[row] = tile[r] + quantized_column(kept[r].best);
      const Word place = reserve_slot(mine && !decided, arguments.ambiguous.count);
      if (!mine || decided) continue;
      arguments.ambiguous.row[place] = static_cast<std::int32_t>(row);
      // Without the bias, which the scores of device/tile.h do not have.
      arguments.ambiguous.limit[place] = __fsub_ru(grid.limit(best, margin), grid.bias);
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

template <int D, class T>
void launch_narrow(const HeldRows<T>& held, const NarrowArguments<T>& arguments) {
  if (held.columns() != D) {
    if constexpr (D < kMostNarrowColumns) launch_narrow<D + 1>(held, arguments);
    return;
  }
  const unsigned blocks =
      std::min(held.context->grid(arguments.rows, kBlock * kNarrowRows),
               static_cast<unsigned>(held.context->multiprocessors * resident_blocks(narrow_kernel<T, D>)));
  narrow_kernel<T, D><<<blocks, kBlock, 0, held.stream()>>>(arguments);
  check(cudaGetLastError());
}

template <class T>
void screen_narrow(const HeldRows<T>& held, const Float32Screen& screen, const PointOperand<T>& rows,
                   std::int32_t* nearest, const AmbiguousRows& ambiguous) {
  held.stream().fill(ambiguous.count, 0, 1);
  launch_narrow<1>(
      held, NarrowArguments<T>{rows.values, rows.rows, rows.scale, rows.center, screen.columns(), screen.half_sq_norm(),
                               held.largest, screen.largest(), held.plan.screen.exponent, nearest, ambiguous});
}

}  // namespace kith::cuda
