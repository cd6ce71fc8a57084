// The tasks of local screens, and the rows of a tile, which a block rounds relative to their guess.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/local_rounding.h"
#include "kernels/cuda/assign/local_scores.h"
#include "kernels/cuda/assign/local_screen.h"
#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

inline constexpr int kLocalThreads = 128, kLocalWarps = kLocalThreads / kWarp;
inline constexpr int kLocalWarpRows = kLocalRows / kLocalWarps;
inline constexpr int kResidentDepth = 256;  // columns of rows that stay in shared memory
inline constexpr int kSlabChunks = 16, kChunkBytes = 16;
inline constexpr int kSlabBytes = (kLocalRows + kLocalColumns) * kSlabChunks * kChunkBytes;  // of one of two stages
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
  const std::int32_t* slot;         // (clusters) of ListSlots
  uint4* rounded;                   // (blocks, kLocalRows, depth) the rows of a tile; null: they stay in shared memory
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

/// Each warp rounds its 32 rows of the tile to `points`, several at a time.
template <class T>
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
  const int lanes = lanes_sharing(chunks), turns = (chunks + kWarp - 1) / kWarp;
  const int lane = lane_index() % lanes;
  const auto column_of = [&](int turn) { return (lane + static_cast<std::int64_t>(turn) * kWarp) * kChunkValues; };

  GuessChunk center;  // stays if a row takes one turn
  float guess_norm = 0.0F;
  const auto load_center = [&](int turn) {
    const std::int64_t j = column_of(turn);
    center.load(in.centroids + guess * in.d + min(j, in.d), in.d - j, is_aligned<double>(in.d), scale);
  };
  for (int turn = 0; turn < turns; ++turn) {
    load_center(turn);
#pragma unroll
    for (int t = 0; t < kChunkValues; ++t) guess_norm = fmaf(center.high[t], center.high[t], guess_norm);
  }
  guess_norm = group_total(guess_norm, lanes);
  const float lost_guess = sqrtf(guess_norm) * 0x1p-46F + 0x1p-100F;

  const int mine = warp * kLocalWarpRows + lane_index();
  const std::int32_t index = task.order[first + min(mine, count - 1)], position = task.rows.position(index);
  tile.index[mine] = index;
  tile.position[mine] = position;
  constexpr int kTogether = sizeof(T) <= 4 ? 4 : 2;  // by registers
  const int step = kWarp / lanes;
  float reach = 0.0F;
  for (int first_row = lane_index() / lanes; first_row < kLocalWarpRows; first_row += kTogether * step) {
    float squares[kTogether] = {}, lost[kTogether] = {};
    for (int turn = 0; turn < turns; ++turn) {
      if (turns > 1) load_center(turn);
      const std::int64_t j = column_of(turn);
      T x[kTogether][kChunkValues];
#pragma unroll
      for (int s = 0; s < kTogether; ++s) {
        const std::int64_t row = __shfl_sync(kAllLanes, position, first_row + s * step);
        load_chunk(task.points + row * in.d + min(j, in.d), in.d - j, aligned, x[s]);
      }
      const int chunk = lane + turn * kWarp;
      if (chunk >= chunks) continue;
#pragma unroll
      for (int s = 0; s < kTogether; ++s) {
        const int r = warp * kLocalWarpRows + first_row + s * step;
        float value[kChunkValues];
#pragma unroll
        for (int t = 0; t < kChunkValues; ++t)
          value[t] = center.difference(static_cast<Real>(x[s][t]), static_cast<Real>(scale), t);
        points[r * chunks + (chunk ^ (r & 7))] = round_chunk(value, squares[s], lost[s]);
      }
    }
#pragma unroll
    for (int s = 0; s < kTogether; ++s) {
      const int r = warp * kLocalWarpRows + first_row + s * step;
      squares[s] = group_total(squares[s], lanes);
      lost[s] = group_total(lost[s], lanes);
      // The sums of float32, at most 128 additions, have relative errors below 2^-16, the differences 2^-22. A value
      // beyond the range of fp16 or float32 makes the bounds infinite or NaN, which certify nothing.
      constexpr float kUp = 1 + 0x1p-16F;
      const float norm = sqrtf(squares[s]) * kUp + lost_guess;
      const float needed = reach_of(norm, back);
      // A row that needs more than the list is not decided, so that it need not lengthen the work of the others.
      if (r < count && (complete || needed < farthest)) reach = fmaxf(reach, needed);
      if (lane != 0) continue;
      tile.norm[r] = norm;
      tile.error_norm[r] = row_error_norm(norm, (sqrtf(lost[s]) + sqrtf(squares[s]) * 0x1p-21F) * kUp + lost_guess);
    }
  }
  for (int w = kWarp / 2; w > 0; w /= 2) reach = fmaxf(reach, __shfl_xor_sync(kAllLanes, reach, w));
  if (lane_index() == 0) tile.reach[warp] = reach;
}

#endif

}  // namespace kith::cuda
