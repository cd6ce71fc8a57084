// Multiplies tiles of 128 rows of one guess with the list of centroids near it, in fp16 on the tensor cores.
//
// A block rounds its rows relative to the guess, measures how far centroids matter (twice the largest distance of its
// rows, by the triangle inequality), and multiplies the rounded centroids up to there, 64 at a time. Each thread keeps
// the three smallest scores of its rows; four threads share a row. A row with one score within its limit is decided.
// If a thread has three, its row is ambiguous; else the block compares the candidates, at most eight, by the
// definition.
//
// Rows of up to kResidentDepth columns stay in shared memory while all centroids pass. Longer ones are rounded to
// memory of the block, which the L2 cache holds, and come back in slabs of kSlabChunks with those of the centroids.
//
// 10^6 x 128 rows with 256 centroids each take 0.75 ms on an H200 and are 6.6 x 10^10 operations, a tenth of what its
// tensor cores can do: sorting the scores binds, not the products.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/assign/local_rows.h"
#include "kernels/cuda/assign/local_scores.h"
#include "kernels/cuda/assign/local_screen.h"
#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/quantized_score.h"

namespace kith::cuda {

#ifdef KITH_AMPERE

/// Adds the products of the warp's 32 rows with the columns at hand. Rows and columns have `pitch` chunks in shared
/// memory, the first `chunks` of which exist.
__device__ inline void multiply(const uint4* points, const uint4* columns, int pitch, int chunks,
                                float (&product)[2][8][4]) {
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp, row = lane % 16, half = lane / 16;
  const std::uint32_t left = shared_address(points + (warp * kLocalWarpRows + row) * pitch);
  const std::uint32_t right = shared_address(columns + row * pitch);
  const auto at = [&](int chunk) { return static_cast<std::uint32_t>((chunk ^ (row & 7)) * 16); };
  const std::uint32_t sixteen_rows = 16U * 16U * static_cast<std::uint32_t>(pitch);
#pragma unroll 2
  for (int chunk = 0; chunk < chunks; chunk += kStepChunks) {
    const std::uint32_t place = at(chunk + half);
    unsigned a[2][4], b[4][4];
#pragma unroll
    for (int m = 0; m < 2; ++m) load_rows_16x16(a[m], left + m * sixteen_rows + place);
#pragma unroll
    for (int n = 0; n < 4; ++n) load_rows_16x16(b[n], right + n * sixteen_rows + place);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        multiply_16x8x16(product[m][n], {a[m][0], a[m][2]}, {a[m][1], a[m][3]}, {b[n / 2][n % 2], b[n / 2][2 + n % 2]});
      }
    }
  }
}

/// Decides the open rows of a tile by the definition, a warp per row. column(place): of the list. Returns the number of
/// distances.
template <class T, class ColumnOf>
__device__ Word decide_open(const LocalTask<T>& task, const TileRows& tile, const ColumnOf& column) {
  const LocalLists& in = task.lists;
  Word distances = 0;
  for (int i = static_cast<int>(threadIdx.x) / kWarp; i < tile.open; i += kLocalWarps) {
    const std::int32_t position = tile.position[tile.open_row[i]];
    const int candidates = tile.open_candidates[i];
    const T* x[1] = {task.points + static_cast<std::int64_t>(position) * in.d};
    double best = std::numeric_limits<double>::infinity();
    std::int32_t nearest = INT_MAX;
    for (int first = 0; first < candidates; first += 2) {
      const std::int32_t a = column(tile.place[i][first]), b = column(tile.place[i][min(first + 1, candidates - 1)]);
      const double* c[2] = {in.centroids + a * in.d, in.centroids + b * in.d};
      double sum[2];
      accumulate_grid(x, c, in.d, sum);
      const double distance = add_lanes<2>(sum);  // the lower lanes have that of a
      const double of_a = __shfl_sync(kAllLanes, distance, 0), of_b = __shfl_sync(kAllLanes, distance, kWarp / 2);
      if (of_a < best || (of_a == best && a < nearest)) {
        best = of_a;
        nearest = a;
      }
      if (of_b < best || (of_b == best && b < nearest)) {
        best = of_b;
        nearest = b;
      }
    }
    if (lane_index() == 0) task.nearest[position] = nearest;
    distances += static_cast<Word>(candidates);
  }
  return distances;
}

