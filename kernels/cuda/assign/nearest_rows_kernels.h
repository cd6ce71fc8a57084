// The kernels of nearest_rows.cu: pivots, ranges of distances, and passes over the rows that may be nearest.
#pragma once

#include <cstdint>
#include <limits>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Word kNoRow = ~Word{0};

__device__ inline double value_of(Word bits) { return __longlong_as_double(static_cast<long long>(bits)); }
/// A value that other threads lower, read from the second-level cache. An old value only excludes fewer rows.
__device__ inline double current(const Word* bits) { return value_of(__ldcg(bits)); }

__device__ inline void lower(Word* to, Word value) {
  if (value < __ldcg(to)) atomicMin(to, value);
}

/// Distances from one row to those of 32 centroids (.., d) whose bit is set in `chosen`. take(bit, distance): called by
/// one lane for each.
template <class X, class Take>
__device__ inline void measure_chosen(unsigned chosen, const X* row, const double* centroids, std::int64_t d,
                                      const Take& take) {
  constexpr int kTogether = 4;
  constexpr int kLanesEach = kWarp / kTogether;
  const X* x[1] = {row};
  while (chosen != 0) {
    const double* c[kTogether];
    int bit = 0, mine = -1;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (chosen != 0) {
        bit = __ffs(static_cast<int>(chosen)) - 1;
        chosen &= chosen - 1;
        if (lane_index() == i * kLanesEach) mine = bit;
      }
      c[i] = centroids + bit * d;
    }
    double sum[kTogether];
    accumulate_grid(x, c, d, sum);
    const double distance = add_lanes<kTogether>(sum);
    if (mine >= 0) take(mine, distance);
  }
}

/// The smallest D of the rows of each cluster; then the lowest row that has it.
__global__ void own_distance_kernel(const double* distance, const std::int32_t* label, std::int64_t rows, Word* best) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) lower(&best[label[i]], bits_of(distance[i]));
}
__global__ void own_row_kernel(const double* distance, const std::int32_t* label, std::int64_t rows, Word first_row,
                               const Word* best, Word* row) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    if (bits_of(distance[i]) == best[label[i]]) lower(&row[label[i]], first_row + static_cast<Word>(i));
  }
}

/// Centroids, and the nearest row so far of each.
struct Nearest {
  const double* centroids;  // (k, d)
  std::int64_t k, d;
  Word* best;  // (k) bits of D
  Word* row;   // (k)

  __device__ std::int64_t parts() const { return (k + kWarp - 1) / kWarp; }  // groups of centroids, one per lane
};

/// The pivots: per cluster with rows its row nearest to its centroid, by ascending distance.
struct Pivots {
  const double* values;         // (p, d)
  const double* distance;       // (p) D to their own centroids
  const std::int32_t* cluster;  // (p)
  const Word* row;              // (p)
  const std::int32_t* of;       // (k) index of a cluster's pivot; -1: the cluster is empty
};

/// Pivots whose distances to all centroids are on the device.
struct Slab {
  std::int64_t first = 0, count = 0;
  double* apart = nullptr;  // (count, k) lower bound of |pivot - centroid| - |pivot - its own centroid|; +inf: excluded
  double* range = nullptr;  // (count, 2) between them are sqrt(D) and D of the rows that pass for some centroid
};

/// Measures pivots first .. first + count - 1, for the slab if it has memory.
__global__ void pivot_kernel(Pivots pivots, std::int64_t first, std::int64_t count, Nearest nearest, Slab slab,
                             Word* measured) {
  Word total = 0;
  for (std::int64_t item = warp_index(); item < count * nearest.parts(); item += warp_count()) {
    const std::int64_t p = first + item / nearest.parts(), base = item % nearest.parts() * kWarp;
    const std::int64_t c = base + lane_index();
    const double own = pivots.distance[p];
    double* apart = slab.apart == nullptr ? nullptr : slab.apart + (p - slab.first) * nearest.k;
    const bool passes = c < nearest.k && c != pivots.cluster[p] && !(own > current(&nearest.best[c]));
    if (apart != nullptr && c < nearest.k && !passes) apart[c] = kInfinity;
    const unsigned chosen = __ballot_sync(kAllLanes, passes);
    total += static_cast<Word>(__popc(chosen));
    measure_chosen(chosen, pivots.values + p * nearest.d, nearest.centroids + base * nearest.d, nearest.d,
                   [&](int bit, double distance) {
                     lower(&nearest.best[base + bit], bits_of(distance));
                     if (apart == nullptr) return;
                     apart[base + bit] = distance_at_least(distance, nearest.d) - distance_at_most(own, nearest.d);
                   });
  }
  if (lane_index() == 0 && total > 0) atomicAdd(measured, total);
}

