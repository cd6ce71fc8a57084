// Prepares centroids for the half-precision screen, and bounds its error (docs/contract.md, Screens).
#include "kernels/cuda/half_columns.h"

#include <limits>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr double kMostAccumulation = 0.01;  // beyond this A(d) the bias below would not do

struct BoundInput {
  LargestNorms points;
  const Word* centroids;  // (2) bits of the largest squares
  std::int64_t d;
  int exponent;
  double accumulation;
};

__device__ HalfBound bound_of(const BoundInput& in) {
  const LargestNorms centroids{sqrt(__longlong_as_double(static_cast<long long>(in.centroids[0]))),
                               sqrt(__longlong_as_double(static_cast<long long>(in.centroids[1])))};
  HalfBound bound;
  bound.margin = screen_margin(centroids, in.d, in.exponent, {0.0, in.accumulation});
  bound.per_residual = static_cast<float>(2.01 * centroids.norm);
  const bool usable = coarse_grid(in.points, centroids, bound.grid) && in.accumulation < kMostAccumulation;
  // Scores off the grid are rounded when the bias is added, and when the product is subtracted.
  bound.margin.constant += bound.grid.top * 0x1.1p-21F;
  if (!usable) bound.margin.constant = std::numeric_limits<float>::infinity();
  return bound;
}

/// Columns count .. padded - 1 do not exist, and score 10^37.
__global__ void base_kernel(const float* half_norm, std::int64_t count, std::int64_t padded, BoundInput in,
                            HalfBound* bound_out, float* base, float* coarse) {
  const HalfBound bound = bound_of(in);
  for (std::int64_t c = thread_index(); c < padded; c += thread_count()) {
    const bool there = c < count;
    base[base_place(c)] = there ? __fadd_rn(half_norm[c], bound.grid.bias) : CoarseGrid::kNever;
    coarse[base_place(c)] = there ? bound.grid.base(half_norm[c]) : CoarseGrid::kNever;
  }
  if (thread_index() == 0) *bound_out = bound;
}

}  // namespace

HalfColumns room_for_half_columns(Pool& pool, std::int64_t count, std::int64_t columns) {
  const std::int64_t padded = row_groups_of(count) * kHalfColumns;
  return {room_for_half_centroids(pool, count, columns), Buffer<float>(pool, padded), Buffer<float>(pool, padded),
          Buffer<HalfBound>(pool, 1), count};
}

template <class T>
void make_half_columns(const HeldRows<T>& held, const double* centroids, HalfColumns& out) {
  const std::int64_t padded = out.score_base.size(), d = held.columns();
  make_half_centroids(held, centroids, out.count, out.centroids);
  const BoundInput in{held.half.largest, out.centroids.largest.data(), d, half_exponent(held.plan.screen),
                      tensor_accumulation(d)};
  base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      out.centroids.half_norm.data(), out.count, padded, in, out.bound.data(), out.score_base.data(),
      out.coarse_base.data());
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T) template void make_half_columns(const HeldRows<T>&, const double*, HalfColumns&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
