// Prepares centroids for the fp16 screen, and bounds its error (docs/contract.md, Screens).
#include "kernels/cuda/screen/fp16_columns.h"

#include <cmath>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kBoundThreads = 1024;

struct BoundInput {
  LargestNorms points;  // that are screened
  bool selects;         // columns that cannot be nearest to such points are left out
  double usual_norm;    // |x^| of usual points
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

__device__ ColumnError error_of(const BoundInput& in, float half_sq_norm, float residual) {
  return column_error({length_above(half_sq_norm), residual}, in.d, in.exponent, {0.0, in.accumulation});
}

/// The largest value of a block, in all threads; values are not negative, so they order like their bits.
__device__ double block_largest(double value) {
  __shared__ Word largest;
  __syncthreads();
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  const Word of_warp = warp_max(bits_of(value));
  if (lane_index() == 0) atomicMax(&largest, of_warp);
  __syncthreads();
  return __longlong_as_double(static_cast<long long>(largest));
}
__device__ double block_smallest(double value) { return 1.0 / block_largest(1.0 / value) * (1 - 0x1p-50); }

/// The total of a block of kBoundThreads, in all threads.
__device__ double block_total(double value) {
  __shared__ double parts[kWarp];
  static_assert(kBoundThreads == kWarp * kWarp);
  value = lanes_total(value);
  __syncthreads();
  if (lane_index() == 0) parts[threadIdx.x / kWarp] = value;
  __syncthreads();
  return lanes_total(parts[lane_index()]);
}

/// One block: bounds the errors of all columns. Those that are left out get the fp16 value zero, since theirs may be
/// infinite. A row of length up to X is nearer to the shortest column than to any that is longer than the shortest by
/// more than 2 X (the triangle inequality around the center).
__global__ void __launch_bounds__(kBoundThreads)
    bound_kernel(const float* half_sq_norm, const float* residual, std::int64_t count, BoundInput in, Fp16Layout shape,
                 uint4* values, LoweredBound* out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kMostLowering = 0x1p-8;
  const double points = (in.points.norm + in.points.residual) * (1 + 0x1p-20);
  double longest_column = kInfinity;
  if (in.selects) {
    double shortest = kInfinity;
    for (std::int64_t c = threadIdx.x; c < count; c += blockDim.x)
      shortest = fmin(shortest, length_above(half_sq_norm[c]));
    // 2^-10 of it exceeds the rounding of the definition.
    longest_column = (block_smallest(shortest) * (1 + 0x1p-40) + 2 * points) * (1 + 0x1p-10);
  }
  const double floor = fmax(in.usual_norm, 0x1p-40) / 64;
  LargestNorms columns;
  double slopes = 0.0, kept = 0.0;
  double slope = 0.0, constant = 0.0, slope_by_length = 0.0, constant_by_square = 0.0;
  for (std::int64_t c = threadIdx.x; c < count; c += blockDim.x) {
    const double shortest_length = length_below(half_sq_norm[c]);
    if (shortest_length > longest_column) {
      for (int tile = 0; tile < shape.depth_tiles; ++tile) {
        for (int chunk = 0; chunk < shape.chunks; ++chunk) {
          values[shape.place(slot_of_column(c), tile, chunk)] = uint4{};
        }
      }
      continue;
    }
    const ColumnError error = error_of(in, half_sq_norm[c], residual[c]);
    const double from_floor = shortest_length + floor;
    columns.norm = fmax(columns.norm, length_above(half_sq_norm[c]));
    columns.residual = fmax(columns.residual, static_cast<double>(residual[c]));
    slope = fmax(slope, static_cast<double>(error.slope));
    constant = fmax(constant, static_cast<double>(error.constant));
    slope_by_length = fmax(slope_by_length, error.slope / from_floor);
    constant_by_square = fmax(constant_by_square, error.constant / (from_floor * from_floor));
    slopes += error.slope;
    kept += 1;
  }
  columns.norm = block_largest(columns.norm);
  columns.residual = block_largest(columns.residual);
  slope = block_largest(slope);
  constant = block_largest(constant);
  slope_by_length = block_largest(slope_by_length) * (1 + 0x1p-20);
  constant_by_square = block_largest(constant_by_square) * (1 + 0x1p-20);
  slopes = block_total(slopes);
  kept = block_total(kept);
  if (threadIdx.x != 0) return;

  LoweredBound bound;
  const Fp16Bound uniform = fp16_bound(in.points, columns, in.d, in.exponent, in.accumulation);
  bound.grid = uniform.grid;
  bound.longest = in.selects ? __double2float_rd(in.points.norm) : std::numeric_limits<float>::infinity();
  bound.longest_column = longest_column;
  const double residuals = in.points.residual > 0 ? per_residual_of(in.accumulation) * kUsualResidual : 0.0;
  const double usual = in.usual_norm * (1 + residuals);
  bound.margin = divided_margin({static_cast<float>(slope), static_cast<float>(constant),
                                 __double2float_ru(slope_by_length), __double2float_ru(constant_by_square)},
                                slopes / kept, usual, floor, kMostLowering * bound.grid.bias, bias_rounding(bound.grid),
                                uniform.margin.quadratic, in.accumulation);
  if (!(uniform.margin.constant < 0x1p120F)) bound.margin.constant = std::numeric_limits<float>::infinity();
  *out = bound;
}

struct BaseOutput {
  float *base, *quantized, *part;  // (padded)
  float* group_part;               // (padded / kGroupColumns)
};

/// Columns count .. padded - 1 do not exist; they score 10^37. A warp takes a group of columns.
__global__ void base_kernel(const float* half_sq_norm, const float* residual, std::int64_t count, std::int64_t padded,
                            BoundInput in, const LoweredBound* bound_of_all, BaseOutput out) {
  static_assert(kGroupColumns == kWarp);
  const LoweredBound bound = *bound_of_all;
  for (std::int64_t group = warp_index(); group < padded / kGroupColumns; group += warp_count()) {
    const std::int64_t c = group * kGroupColumns + lane_index();
    const bool exists = c < count && !(length_below(half_sq_norm[c]) > bound.longest_column);
    const float part = exists ? bound.margin.part_of(error_of(in, half_sq_norm[c], residual[c])) : 0.0F;
    const float lowered = exists ? half_sq_norm[c] - part / 2 : 0.0F;
    out.base[base_place(c)] = exists ? __fadd_rn(lowered, bound.grid.bias) : QuantizationGrid::kNever;
    out.quantized[base_place(c)] = exists ? bound.grid.base(lowered) : QuantizationGrid::kNever;
    out.part[c] = part;
    const Word largest = warp_max(Word{__float_as_uint(part)});  // parts are not negative
    if (lane_index() == 0) out.group_part[group] = __uint_as_float(static_cast<unsigned>(largest));
  }
}

}  // namespace