/// Leaves the rows of a tile whose guess has no list.
template <class T>
__device__ void leave_tile(const LocalTask<T>& task, std::uint32_t first, int count) {
  const bool exists = static_cast<int>(threadIdx.x) < count;
  const std::int32_t index = task.order[first + min(static_cast<int>(threadIdx.x), count - 1)];
  const std::int32_t position = task.rows.position(index);
  const float kept = task.limit != nullptr ? task.limit[index] : std::numeric_limits<float>::infinity();
  if (exists && task.bound != nullptr) task.bound[position] = 0.0F;
  task.rest.append(exists, position, kept);
}

template <class T>
__device__ void decide_tile(const LocalTask<T>& task, std::uint32_t number, uint4* shared, TileRows& tile) {
  const LocalLists& in = task.lists;
  const std::int64_t guess = task.guess[number];
  const std::uint32_t begin = guess == 0 ? 0 : task.ends[guess - 1];
  const std::uint32_t first = begin + (number - task.first_tile[guess]) * kLocalRows;
  const int count = static_cast<int>(min(task.ends[guess] - first, static_cast<std::uint32_t>(kLocalRows)));
  if (task.slot[guess] < 0) return leave_tile(task, first, count);
  const std::int64_t list_begin = task.slot[guess] * in.padded;
  const int shift = shift_of(in, guess), chunks = in.depth / kChunkValues;
  const bool resident = task.rounded == nullptr;
  uint4* const points = resident ? shared : task.rounded + blockIdx.x * std::int64_t{kLocalRows} * chunks;
  const ListedCentroid* list = in.lists.entries + guess * in.lists.length;
  round_rows(task, guess, first, count, shift, points, tile);
  if (threadIdx.x == 0) tile.open = 0;
  __syncthreads();
  float reach = 0.0F;
#pragma unroll
  for (int w = 0; w < kLocalWarps; ++w) reach = fmaxf(reach, tile.reach[w]);
  // Columns beyond are left out even where they fill a tile: they may be far longer, and would widen the margin.
  const int used = columns_within(in, guess, reach), tiles = (used + kLocalColumns - 1) / kLocalColumns;

  // A step multiplies a slab of one column tile; those of resident rows are whole rows.
  const int pitch = resident ? chunks : kSlabChunks, slabs = (chunks + pitch - 1) / pitch, steps = tiles * slabs;
  const auto slab_rows = [&](int step) { return resident ? shared : shared + step % 2 * kSlabBytes / kChunkBytes; };
  const auto slab_columns = [&](int step) {
    return resident ? shared + (kLocalRows + step % 2 * kLocalColumns) * chunks : slab_rows(step) + kLocalRows * pitch;
  };
  const auto slab_chunks = [&](int step) { return min(pitch, chunks - step % slabs * pitch); };
  // Copies a slab of rows in the layout of `from` into shared memory.
  const auto copy_slab = [&](uint4* to, const uint4* from, int rows, int step) {
    for (int i = static_cast<int>(threadIdx.x); i < rows * kSlabChunks; i += kLocalThreads) {
      const int r = i / kSlabChunks, u = i % kSlabChunks;
      if (u < slab_chunks(step)) copy_chunk(shared_address(to + i), from + r * chunks + step % slabs * pitch + u);
    }
  };
  const auto fetch = [&](int step) {
    if (step < steps) {
      const int t = step / slabs;
      const std::int64_t from = list_begin + static_cast<std::int64_t>(t) * kLocalColumns;
      const uint4* values = task.columns.values + from * chunks;
      if (resident) {
        for (int i = static_cast<int>(threadIdx.x); i < kLocalColumns * chunks; i += kLocalThreads) {
          copy_chunk(shared_address(slab_columns(step) + i), values + i);
        }
      } else {
        copy_slab(slab_rows(step), points, kLocalRows, step);
        copy_slab(slab_columns(step), values, kLocalColumns, step);
      }
      if (threadIdx.x < kLocalColumns && step % slabs == 0) {
        const bool counts = t * kLocalColumns + static_cast<int>(threadIdx.x) < used;
        tile.base[t % 2][threadIdx.x] = counts ? task.columns.base[from + threadIdx.x] : QuantizationGrid::kNever;
        tile.error[t % 2][threadIdx.x] = counts ? task.columns.error[from + threadIdx.x] : 0.0F;
      }
    }
    copies_commit();
  };

  // Of rows lane / 4 and eight further, of the first and the last sixteen of the warp's rows. nvcc 13.0 zeroes the
  // second half of such an array if its class has default values.
  LaneScores scores[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) scores[i / 2][i % 2].clear();
  const int q = lane_index() % 4;
  const auto row_of = [](int m, int r) {
    return static_cast<int>(threadIdx.x) / kWarp * kLocalWarpRows + m * 16 + r * 8 + lane_index() / 4;
  };
  fetch(0);
  float error_norm[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) error_norm[i / 2][i % 2] = tile.error_norm[row_of(i / 2, i % 2)];
  float product[2][8][4];
  for (int step = 0; step < steps; ++step) {
    fetch(step + 1);
    copies_wait<1>();
    __syncthreads();
    if (step % slabs == 0) {
#pragma unroll
      for (int i = 0; i < 64; ++i) product[i / 32][i / 4 % 8][i % 4] = 0.0F;
    }
    multiply(slab_rows(step), slab_columns(step), pitch, slab_chunks(step), product);
    if (step % slabs == slabs - 1) {
      const int t = step / slabs;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float2 base = *reinterpret_cast<const float2*>(&tile.base[t % 2][n * 8 + 2 * q]);
        const float2 error = *reinterpret_cast<const float2*>(&tile.error[t % 2][n * 8 + 2 * q]);
        const unsigned place = static_cast<unsigned>(t * kLocalColumns + n * 8 + 2 * q);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const float a = fmaf(-error_norm[m][r], error.x, base.x - product[m][n][2 * r]);
            const float b = fmaf(-error_norm[m][r], error.y, base.y - product[m][n][2 * r + 1]);
            scores[m][r].add(marked(a, task.columns.mask, place), marked(b, task.columns.mask, place + 1));
          }
        }
      }
    }
    __syncthreads();
  }
  copies_wait<0>();

  const float back = static_cast<float>(ldexp(1.0, -shift));
  const bool all = in.lists.complete && used > in.lists.length;
  const float beyond = all                          ? std::numeric_limits<float>::infinity()
                       : used - 1 < in.lists.length ? list[used - 1].distance
                                                    : 0.0F;
  const auto column = [&](int place) { return place == 0 ? static_cast<std::int32_t>(guess) : list[place - 1].column; };
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const LaneScores& mine = scores[m][r];
      const int row = row_of(m, r);
      const float best = quad_min(mine.first);
      const auto place_of = [&](float score) {
        return min(static_cast<int>(__float_as_uint(score) & task.columns.mask), used - 1);
      };
      const int best_place = place_of(best);
      const float limit = __fadd_ru(best, task.columns.margin(list_begin + best_place, error_norm[m][r]));
      // Columns that were not multiplied cannot be nearest, and every candidate is known.
      const bool known = !quad_any(!(beyond > reach_of(tile.norm[row], back)) || !(mine.third > limit));
      const int here = (mine.first > limit ? 0 : 1) + (mine.second > limit ? 0 : 1);
      int before = 0, candidates = 0;  // of the lower lanes, and of all four
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        const int of_lane = __shfl_sync(kAllLanes, here, l, 4);
        candidates += of_lane;
        if (l < q) before += of_lane;
      }
      const bool exists = row < count, first_lane = q == 0 && exists, open = known && candidates > 1;
      int slot = 0;
      if (first_lane && open) slot = atomicAdd(&tile.open, 1);
      slot = __shfl_sync(kAllLanes, slot, 0, 4);
      if (exists && open) {
        if (here > 0) tile.place[slot][before] = static_cast<std::uint16_t>(place_of(mine.first));
        if (here > 1) tile.place[slot][before + 1] = static_cast<std::uint16_t>(place_of(mine.second));
      }
      if (first_lane) {
        const std::int32_t position = tile.position[row];
        task.nearest[position] = column(best_place);
        if (open) {
          tile.open_row[slot] = row;
          tile.open_candidates[slot] = candidates;
        }
      }
      if (task.bound != nullptr) {
        const float other = quad_min(mine.first > best ? mine.first : mine.second);
        const float own = __fadd_ru(__fmul_ru(tile.norm[row], tile.norm[row]), 2.0F * limit);
        const float difference = fmaxf(2.0F * __fsub_rd(other, limit), 0.0F);
        const bool certified = known && candidates == 1 && own > 0.0F;
        if (first_lane) {
          task.bound[tile.position[row]] =
              certified ? local_bound(own, difference, beyond, tile.norm[row] * back, back) : 0.0F;
        }
      }
      const bool ambiguous = first_lane && !known;
      if (__any_sync(kAllLanes, ambiguous)) {
        const float kept =
            ambiguous && task.limit != nullptr ? task.limit[tile.index[row]] : std::numeric_limits<float>::infinity();
        task.rest.append(ambiguous, tile.position[row], kept);
      }
    }
  }
  __syncthreads();
  const Word measured = decide_open(task, tile, column);
  if (lane_index() == 0 && measured > 0) atomicAdd(task.distances, measured);
}

#endif

}  // namespace kith::cuda
