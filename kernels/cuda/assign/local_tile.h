// Multiplies tiles of 128 rows of one guess with the list of centroids near it, in fp16 on the tensor cores.
//
// A block rounds its rows relative to the guess, measures how far centroids matter (twice the largest distance of its
// rows, by the triangle inequality), and multiplies the rounded centroids up to there, 64 at a time. Each thread keeps
// the three smallest scores of its rows; four threads share a row. A row with one score within its limit is decided.
// If a thread has three, its row is ambiguous; else the block compares the candidates, at most eight, by the
// definition.
//
// 10^6 x 128 rows with 256 centroids each take 0.75 ms on an H200 and are 6.6 x 10^10 operations, a tenth of what its
// tensor cores can do: sorting the scores binds, not the products.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/assign/local_rounding.h"
#include "kernels/cuda/assign/local_scores.h"
#include "kernels/cuda/assign/local_screen.h"
#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/quantized_score.h"

namespace kith::cuda {

inline constexpr int kLocalThreads = 128, kLocalWarps = kLocalThreads / kWarp;
inline constexpr int kLocalRows = LocalScreen::kTileRows, kLocalColumns = LocalScreen::kTileColumns;
inline constexpr int kLocalWarpRows = kLocalRows / kLocalWarps;
static_assert(kLocalWarpRows == 32, "two products of 16 rows");

template <class T>
struct LocalTask {
  LocalLists lists;
  ListColumns columns;
  const T* points;  // (rows of the block, d)
  RowChoice rows;
  const std::int32_t* order;        // (rows.count) indices of the choice, by guess
  const std::uint32_t* ends;        // (clusters)
  const std::uint32_t* first_tile;  // (clusters + 1)
  const std::int32_t* guess;        // (tiles)
  int stages;
  const float* limit;
  std::int32_t* nearest;
  float* bound;
  AmbiguousRows rest;
  Word* distances;
};

inline constexpr int kMostPlaces = 8;  // of a row: two for each of the four lanes that share it

/// What a block knows of its rows, in shared memory.
struct TileRows {
  std::int32_t index[kLocalRows], position[kLocalRows];
  float norm[kLocalRows];                                 // upper bounds of |x'|, relative to the guess
  float error_norm[kLocalRows];                           // of row_error_norm()
  float base[2][kLocalColumns], error[2][kLocalColumns];  // of the columns at hand
  float reach[kLocalWarps];
  int open;  // rows with several candidates
  int open_row[kLocalRows], open_candidates[kLocalRows];
  std::uint16_t place[kLocalRows][kMostPlaces];  // of their candidates
};

#ifdef KITH_AMPERE

/// The number of columns of the guess's list that are within a distance, itself included. All threads call it.
__device__ inline int columns_within(const LocalLists& in, std::int64_t guess, float distance) {
  const ListedCentroid* list = in.lists.entries + guess * in.lists.length;
  int columns = 1, within = kLocalThreads;
  for (int first = 0; within == kLocalThreads; first += kLocalThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    within = __syncthreads_count(i < in.length && !(list[i].distance > distance));
    columns += within;
  }
  return columns;
}

/// Each warp rounds its 32 rows of the tile into shared memory, several at a time. kEach: chunks of a row for a lane.
template <int kEach, class T>
__device__ void round_rows(const LocalTask<T>& task, std::int64_t guess, std::uint32_t first, int count, int shift,
                           uint4* points, TileRows& tile) {
  const LocalLists& in = task.lists;
  const int chunks = in.depth / kChunkValues, warp = static_cast<int>(threadIdx.x) / kWarp;
  using Real = std::conditional_t<sizeof(T) == sizeof(double), double, float>;
  const double scale = ldexp(in.unit, shift);
  const auto back = static_cast<float>(ldexp(1.0, -shift));
  const bool aligned = is_aligned<T>(in.d);
  const float farthest = in.lists.entries[guess * in.lists.length + in.length - 1].distance;
  const bool complete = in.lists.complete && in.length == in.lists.length;
  const int lanes = lanes_sharing(chunks);
  const int lane = lane_index() % lanes;

  GuessChunk center[kEach];
  float guess_norm = 0.0F;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::int64_t j = (lane + static_cast<std::int64_t>(e) * kWarp) * kChunkValues;
    center[e].load(in.centroids + guess * in.d + min(j, in.d), in.d - j, is_aligned<double>(in.d), scale);
#pragma unroll
    for (int t = 0; t < kChunkValues; ++t) guess_norm = fmaf(center[e].high[t], center[e].high[t], guess_norm);
  }
  guess_norm = group_total(guess_norm, lanes);
  const float lost_guess = sqrtf(guess_norm) * 0x1p-46F + 0x1p-100F;

