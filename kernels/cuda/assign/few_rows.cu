// A warp measures four pairs at a time; then a warp compares the distances of a row.
#include "kernels/cuda/assign/few_rows.h"

#include "core/bounds.h"
#include "kernels/cuda/assign/nearest_column.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

/// distance: (rows, clusters) out.
template <class T>
__global__ void pairs_kernel(const T* values, std::int64_t d, RowChoice rows, const double* centroids,
                             std::int64_t clusters, double* distance) {
  distances_of_pairs<T>(
      rows.count * clusters, d,
      [&](std::int64_t i, const T*& x, const double*& c) {
        x = values + std::int64_t{rows.position(i / clusters)} * d;
        c = centroids + i % clusters * d;
      },
      [&](std::int64_t i, double squared) { distance[i] = squared; });
}

/// A warp per row.
__global__ void choose_kernel(PrunedRows rows, std::int64_t clusters, const double* distance, double unit,
                              Word* distances) {
  for (std::int64_t i = warp_index(); i < rows.rows.count; i += warp_count()) {
    NearestColumn<true> nearest;
    for (std::int64_t c = lane_index(); c < clusters; c += kWarp) {
      NearestColumn<true> one;
      one.best = distance[i * clusters + c];
      one.column = static_cast<std::int32_t>(c);
      nearest.merge(one);
    }
#pragma unroll
    for (int w = 1; w < kWarp; w *= 2) nearest.merge_lanes(w);
    if (lane_index() != 0) continue;
    const std::int32_t position = rows.rows.position(i);
    rows.nearest[position] = nearest.column;
    if (rows.bound == nullptr) continue;
    rows.bound[position] =
        lowered_bound(distance_below(nearest.second, unit), distance_above(nearest.best, unit), 0.0F);
  }
  if (thread_index() == 0) atomicAdd(distances, static_cast<Word>(rows.rows.count * clusters));
}

}  // namespace

template <class T>
bool decide_few_rows(const HeldRows<T>& held, const T* values, const double* centroids, std::int64_t clusters,
                     const PrunedRows& rows, Word* distances) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;  // multiply-adds: 0.02 ms on an H100, less than a long walk
  constexpr std::int64_t kMostRows = 512;                // more fill the device with their walks
  const Context& context = *held.context;
  const std::int64_t pairs = rows.rows.count * clusters;
  if (rows.rows.count > kMostRows || pairs * held.columns() > kMost) return false;
  Buffer<double> distance;
  try {
    distance = Buffer<double>(held.pool(), pairs);
  } catch (const OutOfMemory&) {
    return false;
  }
  pairs_kernel<<<context.grid((pairs + 3) / 4, kBlockWarps), kBlock, 0, context.stream>>>(
      values, held.columns(), rows.rows, centroids, clusters, distance.data());
  check(cudaGetLastError());
  choose_kernel<<<context.grid(rows.rows.count, kBlockWarps), kBlock, 0, context.stream>>>(
      rows, clusters, distance.data(), distance_unit(held), distances);
  check(cudaGetLastError());
  return true;
}

#define KITH_INSTANTIATE(T) \
  template bool decide_few_rows(const HeldRows<T>&, const T*, const double*, std::int64_t, const PrunedRows&, Word*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