/// A warp per pivot: the range of the distances of its rows that pass for some centroid.
__global__ void range_kernel(Nearest nearest, Slab slab) {
  for (std::int64_t p = warp_index(); p < slab.count; p += warp_count()) {
    double lowest = kInfinity, highest = -1.0;
    for (std::int64_t c = lane_index(); c < nearest.k; c += kWarp) {
      const double best = current(&nearest.best[c]), reach = distance_at_most(best, nearest.d);
      const double least = rounded_down(slab.apart[p * nearest.k + c]) - reach;
      if (least > reach) continue;
      lowest = fmin(lowest, least > 0.0 ? least : 0.0);  // 0 for NaN
      highest = fmax(highest, best);
    }
#pragma unroll
    for (int w = kWarp / 2; w > 0; w /= 2) {
      lowest = fmin(lowest, __shfl_xor_sync(kAllLanes, lowest, w));
      highest = fmax(highest, __shfl_xor_sync(kAllLanes, highest, w));
    }
    if (lane_index() == 0) {
      slab.range[2 * p] = lowest;
      slab.range[2 * p + 1] = highest;
    }
  }
}

/// Rows of a block.
struct RowState {
  const double* distance;
  const std::int32_t* label;
  std::int64_t rows;
  Word first_row;  // their numbers
};

/// Lists the rows whose distance is in the range of their pivot.
__global__ void select_kernel(RowState state, Pivots pivots, Slab slab, std::int64_t d, std::int32_t* list,
                              Word* length) {
  for (std::int64_t base = warp_index() * kWarp; base < state.rows; base += warp_count() * kWarp) {
    const std::int64_t i = base + lane_index();
    bool passes = false;
    if (i < state.rows) {
      const std::int64_t p = pivots.of[state.label[i]] - slab.first;
      const double own = state.distance[i];
      passes =
          p >= 0 && p < slab.count && !(own > slab.range[2 * p + 1]) && !(distance_at_most(own, d) < slab.range[2 * p]);
    }
    const Word slot = reserve_slot(passes, length);
    if (passes) list[slot] = static_cast<std::int32_t>(i);
  }
}

enum class Pass { count, distances, rows };

struct RowTask {
  RowState state;
  const std::int32_t* list;  // (count) positions in the block
  std::int64_t count;
  Pivots pivots;
  Slab slab;
  Nearest nearest;
  Word* counted;
};

/// A warp tests a listed row against 32 centroids and measures those that pass. rows: of the block, or the listed ones.
template <class T, Pass P>
__global__ void row_kernel(const __grid_constant__ RowTask task, ChosenRows<T> rows) {
  const Nearest& nearest = task.nearest;
  Word total = 0;
  for (std::int64_t item = warp_index(); item < task.count * nearest.parts(); item += warp_count()) {
    const std::int64_t i = item / nearest.parts(), base = item % nearest.parts() * kWarp;
    const std::int64_t c = base + lane_index(), position = task.list[i];
    const Word row = task.state.first_row + static_cast<Word>(position);
    const double own = task.state.distance[position];
    const std::int64_t p = task.pivots.of[task.state.label[position]];
    bool passes = false;
    if (c < nearest.k) {
      const double best = current(&nearest.best[c]);
      // Only a row with a smaller distance of its own can lower the best; the pivots did so before.
      passes = P == Pass::distances ? !(own >= best) : !(own > best) && row < __ldcg(&nearest.row[c]);
      passes = passes && (P == Pass::rows || row != task.pivots.row[p]);
      if (passes) {
        const double reach = distance_at_most(own, nearest.d) + distance_at_most(best, nearest.d);
        passes = !(rounded_down(task.slab.apart[(p - task.slab.first) * nearest.k + c]) > reach);
      }
    }
    const unsigned chosen = __ballot_sync(kAllLanes, passes);
    total += static_cast<Word>(__popc(chosen));
    if constexpr (P != Pass::count) {
      const T* x = rows.values + (rows.chosen == nullptr ? i : position) * nearest.d;
      measure_chosen(chosen, x, nearest.centroids + base * nearest.d, nearest.d, [&](int bit, double distance) {
        if (P == Pass::distances) lower(&nearest.best[base + bit], bits_of(distance));
        if (P == Pass::rows && bits_of(distance) == __ldcg(&nearest.best[base + bit])) {
          lower(&nearest.row[base + bit], row);
        }
      });
    }
  }
  if (lane_index() == 0 && total > 0) atomicAdd(task.counted, total);
}

/// Resets the nearest row of each centroid whose best D has become smaller.
__global__ void reset_rows_kernel(Nearest nearest, Word* previous) {
  for (std::int64_t c = thread_index(); c < nearest.k; c += thread_count()) {
    if (nearest.best[c] < previous[c]) nearest.row[c] = kNoRow;
    previous[c] = nearest.best[c];
  }
}

}  // namespace
}  // namespace kith::cuda
