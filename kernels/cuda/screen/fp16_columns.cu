// Prepares centroids for the fp16 screen, and bounds its error (docs/contract.md, Screens).
#include "kernels/cuda/screen/fp16_columns.h"

#include <cmath>
#include <limits>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

/// The columns that are screened beside long rows. A row of length up to X is nearer to the shortest column than to any
/// that is longer than the shortest by more than 2 X (the triangle inequality around the center).
struct Selection {
  double norm, residual;  // the largest of the columns that are screened
  double longest;         // lengths above it are left out
  double shortest_out;    // a lower bound of the lengths that are left out; infinite: none
};
static_assert(sizeof(Selection) == 4 * sizeof(double));

struct BoundInput {
  LargestNorms points;         // that are screened
  const Word* centroids;       // (2) bits of the largest squares
  const Selection* selection;  // null: no column is left out
  std::int64_t d;
  int exponent;
  double accumulation;
};

/// Bounds of |c'| from float(|c'|^2 / 2), which is infinite if a value is beyond the range of fp16.
__device__ double length_below(float half_sq_norm) {
  constexpr double kLargestFp16 = 65504.0;
  return half_sq_norm < 0x1p126F ? sqrt(2.0 * half_sq_norm) * (1 - 0x1p-20) : kLargestFp16;
}
__device__ double length_above(float half_sq_norm) { return sqrt(2.0 * half_sq_norm) * (1 + 0x1p-20) + 0x1p-60; }

__device__ bool is_left_out(const Selection* selection, float half_sq_norm) {
  return selection != nullptr && length_below(half_sq_norm) > selection->longest;
}

/// Non-negative numbers order like their bits.
__device__ double block_extreme(double value, bool largest) {
  __shared__ Word extreme;
  __syncthreads();
  if (threadIdx.x == 0) extreme = largest ? 0 : ~Word{0};
  __syncthreads();
  if (largest) {
    atomicMax(&extreme, bits_of(value));
  } else {
    atomicMin(&extreme, bits_of(value));
  }
  __syncthreads();
  return __longlong_as_double(static_cast<long long>(extreme));
}

/// One block: selects the columns, and sets the fp16 values of the others to zero, since they may be infinite.
/// longest: the largest |x'| of the rows that are screened.
__global__ void select_kernel(const float* half_sq_norm, const float* residual, std::int64_t count, double longest,
                              Fp16Layout shape, uint4* values, Selection* out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double shortest = kInfinity;
  for (std::int64_t c = threadIdx.x; c < count; c += blockDim.x)
    shortest = fmin(shortest, length_above(half_sq_norm[c]));
  shortest = block_extreme(shortest, false);
  // 2^-10 of it exceeds the rounding of the definition.
  Selection selection{0.0, 0.0, (shortest + 2 * longest) * (1 + 0x1p-10), kInfinity};
  for (std::int64_t c = threadIdx.x; c < count; c += blockDim.x) {
    const float h = half_sq_norm[c];
    if (is_left_out(&selection, h)) {
      selection.shortest_out = fmin(selection.shortest_out, length_below(h));
      for (int tile = 0; tile < shape.depth_tiles; ++tile) {
        for (int chunk = 0; chunk < shape.chunks; ++chunk) {
          values[shape.place(slot_of_column(c), tile, chunk)] = uint4{};
        }
      }
      continue;
    }
    selection.norm = fmax(selection.norm, length_above(h));
    selection.residual = fmax(selection.residual, static_cast<double>(residual[c]));
  }
  selection.norm = block_extreme(selection.norm, true);
  selection.residual = block_extreme(selection.residual, true);
  selection.shortest_out = block_extreme(selection.shortest_out, false);
  if (threadIdx.x == 0) *out = selection;
}

__device__ Fp16Bound bound_of(const BoundInput& in) {
  if (in.selection == nullptr) {
    const LargestNorms centroids{sqrt(__longlong_as_double(static_cast<long long>(in.centroids[0]))),
                                 sqrt(__longlong_as_double(static_cast<long long>(in.centroids[1])))};
    return fp16_bound(in.points, centroids, in.d, in.exponent, in.accumulation);
  }
  const Selection& selection = *in.selection;
  Fp16Bound bound = fp16_bound(in.points, {selection.norm, selection.residual}, in.d, in.exponent, in.accumulation);
  bound.longest = __double2float_rd(in.points.norm);
  const double length = selection.shortest_out, points = in.points.norm + in.points.residual;
  if (length < 0x1p60) {
    // |c'|^2 / 2 - |x'| |c'| increases with |c'| above |x'|.
    const double score = length * (length / 2 - points) * (1 - 0x1p-10);
    bound.left_out = fminf(bound.left_out, __fadd_rd(__double2float_rd(score), bound.grid.bias));
  }
  return bound;
}

/// Columns count .. padded - 1 do not exist; they score 10^37.
__global__ void base_kernel(const float* half_sq_norm, std::int64_t count, std::int64_t padded, BoundInput in,
                            Fp16Bound* bound_out, float* base, float* quantized) {
  const Fp16Bound bound = bound_of(in);
  for (std::int64_t c = thread_index(); c < padded; c += thread_count()) {
    const bool exists = c < count && !is_left_out(in.selection, half_sq_norm[c]);
    base[base_place(c)] = exists ? __fadd_rn(half_sq_norm[c], bound.grid.bias) : QuantizationGrid::kNever;
    quantized[base_place(c)] = exists ? bound.grid.base(half_sq_norm[c]) : QuantizationGrid::kNever;
  }
  if (thread_index() == 0) *bound_out = bound;
}

}  // namespace

Fp16Columns allocate_fp16_columns(Pool& pool, std::int64_t count, std::int64_t columns) {
  const std::int64_t padded = row_groups_of(count) * kFp16Columns;
  return {allocate_fp16_centroids(pool, count, columns),
          Buffer<float>(pool, padded),
          Buffer<float>(pool, padded),
          Buffer<Fp16Bound>(pool, 1),
          count,
          Buffer<double>(pool, sizeof(Selection) / sizeof(double))};
}

template <class T>
void make_fp16_columns(const HeldRows<T>& held, const double* centroids, Fp16Columns& out) {
  const std::int64_t padded = out.score_base.size(), d = held.columns();
  make_fp16_centroids(held, centroids, out.count, out.centroids);
  const LargestNorms& screened = held.fp16.screened;
  const bool selects = std::isfinite(screened.norm);
  auto* selection = selects ? reinterpret_cast<Selection*>(out.selection.data()) : nullptr;
  if (selects) {
    constexpr int kThreads = 1024;
    select_kernel<<<1, kThreads, 0, held.stream()>>>(out.centroids.half_sq_norm.data(), out.centroids.residual.data(),
                                                     out.count, (screened.norm + screened.residual) * (1 + 0x1p-20),
                                                     column_shape(d), out.centroids.values.data(), selection);
    check(cudaGetLastError());
  }
  const BoundInput in{selects ? screened : held.fp16.largest, out.centroids.largest.data(), selection, d,
                      fp16_exponent(held.plan.screen),        tensor_accumulation(d)};
  base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      out.centroids.half_sq_norm.data(), out.count, padded, in, out.bound.data(), out.score_base.data(),
      out.quantized_base.data());
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T) template void make_fp16_columns(const HeldRows<T>&, const double*, Fp16Columns&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
