// Assignment of rows by the definition in the kernels for small problems: the task, the shared memory of a block, and
// the two forms of rows, one per thread and four per warp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/assign/iterate.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {

inline constexpr int kMostThreadColumns = 16;  // of rows of which a thread has a whole one

/// The rows to label.
template <class T>
struct SmallRows {
  const T* values;  // (rows, d)
  std::int64_t rows, d;
  int clusters;
  std::int32_t* label;   // (rows)
  std::int32_t* summed;  // (rows)
};

/// The result of a launch.
struct Outcome {
  std::int64_t iterations;  // that are complete
  bool unfinished;          // the next one stopped since a cluster became empty
  bool converged;           // the last iteration changed no bit of the centroids
};

template <class T>
struct SmallTask : SmallRows<T> {
  double* centroids;  // (k, d)
  SumGrid grid;
  ClusterTotals totals;  // `changed` per iteration: (most)
  MeanGrid means;
  Word* altered;             // (most) clusters whose centroid changed
  double* shift;             // (k)
  double* between;           // (k)
  IterationRecord* records;  // (most) out
  Outcome* outcome;          // out
  StopRule stop;
  std::int64_t iterations;  // before this launch
  int most;
  double spread;
};

/// Loads centroids into shared memory, (k, pitch), zero beyond d. Does not synchronise the block.
template <class T>
__device__ void load_centroids(const SmallRows<T>& rows, const double* centroids, int pitch, double* to) {
  for (int i = static_cast<int>(threadIdx.x); i < rows.clusters * pitch; i += kBlock) {
    const int j = i % pitch;
    to[i] = j < rows.d ? centroids[i / pitch * rows.d + j] : 0.0;
  }
}

/// A block's shared memory: centroids, contributions of its rows to sums and counts, and results per cluster.
struct SmallShared {
  double* centroids;    // (k, pitch), zero beyond d
  double* shift;        // (k)
  double* between;      // (k)
  std::uint32_t* low;   // (limbs, k, d) lower 32 bits of the sums
  std::uint32_t* high;  // (limbs, k, d) upper 32 bits
  int* counts;          // (k)
  int cells;            // k d
  int pitch;

  static std::int64_t bytes(std::int64_t clusters, std::int64_t d, std::int64_t pitch, int limbs) {
    return clusters * (pitch + 2) * 8 + limbs * clusters * d * 8 + clusters * 4;
  }
  __device__ SmallShared(double* memory, int clusters, int d, int row_pitch, int limbs)
      : centroids(memory),
        shift(memory + clusters * row_pitch),
        between(shift + clusters),
        low(reinterpret_cast<std::uint32_t*>(between + clusters)),
        high(low + limbs * clusters * d),
        counts(reinterpret_cast<int*>(high + limbs * clusters * d)),
        cells(clusters * d),
        pitch(row_pitch) {}

  /// Adds to a 64-bit sum in two words, for which shared memory has atomic additions; the carry goes to the upper word.
  __device__ void add(int cell, Word value) const {
    const auto part = static_cast<std::uint32_t>(value);
    const std::uint32_t before = atomicAdd(&low[cell], part);
    const std::uint32_t carry = before + part < before ? 1U : 0U;
    const std::uint32_t upper = static_cast<std::uint32_t>(value >> 32) + carry;
    if (upper != 0) atomicAdd(&high[cell], upper);
  }
  __device__ Word sum(int cell) const { return static_cast<Word>(high[cell]) << 32 | low[cell]; }
};

/// Subtracts the value of column j of a row from cluster `before` (-1: none) and adds it to `now`.
template <class T>
__device__ void reassign_value(const SmallTask<T>& task, const SmallShared& shared, double value, int j, int before,
                               int now) {
  const int d = static_cast<int>(task.d);
  if (task.means.low_bits == 0) {
    const auto q = static_cast<Word>(to_fixed(value, task.grid.first[j], task.grid.second[j]));
    shared.add(now * d + j, q);
    if (before >= 0) shared.add(before * d + j, Word{0} - q);
    return;
  }
  const Limbs q = to_limbs(value, task.grid.first[j], task.grid.second[j], task.grid.low_scale);
  shared.add(now * d + j, static_cast<Word>(q.high));
  shared.add(shared.cells + now * d + j, static_cast<Word>(q.low));
  if (before < 0) return;
  shared.add(before * d + j, Word{0} - static_cast<Word>(q.high));
  shared.add(shared.cells + before * d + j, Word{0} - static_cast<Word>(q.low));
}

/// Stores the new label of a row and updates the counts.
template <class T>
__device__ void reassign_label(const SmallTask<T>& task, const SmallShared& shared, std::int64_t row, int before,
                               int now) {
  task.label[row] = now;
  task.summed[row] = now;
  atomicAdd(&shared.counts[now], 1);
  if (before >= 0) atomicAdd(&shared.counts[before], -1);
}

/// A thread has a row of up to Columns (a power of two) columns, and adds the definition's tree over as many
/// accumulators.
template <class T, int Columns>
struct RowPerThread {
  static constexpr int kPitch = Columns;  // of the centroids in shared memory
  static constexpr int kRows = kBlock;    // that a block processes at a time

  /// Accumulator At after all additions of widths Width and above.
  template <int At, int Width>
  __device__ static double folded(const double (&x)[Columns], const double* c) {
    if constexpr (Width == Columns) {
      return add_square(x[At], c[At], 0.0);
    } else {
      return __dadd_rn(folded<At, 2 * Width>(x, c), folded<At + Width, 2 * Width>(x, c));
    }
  }

