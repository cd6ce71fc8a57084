// Decides ambiguous rows of few columns by their distances to the centroids within their limits.
//
// A row costs about as much as a row of the screen, and a float64 distance for each of its few candidates.
#pragma once

#include <climits>
#include <limits>

#include "kernels/cuda/assign/narrow_scores.h"
#include "kernels/cuda/device/count.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {

inline constexpr int kNarrowLanes = 8;  // that share an ambiguous row

template <class T, int D>
struct AmbiguousNarrowRows {
  PointOperand<T> rows;
  const float4* groups;     // (groups, 2 (D + 2))
  const double* centroids;  // (clusters, D)
  int clusters;
  AmbiguousRows ambiguous;
  Count count;
  std::int32_t* nearest;
  Word* distances;  // += number of distances computed
};

/// D by the definition. Its tree needs only as many accumulators as there are columns, since the others are zero.
template <int D>
__device__ double narrow_distance(const double (&x)[D], const double* centroid) {
  constexpr int kWidth = D <= 1 ? 1 : D <= 2 ? 2 : D <= 4 ? 4 : 8;
  static_assert(D <= kWidth);
  double sum[kWidth] = {};
#pragma unroll
  for (int j = 0; j < D; ++j) sum[j] = add_square(x[j], centroid[j], 0.0);
#pragma unroll
  for (int w = kWidth / 2; w > 0; w /= 2) {
#pragma unroll
    for (int j = 0; j < w; ++j) sum[j] = __dadd_rn(sum[j], sum[j + w]);
  }
  return sum[0];
}

/// Eight lanes process a row, and each every eighth group: the definition decides among the centroids within the limit.
template <class T, int D>
__global__ void __launch_bounds__(kBlock)
    decide_narrow_kernel(const __grid_constant__ AmbiguousNarrowRows<T, D> arguments) {
  constexpr int kTogether = kWarp / kNarrowLanes;
  const PointOperand<T>& rows = arguments.rows;
  const int own_lane = lane_index() % kNarrowLanes,
            group_count = (arguments.clusters + kNarrowGroup - 1) / kNarrowGroup;
  const std::int64_t count = arguments.count.get();
  Word distances = 0;
  for (std::int64_t first = warp_index() * kTogether; first < count; first += warp_count() * kTogether) {
    const std::int64_t place = first + lane_index() / kNarrowLanes;
    const bool mine = place < count;
    const std::int32_t row = arguments.ambiguous.row[mine ? place : count - 1];
    const float limit = arguments.ambiguous.limit[mine ? place : count - 1];
    float x[1][D];
    double exact[D];
    load_row(rows, row, x[0]);
#pragma unroll
    for (int j = 0; j < D; ++j) exact[j] = static_cast<double>(rows.values[std::int64_t{row} * D + j]);
    double smallest = std::numeric_limits<double>::infinity();
    int nearest = INT_MAX;
    for (int g = own_lane; g < group_count; g += kNarrowLanes) {
      float score[1][kNarrowGroup];
      score_group<NarrowScores::differences>(arguments.groups + std::int64_t{g} * 2 * (D + 2), x, score);
      unsigned within = 0;
#pragma unroll
      for (int i = 0; i < kNarrowGroup; ++i) within |= score[0][i] > limit ? 0U : 1U << i;
      for (; within != 0; within &= within - 1) {
        const int c = g * kNarrowGroup + __ffs(static_cast<int>(within)) - 1;
        if (c >= arguments.clusters) break;
        const double distance = narrow_distance<D>(exact, arguments.centroids + std::int64_t{c} * D);
        const bool nearer = distance < smallest || nearest == INT_MAX;  // c ascends, so ties keep the lowest
        nearest = nearer ? c : nearest;
        smallest = nearer ? distance : smallest;
        distances += mine ? 1 : 0;
      }
    }
#pragma unroll
    for (int w = kNarrowLanes / 2; w > 0; w /= 2) {
      const double distance = __shfl_xor_sync(kAllLanes, smallest, w);
      const int other = __shfl_xor_sync(kAllLanes, nearest, w);
      const bool nearer = distance < smallest || (distance == smallest && other < nearest);
      smallest = nearer ? distance : smallest;
      nearest = nearer ? other : nearest;
    }
    if (mine && own_lane == 0) arguments.nearest[row] = nearest;
  }
  distances = warp_sum(distances);
  if (lane_index() == 0 && distances > 0) atomicAdd(arguments.distances, distances);
}

}  // namespace kith::cuda
