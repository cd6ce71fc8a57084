// Prepares centroids for the half-precision screen, and bounds its error (docs/contract.md, Screens).
#include "kernels/cuda/screen/fp16_columns.h"

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

struct BoundInput {
  LargestNorms points;
  const Word* centroids;  // (2) bits of the largest squares
  std::int64_t d;
  int exponent;
  double accumulation;
};

__device__ Fp16Bound bound_of(const BoundInput& in) {
  const LargestNorms centroids{sqrt(__longlong_as_double(static_cast<long long>(in.centroids[0]))),
                               sqrt(__longlong_as_double(static_cast<long long>(in.centroids[1])))};
  return fp16_bound(in.points, centroids, in.d, in.exponent, in.accumulation);
}

/// Columns count .. padded - 1 do not exist; they score 10^37.
__global__ void base_kernel(const float* half_sq_norm, std::int64_t count, std::int64_t padded, BoundInput in,
                            Fp16Bound* bound_out, float* base, float* quantized) {
  const Fp16Bound bound = bound_of(in);
  for (std::int64_t c = thread_index(); c < padded; c += thread_count()) {
    const bool exists = c < count;
    base[base_place(c)] = exists ? __fadd_rn(half_sq_norm[c], bound.grid.bias) : QuantizationGrid::kNever;
    quantized[base_place(c)] = exists ? bound.grid.base(half_sq_norm[c]) : QuantizationGrid::kNever;
  }
  if (thread_index() == 0) *bound_out = bound;
}

}  // namespace

Fp16Columns allocate_fp16_columns(Pool& pool, std::int64_t count, std::int64_t columns) {
  const std::int64_t padded = row_groups_of(count) * kFp16Columns;
  return {allocate_fp16_centroids(pool, count, columns), Buffer<float>(pool, padded), Buffer<float>(pool, padded),
          Buffer<Fp16Bound>(pool, 1), count};
}

template <class T>
void make_fp16_columns(const HeldRows<T>& held, const double* centroids, Fp16Columns& out) {
  const std::int64_t padded = out.score_base.size(), d = held.columns();
  make_fp16_centroids(held, centroids, out.count, out.centroids);
  const BoundInput in{held.fp16.largest, out.centroids.largest.data(), d, fp16_exponent(held.plan.screen),
                      tensor_accumulation(d)};
  base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      out.centroids.half_sq_norm.data(), out.count, padded, in, out.bound.data(), out.score_base.data(),
      out.quantized_base.data());
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T) template void make_fp16_columns(const HeldRows<T>&, const double*, Fp16Columns&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
