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

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/kmeans/bounds.h"
#include "core/numbers/screen.h"
#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/assign/local_screen.h"
#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/device/quantized_score.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

// Rows and centroids relative to a guess, rounded to fp16: what was lost, and how far centroids matter.

/// What the kernels share. Distances of lists are in units of 1 / unit.
struct LocalLists {
  const double* centroids;  // (clusters, d)
  std::int64_t clusters, d;
  CentroidListsView lists;
  std::int64_t length, padded;
  int depth;  // d, padded
  double unit;
  int exponent;  // unit = 2^-exponent
};

/// Rows and centroids relative to a guess are multiplied by unit 2^shift, so that they are normal numbers in fp16.
__device__ inline int shift_of(const LocalLists& in, std::int64_t guess) {
  constexpr int kTarget = 10;  // the farthest centroid of a list then has a length of about 2^10
  const float farthest = in.lists.entries[guess * in.lists.length + in.length - 1].distance;
  return farthest > 0x1p-100F && farthest < 0x1p100F ? kTarget - ilogbf(farthest) : 0;
}

/// Loads eight values, zeros beyond `count`. aligned: whether rows begin at multiples of 16 bytes.
template <class X>
__device__ inline void load_chunk(const X* x, std::int64_t count, bool aligned, X (&out)[kChunkValues]) {
  if (aligned && count >= kChunkValues) {
    using Part = std::conditional_t<sizeof(X) == 1, uint2, uint4>;
    constexpr int kParts = sizeof(X) * kChunkValues / sizeof(Part);
    Part parts[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) parts[i] = __ldg(reinterpret_cast<const Part*>(x) + i);
    memcpy(out, parts, sizeof out);
    return;
  }
#pragma unroll
  for (int t = 0; t < kChunkValues; ++t) out[t] = t < count ? x[t] : X{};
}
template <class X>
__device__ inline bool is_aligned(std::int64_t d) {
  return d % (sizeof(X) == 1 ? 8 : 16 / sizeof(X)) == 0;
}

/// Rounds eight values; adds to the squared norms of the values and of the rounding errors.
template <class X>
__device__ inline uint4 round_chunk(const X (&values)[kChunkValues], X& squares, X& lost) {
  __half packed[kChunkValues];
#pragma unroll
  for (int t = 0; t < kChunkValues; ++t) {
    packed[t] = static_cast<__half>(values[t]);
    const X error = values[t] - static_cast<X>(__half2float(packed[t]));
    squares = fma(values[t], values[t], squares);
    lost = fma(error, error, lost);
  }
  uint4 bits;
  memcpy(&bits, packed, sizeof bits);
  return bits;
}

/// A bound of centroids that matter to a row: those farther from the guess have a larger D than it. norm: |x'|.
__device__ inline float reach_of(float norm, float back) {
  const float own = __fmul_ru(norm, back);
  return __fmul_ru(2.0F * own, 1.0F + kBoundOutward);
}

/// Eight components of a guess as sums of two floats, of which the error is at most 2^-48, times a power of two.
struct GuessChunk {
  float high[kChunkValues], low[kChunkValues];

  __device__ void load(const double* guess, std::int64_t count, bool aligned, double scale) {
    double c[kChunkValues];
    load_chunk(guess, count, aligned, c);
#pragma unroll
    for (int t = 0; t < kChunkValues; ++t) {
      high[t] = static_cast<float>(c[t] * scale);
      low[t] = static_cast<float>(c[t] * scale - static_cast<double>(high[t]));
    }
  }
  /// x scale - guess; its error is at most 2^-23 of it, and that of the guess.
  template <class T>
  __device__ float difference(T x, T scale, int t) const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return static_cast<float>((x * scale - static_cast<double>(high[t])) - static_cast<double>(low[t]));
    } else {
      return fmaf(x, scale, -high[t]) - low[t];
    }
  }
};

// Scores of local screens: their error bounds, which belong to a row and a column, and the smallest ones.
//
// A score is a lower bound: the column's error is subtracted from it. With s the score of the best column and E its
// error, every column whose score exceeds s + 2 E is farther than the best.