  __device__ static void load(const SmallRows<T>& task, std::int64_t row, double (&x)[Columns]) {
    constexpr int kTogether = std::min<int>(Columns, 16 / sizeof(T));
    struct alignas(sizeof(T) * kTogether) Vector {
      T value[kTogether];
    };
    const T* from = task.values + row * task.d;
    if (task.d == Columns) {
#pragma unroll
      for (int j = 0; j < Columns; j += kTogether) {
        const Vector vector = *reinterpret_cast<const Vector*>(from + j);
#pragma unroll
        for (int v = 0; v < kTogether; ++v) x[j + v] = static_cast<double>(vector.value[v]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < Columns; ++j) x[j] = j < task.d ? static_cast<double>(from[j]) : 0.0;
    }
  }

  /// centroids: (clusters, kPitch) in shared memory.
  __device__ static int nearest_of(const double (&x)[Columns], const double* centroids, int clusters) {
    double smallest = std::numeric_limits<double>::infinity();
    int nearest = 0;
#pragma unroll 2
    for (int c = 0; c < clusters; ++c) {
      const double distance = folded<0, 1>(x, centroids + c * kPitch);
      nearest = distance < smallest ? c : nearest;
      smallest = distance < smallest ? distance : smallest;
    }
    return nearest;
  }

  /// Calls take(row, nearest) for every row, in one thread.
  template <class Take>
  __device__ static void label(const SmallRows<T>& task, const double* centroids, int, const Take& take) {
    for (std::int64_t row = thread_index(); row < task.rows; row += thread_count()) {
      double x[Columns];
      load(task, row, x);
      take(row, nearest_of(x, centroids, task.clusters));
    }
  }

  /// Labels rows and updates sums and counts. Returns the number of reassigned rows of this thread.
  __device__ static Word assign(const SmallTask<T>& task, const SmallShared& shared) {
    Word reassigned = 0;
    for (std::int64_t row = thread_index(); row < task.rows; row += thread_count()) {
      double x[Columns];
      load(task, row, x);
      const int before = task.summed[row];
      const int nearest = nearest_of(x, shared.centroids, task.clusters);
      if (nearest == before) continue;
      ++reassigned;
      reassign_label(task, shared, row, before, nearest);
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        if (j < task.d) reassign_value(task, shared, x[j], j, before, nearest);
      }
    }
    return reassigned;
  }
};

/// A warp has 4 rows and 4 centroids at a time.
template <class T>
struct RowsPerWarp {
  static constexpr int kPitch = 0;  // as many values as columns
  static constexpr int kSide = 4;
  static constexpr int kRows = kBlockWarps * kSide;

  static constexpr int kLanesEach = kWarp / (kSide * kSide);  // lane l has distance l / kLanesEach
  static constexpr int kLanesRow = kLanesEach * kSide;

  /// Lane l returns the nearest centroid of row base + l / kLanesRow. Rows beyond the last repeat it.
  __device__ static int nearest_of(const SmallRows<T>& task, std::int64_t base, const double* centroids, int pitch) {
    const T* x[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) x[i] = task.values + min(base + i, task.rows - 1) * task.d;
    double smallest = std::numeric_limits<double>::infinity();
    int nearest = 0;
    for (int first = 0; first < task.clusters; first += kSide) {
      const double* c[kSide];
#pragma unroll
      for (int i = 0; i < kSide; ++i) c[i] = centroids + min(first + i, task.clusters - 1) * pitch;
      double sum[kSide * kSide];
      accumulate_grid(x, c, task.d, sum);
      const double distance = add_lanes<kSide * kSide>(sum);
      const int mine = min(first + lane_index() / kLanesEach % kSide, task.clusters - 1);
      if (distance < smallest) {
        smallest = distance;
        nearest = mine;
      }
    }
#pragma unroll
    for (int w = kLanesEach; w < kLanesRow; w *= 2) {
      const double distance = __shfl_xor_sync(kAllLanes, smallest, w);
      const int other = __shfl_xor_sync(kAllLanes, nearest, w);
      if (distance < smallest || (distance == smallest && other < nearest)) {
        smallest = distance;
        nearest = other;
      }
    }
    return nearest;
  }

  /// Calls take(row, nearest) for every row, in one thread.
  template <class Take>
  __device__ static void label(const SmallRows<T>& task, const double* centroids, int pitch, const Take& take) {
    for (std::int64_t base = warp_index() * kSide; base < task.rows; base += warp_count() * kSide) {
      const int nearest = nearest_of(task, base, centroids, pitch);
      const std::int64_t row = base + lane_index() / kLanesRow;
      if (lane_index() % kLanesRow == 0 && row < task.rows) take(row, nearest);
    }
  }

  /// Labels rows and updates sums and counts. Returns the number of reassigned rows of this thread.
  __device__ static Word assign(const SmallTask<T>& task, const SmallShared& shared) {
    const int lane = lane_index();
    Word reassigned = 0;
    for (std::int64_t base = warp_index() * kSide; base < task.rows; base += warp_count() * kSide) {
      const int nearest = nearest_of(task, base, shared.centroids, shared.pitch);
      for (int i = 0; i < kSide && base + i < task.rows; ++i) {
        const int now = __shfl_sync(kAllLanes, nearest, i * kLanesRow);
        const int before = task.summed[base + i];
        __syncwarp();  // all lanes have read it
        if (now == before) continue;
        if (lane == 0) {
          ++reassigned;
          reassign_label(task, shared, base + i, before, now);
        }
        for (int j = lane; j < task.d; j += kWarp) {
          reassign_value(task, shared, static_cast<double>(task.values[(base + i) * task.d + j]), j, before, now);
        }
      }
    }
    return reassigned;
  }
};

}  // namespace kith::cuda
