// A warp measures four rows against four centers at a time. Per pair it reads 4 d bytes from the caches and does d
// subtractions and multiply-adds.
#include "kernels/cuda/search/center_distances.h"

#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

constexpr int kRows = 4, kCenters = 4;  // of a warp at a time

__global__ void distances_kernel(const double* rows, std::int64_t count, std::int64_t d, const double* center_values,
                                 CenterDistances out) {
  constexpr int kLanesEach = kWarp / (kRows * kCenters);
  const std::int64_t across = (out.centers + kCenters - 1) / kCenters, down = (count + kRows - 1) / kRows;
  for (std::int64_t item = warp_index(); item < across * down; item += warp_count()) {
    const std::int64_t first_row = item / across * kRows, first_center = item % across * kCenters;
    const double *x[kRows], *c[kCenters];
#pragma unroll
    for (int i = 0; i < kRows; ++i) x[i] = rows + min(first_row + i, count - 1) * d;
#pragma unroll
    for (int i = 0; i < kCenters; ++i) c[i] = center_values + min(first_center + i, out.centers - 1) * d;
    double sum[kRows * kCenters];
    accumulate_grid(x, c, d, sum);
    const double squared = add_lanes<kRows * kCenters>(sum);
    const int pair = lane_index() / kLanesEach;
    const std::int64_t row = first_row + pair / kCenters, center = first_center + pair % kCenters;
    if (lane_index() % kLanesEach == 0 && row < count && center < out.centers) {
      out.squared[row * out.centers + center] = squared;
    }
  }
}

}  // namespace

void measure_centers(const Context& context, const double* rows, std::int64_t count, std::int64_t d,
                     const double* centers, const CenterDistances& out) {
  const std::int64_t warps = ((count + kRows - 1) / kRows) * ((out.centers + kCenters - 1) / kCenters);
  distances_kernel<<<context.grid(warps, kBlockWarps), kBlock, 0, context.stream>>>(rows, count, d, centers, out);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