/// The length of the rounding error of a row of fp16, relative to the row's, that the errors of columns contain.
inline constexpr float kRowRounding = 0x1p-12F;

/// The factor of ColumnErrors::linear for a row with |x'| and |x' - x^| at most: its error is at most kRowRounding of
/// it.
__device__ inline float row_error_norm(float norm, float residual) {
  return fmaxf(norm + residual, residual * (1 / kRowRounding)) * (1 + 0x1p-20F);
}

/// The error of the score of a column is at most linear * n + constant for rows with n = row_error_norm().
struct ColumnErrors {
  float linear, constant;

  __device__ bool is_usable() const { return linear < 0x1p60F && constant < 0x1p60F; }

  /// norm, residual: |c'| and |c' - c^| at most. mask: the bits of scores that are replaced by places.
  __device__ ColumnErrors(double norm, double residual, std::int64_t d, int exponent, double accumulation,
                          unsigned mask) {
    // One more rounding of scores, when the error is subtracted.
    const ScreenMargin margin =
        screen_margin({norm, residual}, d, exponent, {0.0, accumulation, 0.0, (mask + 1.0) * 0x1p-23});
    constant = __fmul_ru(margin.constant, 0.5F);
    linear =
        __fmul_ru(__fadd_ru(margin.linear, __double2float_ru(2.01 * static_cast<double>(kRowRounding) * norm)), 0.5F);
  }
};

/// The rounded centroids of the lists. A list has `padded` columns: the guess itself, then its entries.
struct ListColumns {
  uint4* values;    // (lists, padded, depth) fp16, swizzled
  float* base;      // (lists, padded) |c'|^2 / 2 less the constant error
  float* error;     // (lists, padded) ColumnErrors::linear
  float* constant;  // (lists, padded) ColumnErrors::constant
  unsigned mask;    // of the bits of a place
  float quadratic;  // ScreenMargin::quadratic

  /// 2 E of a row and a column.
  __device__ float margin(std::int64_t column, float error_norm) const {
    const float linear = __fmul_ru(error_norm, __fadd_ru(error[column], __fmul_ru(error_norm, quadratic)));
    return 2.0F * __fadd_ru(constant[column], linear);
  }
};

/// Where the rounded lists of guesses are.
struct ListSlots {
  std::int32_t* slot;   // (clusters) -1: the guess has no list
  std::int32_t* guess;  // (lists) of each slot
  std::uint32_t* used;  // (2) slots in use before the most recent rows, and with them
  std::uint32_t lists;  // at most
};

/// The three smallest scores that a lane has of a row. The low bits of a score are its place in the list.
struct LaneScores {
  float first, second, third;

  __device__ void clear() { first = second = third = QuantizationGrid::kNever; }
  __device__ void add(float a, float b) {
    const float low = fminf(a, b), high = fmaxf(a, b);
    const float x = fmaxf(first, low), y = fminf(second, high);
    first = fminf(first, low);
    second = fminf(x, y);
    third = fminf(third, fmaxf(x, y));
  }
};

/// Replaces the low bits of a score by a place.
__device__ inline float marked(float score, unsigned mask, unsigned place) {
  return __uint_as_float((__float_as_uint(score) & ~mask) | place);
}

__device__ inline float quad_min(float value) {
  value = fminf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fminf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ inline bool quad_any(bool value) {
  const unsigned lanes = __ballot_sync(kAllLanes, value);
  return (lanes >> (lane_index() & ~3) & 15U) != 0;
}

// The tasks of local screens, and the rows of a tile, which a block rounds relative to their guess.

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
  AmbiguousRows rest;
  Word* distances;
};

inline constexpr int kMostPlaces = 8;  // of a row: two for each of the four lanes that share it

/// What a block knows of its rows, in shared memory.
struct SharedTile {
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
                           uint4* points, SharedTile& tile) {
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
__device__ Word decide_open(const LocalTask<T>& task, const SharedTile& tile, const ColumnOf& column) {
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
  task.rest.append(exists, position, kept);
}

template <class T>
__device__ void decide_tile(const LocalTask<T>& task, std::uint32_t number, uint4* shared, SharedTile& tile) {
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
