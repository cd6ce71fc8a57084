// Prepares centroids for the half-precision screen, and bounds its error (docs/contract.md, Screens).
#include "kernels/cuda/half_columns.h"

#include <limits>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr double kMostAccumulation = 0.01;  // beyond this A(d) the bias below would not do

/// A(d) of core/screen.h. A step adds 16 products to the sum, aligned to the largest of the 17 and truncated there, at
/// no less than float32's precision: 17 x 2^-23 of the sum of magnitudes per step of 16. Units that add in two steps of
/// 8 lose 9 x 2^-23 in each, 18 / 16 per column.
double half_accumulation(std::int64_t d) {
  const double steps = (18.0 / 16.0 * static_cast<double>(d) + 36) * 0x1p-23;
  return steps / (1 - std::min(steps, 0.5));
}

struct BoundInput {
  LargestNorms points;
  const Word* centroids;  // (2) bits of the largest squares
  std::int64_t d;
  int exponent;
  double accumulation;
};

struct Bound {
  HalfBound half;
  double bias = 0.0;
};

__device__ Bound bound_of(const BoundInput& in) {
  const LargestNorms centroids{sqrt(__longlong_as_double(static_cast<long long>(in.centroids[0]))),
                               sqrt(__longlong_as_double(static_cast<long long>(in.centroids[1])))};
  const double bias = 1.02 * (in.points.norm + in.points.residual) * (centroids.norm + centroids.residual) + 0x1p-60;
  const double largest_score = centroids.norm * centroids.norm / 2 + 2 * bias;
  int exponent = 0;
  (void)frexp(largest_score, &exponent);
  const bool usable = largest_score < 1e30 && in.accumulation < kMostAccumulation;  // not with a NaN
  Bound bound;
  bound.bias = bias;
  bound.half.margin = screen_margin(centroids, in.d, in.exponent, {0.0, in.accumulation});
  // Two scores, each rounded with its bias, when that is added and when the product is subtracted.
  bound.half.margin.constant += static_cast<float>(2.01 * largest_score * 0x1p-22);
  bound.half.per_residual = static_cast<float>(2.01 * centroids.norm);
  bound.half.top = usable ? static_cast<float>(ldexp(1.0, exponent)) : 1.0F;
  bound.half.coarse = bound.half.top * 0x1.01p-17F;  // two scores, their base and their difference each half a step off
  if (!usable) bound.half.margin.constant = std::numeric_limits<float>::infinity();
  return bound;
}

/// Columns count .. padded - 1 do not exist, and score 10^37.
__global__ void base_kernel(const float* half_norm, std::int64_t count, std::int64_t padded, BoundInput in,
                            HalfBound* bound_out, float* base, float* coarse) {
  constexpr float kNever = 1e37F;
  const Bound bound = bound_of(in);
  const auto bias = static_cast<float>(bound.bias);
  for (std::int64_t c = thread_index(); c < padded; c += thread_count()) {
    const float score = c < count ? __fadd_rn(half_norm[c], bias) : kNever;
    base[base_place(c)] = score;
    coarse[base_place(c)] = c < count ? __fadd_rn(score, 32 * bound.half.top) : kNever;
  }
  if (thread_index() == 0) *bound_out = bound.half;
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
                      half_accumulation(d)};
  base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      out.centroids.half_norm.data(), out.count, padded, in, out.bound.data(), out.score_base.data(),
      out.coarse_base.data());
  check(cudaGetLastError());
}

template void make_half_columns(const HeldRows<float>&, const double*, HalfColumns&);
template void make_half_columns(const HeldRows<double>&, const double*, HalfColumns&);

}  // namespace kith::cuda