  const int mine = warp * kLocalWarpRows + lane_index();
  const std::int32_t index = task.order[first + min(mine, count - 1)], position = task.rows.position(index);
  tile.index[mine] = index;
  tile.position[mine] = position;
  constexpr int kBytes = sizeof(T) * kEach, kTogether = kBytes <= 4 ? 4 : kBytes <= 8 ? 2 : 1;  // by registers
  const int step = kWarp / lanes;
  float reach = 0.0F;
  for (int first_row = lane_index() / lanes; first_row < kLocalWarpRows; first_row += kTogether * step) {
    T x[kTogether][kEach][kChunkValues];
#pragma unroll
    for (int s = 0; s < kTogether; ++s) {
      const std::int64_t row = __shfl_sync(kAllLanes, position, first_row + s * step);
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const std::int64_t j = (lane + static_cast<std::int64_t>(e) * kWarp) * kChunkValues;
        load_chunk(task.points + row * in.d + min(j, in.d), in.d - j, aligned, x[s][e]);
      }
    }
#pragma unroll
    for (int s = 0; s < kTogether; ++s) {
      const int r = warp * kLocalWarpRows + first_row + s * step;
      float squares = 0.0F, lost = 0.0F;
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int chunk = lane + e * kWarp;
        if (chunk >= chunks) continue;
        float value[kChunkValues];
#pragma unroll
        for (int t = 0; t < kChunkValues; ++t)
          value[t] = center[e].difference(static_cast<Real>(x[s][e][t]), static_cast<Real>(scale), t);
        points[r * chunks + (chunk ^ (r & 7))] = round_chunk(value, squares, lost);
      }
      squares = group_total(squares, lanes);
      lost = group_total(lost, lanes);
      // The sums of float32 have relative errors below 2^-19, the differences 2^-22. A value beyond the range of fp16
      // or float32 makes the bounds infinite or NaN, which certify nothing.
      constexpr float kUp = 1 + 0x1p-18F;
      const float norm = sqrtf(squares) * kUp + lost_guess;
      const float needed = reach_of(norm, back);
      // A row that needs more than the list is not decided, so that it need not lengthen the work of the others.
      if (r < count && (complete || needed < farthest)) reach = fmaxf(reach, needed);
      if (lane != 0) continue;
      tile.norm[r] = norm;
      tile.error_norm[r] = row_error_norm(norm, (sqrtf(lost) + sqrtf(squares) * 0x1p-21F) * kUp + lost_guess);
    }
  }
  for (int w = kWarp / 2; w > 0; w /= 2) reach = fmaxf(reach, __shfl_xor_sync(kAllLanes, reach, w));
  if (lane_index() == 0) tile.reach[warp] = reach;
}

/// The scores of the warp's 32 rows and the columns at hand.
__device__ inline void multiply(const uint4* points, const uint4* columns, int chunks, float (&product)[2][8][4]) {
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp, row = lane % 16, half = lane / 16;
  const std::uint32_t left = shared_address(points + (warp * kLocalWarpRows + row) * chunks);
  const std::uint32_t right = shared_address(columns + row * chunks);
  const auto at = [&](int chunk) { return static_cast<std::uint32_t>((chunk ^ (row & 7)) * 16); };
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) product[m][n][i] = 0.0F;
    }
  }
  const std::uint32_t sixteen_rows = 16U * 16U * static_cast<std::uint32_t>(chunks);
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

template <class T>
__device__ void decide_tile(const LocalTask<T>& task, std::uint32_t number, uint4* shared, TileRows& tile) {
  const LocalLists& in = task.lists;
  const std::int64_t guess = task.guess[number];
  const std::uint32_t begin = guess == 0 ? 0 : task.ends[guess - 1];
  const std::uint32_t first = begin + (number - task.first_tile[guess]) * kLocalRows;
  const int count = static_cast<int>(min(task.ends[guess] - first, static_cast<std::uint32_t>(kLocalRows)));
  const int shift = shift_of(in, guess), chunks = in.depth / kChunkValues;
  uint4* const points = shared;
  uint4* const columns = shared + kLocalRows * chunks;
  const ListedCentroid* list = in.lists.entries + guess * in.lists.length;

  if (chunks <= kWarp) {
    round_rows<1>(task, guess, first, count, shift, points, tile);
  } else {
    round_rows<2>(task, guess, first, count, shift, points, tile);
  }
  if (threadIdx.x == 0) tile.open = 0;
  __syncthreads();
  float reach = 0.0F;
#pragma unroll
  for (int w = 0; w < kLocalWarps; ++w) reach = fmaxf(reach, tile.reach[w]);
  // Columns beyond are left out even where they fill a tile: they may be far longer, and would widen the margin.
  const int used = columns_within(in, guess, reach), tiles = (used + kLocalColumns - 1) / kLocalColumns;

  const auto fetch = [&](int t) {
    if (t < tiles) {
      const std::int64_t from = guess * in.padded + static_cast<std::int64_t>(t) * kLocalColumns;
      uint4* to = columns + t % task.stages * kLocalColumns * chunks;
      for (int i = static_cast<int>(threadIdx.x); i < kLocalColumns * chunks; i += kLocalThreads) {
        copy_chunk(shared_address(to + i), task.columns.values + from * chunks + i);
      }
      if (threadIdx.x < kLocalColumns) {
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
  for (int t = 0; t < tiles; ++t) {
    if (task.stages > 1) fetch(t + 1);
    if (task.stages > 1) {
      copies_wait<1>();
    } else {
      copies_wait<0>();
    }
    __syncthreads();
    float product[2][8][4];
    multiply(points, columns + t % task.stages * kLocalColumns * chunks, chunks, product);
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
    __syncthreads();
    if (task.stages == 1) fetch(t + 1);
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
      const float limit = __fadd_ru(best, task.columns.margin(guess * in.padded + best_place, error_norm[m][r]));
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