Fp16Columns allocate_fp16_columns(Pool& pool, std::int64_t count, std::int64_t columns) {
  const std::int64_t padded = row_groups_of(count) * kFp16Columns;
  return {allocate_fp16_centroids(pool, count, columns),
          Buffer<float>(pool, padded),
          Buffer<float>(pool, padded),
          Buffer<LoweredBound>(pool, 1),
          count,
          Buffer<float>(pool, padded),
          Buffer<float>(pool, padded / kGroupColumns)};
}

template <class T>
void make_fp16_columns(const HeldRows<T>& held, const double* centroids, Fp16Columns& out) {
  const std::int64_t padded = out.score_base.size(), d = held.columns();
  make_fp16_centroids(held, centroids, out.count, out.centroids);
  const bool selects = std::isfinite(held.fp16.screened.norm);
  const BoundInput in{selects ? held.fp16.screened : held.fp16.largest,
                      selects,
                      held.fp16.usual_norm,
                      d,
                      fp16_exponent(held.plan.screen),
                      tensor_accumulation(d)};
  const float *half_sq_norm = out.centroids.half_sq_norm.data(), *residual = out.centroids.residual.data();
  bound_kernel<<<1, kBoundThreads, 0, held.stream()>>>(half_sq_norm, residual, out.count, in, column_shape(d),
                                                       out.centroids.values.data(), out.bound.data());
  check(cudaGetLastError());
  base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      half_sq_norm, residual, out.count, padded, in, out.bound.data(),
      {out.score_base.data(), out.quantized_base.data(), out.part.data(), out.group_part.data()});
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T) template void make_fp16_columns(const HeldRows<T>&, const double*, Fp16Columns&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
