// A warp measures eight rows from four centroids, which reads 1.5 d float64 values a distance instead of 2 d; then a
// warp compares the distances of a row.
#include "kernels/cuda/assign/few_rows.h"

#include "core/kmeans/bounds.h"
#include "kernels/cuda/assign/nearest_column.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

constexpr int kRows = 8, kColumns = 4;  // of a warp at a time
static_assert(kRows * kColumns == kWarp, "a lane receives a distance");

/// distance: (rows, clusters) out.
template <class T>
__global__ void __launch_bounds__(kBlock)
    grid_kernel(const T* values, std::int64_t d, RowChoice rows, const double* centroids, std::int64_t clusters,
                double* distance) {
  const std::int64_t in_row = (clusters + kColumns - 1) / kColumns, tiles = (rows.count + kRows - 1) / kRows * in_row;
  for (std::int64_t tile = warp_index(); tile < tiles; tile += warp_count()) {
    const std::int64_t first = tile / in_row * kRows, column = tile % in_row * kColumns;
    const T* x[kRows];
    const double* c[kColumns];
#pragma unroll
    for (int i = 0; i < kRows; ++i) x[i] = values + std::int64_t{rows.position(min(first + i, rows.count - 1))} * d;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) c[i] = centroids + min(column + i, clusters - 1) * d;
    double sum[kWarp];
    accumulate_grid(x, c, d, sum);
    const double squared = add_lanes<kWarp>(sum);
    const std::int64_t i = first + lane_index() / kColumns, at = column + lane_index() % kColumns;
    if (i < rows.count && at < clusters) distance[i * clusters + at] = squared;
  }
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
  constexpr std::int64_t kMost = std::int64_t{1} << 29;  // multiply-adds
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
  const std::int64_t tiles = (rows.rows.count + kRows - 1) / kRows * ((clusters + kColumns - 1) / kColumns);
  grid_kernel<<<context.grid(tiles, kBlockWarps), kBlock, 0, context.stream>>>(values, held.columns(), rows.rows,
                                                                               centroids, clusters, distance.data());
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
