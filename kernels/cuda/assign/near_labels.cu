// Walks the list of the centroids near a row's guess, nearest first, and measures them by the definition until the
// triangle inequality excludes the others. J. Newling, F. Fleuret: Fast k-means with accurate bounds (2016), without
// their annuli: a list is sorted as a whole.
//
// A warp measures four rows of one guess against four centroids at a time. Per row and candidate d subtractions and
// multiply-adds of float64: 0.02 ms for 10^6 x 128 at the 34 TFLOP/s of an H200, more than reading the centroids from
// the first-level cache. The rows are read once, 0.12 ms. A few rows with long lists would keep a few warps busy for
// long: all warps of a block share such rows, and divide their lists.
#include "kernels/cuda/assign/near_labels.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <limits>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/screen/fp16_columns.h"

namespace kith::cuda {
namespace {

constexpr int kRows = 4;     // of a warp at a time
constexpr int kColumns = 4;  // measured for these at a time
constexpr int kRowLanes = kWarp / kRows;
constexpr int kColumnLanes = kRowLanes / kColumns;

/// The nearest of some columns, with the lowest index if several are equally near.
struct NearestColumn {
  double best = std::numeric_limits<double>::infinity();
  std::int32_t column = INT_MAX;

  __device__ void merge(const NearestColumn& other) {
    const bool nearer = other.best < best || (other.best == best && other.column < column);
    best = nearer ? other.best : best;
    column = nearer ? other.column : column;
  }
  __device__ void merge_lanes(int w) {
    NearestColumn other;
    other.best = __shfl_xor_sync(kAllLanes, best, w);
    other.column = __shfl_xor_sync(kAllLanes, column, w);
    merge(other);
  }
};

template <class T>
struct WalkTask {
  const T* values;  // (rows of the block, d)
  std::int64_t d;
  const double* centroids;  // (clusters, d)
  std::int64_t clusters;
  CentroidListsView lists;
  std::int64_t most;  // index of the entry that must be out of reach; lists.length: no limit
  double unit;
  int together;               // rows of the order that a warp takes at a time, up to kWarp
  const std::int32_t* order;  // (rows.count) indices of the choice, by guess
  NearTask rows;
  AmbiguousRows rest;  // out
  Word* distances;     // (1) out
};

/// What the warps of a block tell each other in a turn: the nearest columns of each row, and its guess's distance.
struct SharedTurn {
  double best[kBlockWarps][kRows], guess[kRows];
  std::int32_t column[kBlockWarps][kRows];

  /// The nearest of the columns that the warps measured for this lane's row. All threads of the block call it.
  __device__ NearestColumn merged(const NearestColumn& mine) {
    const int row = lane_index() / kRowLanes, warp = static_cast<int>(threadIdx.x) / kWarp;
    __syncthreads();
    if (lane_index() % kRowLanes == 0) {
      best[warp][row] = mine.best;
      column[warp][row] = mine.column;
    }
    __syncthreads();
    NearestColumn all;
#pragma unroll
    for (int w = 0; w < kBlockWarps; ++w) all.merge({best[w][row], column[w][row]});
    return all;
  }
};

/// Decides up to kRows rows that have the same guess. A lane knows the state of row lane / kRowLanes. index, position:
/// of that row in the choice and in the block. kParts: 1, or the warps of a block, which all call it for the same rows.
template <class T, int kParts>
__device__ Word walk(const WalkTask<T>& task, const T* const (&x)[kRows], std::int32_t guess, int rows,
                     std::int64_t index, std::int64_t position) {
  constexpr int kTurn = kColumns * kParts;
  __shared__ SharedTurn turn;                                                                // unused by a single warp
  const int own_first = kParts == 1 ? 0 : static_cast<int>(threadIdx.x) / kWarp * kColumns;  // of a turn
  const bool exists = lane_index() / kRowLanes < rows;
  const int place = lane_index() % kRowLanes / kColumnLanes;  // of this lane's column
  const auto length = static_cast<int>(task.lists.length);
  const ListedCentroid* list = task.lists.entries + static_cast<std::int64_t>(guess) * length;
  const auto entry = [&](int i) -> ListedCentroid {
    if (i < 0 || i >= length) return {0.0F, guess};
    const int2 loaded = __ldg(reinterpret_cast<const int2*>(list + i));
    return {__int_as_float(loaded.x), loaded.y};
  };

  NearestColumn nearest;
  float own = 0.0F;     // an upper bound of the distance of the guess
  float beyond = 0.0F;  // a lower bound of the distance of the guess from the columns that are not measured
  bool decided = true;
  ListedCentroid next[kColumns];
#pragma unroll
  for (int s = 0; s < kColumns; ++s) next[s] = entry(own_first + s - 1);
  int at = -1;  // index of the first entry of this turn; the guess itself comes first
  for (;;) {
    const double* c[kColumns];
    std::int32_t column = 0;
#pragma unroll
    for (int s = 0; s < kColumns; ++s) {
      c[s] = task.centroids + next[s].column * task.d;
      if (s == place) column = next[s].column;
    }
    const int first = at + own_first;
    const bool is_first = at < 0;
    at += kTurn;
#pragma unroll
    for (int s = 0; s < kColumns; ++s) next[s] = entry(at + own_first + s);  // during the products
    double sum[kRows * kColumns];
    accumulate_grid(x, c, task.d, sum);
    const double distance = add_lanes<kRows * kColumns>(sum);
    double of_guess = 0.0;
    if (is_first) of_guess = __shfl_sync(kAllLanes, distance, lane_index() & ~(kRowLanes - 1));
    NearestColumn measured;
    if (first + place < length) {
      measured.best = distance;
      measured.column = column;
    }
#pragma unroll
    for (int w = kColumnLanes; w < kRowLanes; w *= 2) measured.merge_lanes(w);
    if constexpr (kParts > 1) {
      if (threadIdx.x < kWarp && is_first && lane_index() % kRowLanes == 0) {
        turn.guess[lane_index() / kRowLanes] = of_guess;
      }
      measured = turn.merged(measured);
      if (is_first) of_guess = turn.guess[lane_index() / kRowLanes];
    }
    if (is_first) own = distance_above(of_guess, task.unit);
    nearest.merge(measured);

    const float reach = candidate_reach(own, nearest.best, task.unit);
    const bool ended = at >= length;
    beyond = kParts == 1 ? next[0].distance : entry(at).distance;
    const bool more = !ended && !(beyond > reach);
    if (decided && task.most < length && (more || (ended && !task.lists.complete))) {
      // The walk would be too long, or the list ends before the candidates do.
      decided = entry(static_cast<int>(task.most)).distance > reach;
    }
    if (!__any_sync(kAllLanes, exists && decided && more)) break;
  }

  if (own_first > 0) return 0;  // the first warp has the result
  const bool first_lane = exists && lane_index() % kRowLanes == 0;
  if (first_lane && decided) task.rows.nearest[position] = nearest.column;
  if (__any_sync(kAllLanes, exists && !decided)) {
    const float limit =
        task.rows.limit != nullptr && first_lane ? task.rows.limit[index] : std::numeric_limits<float>::infinity();
    task.rest.append(first_lane && !decided, position, limit);
  }
  return static_cast<Word>(rows) * static_cast<Word>(min(at, length) + 1);
}

/// A warp, or the kParts warps of a block, process consecutive rows of the sorted order, up to kRows rows with the same
/// guess at a time.
template <class T, int kParts>
__global__ void __launch_bounds__(kBlock, 2) walk_kernel(const __grid_constant__ WalkTask<T> task) {
  const std::int64_t count = task.rows.rows.count;
  const std::int64_t worker = kParts == 1 ? warp_index() : blockIdx.x, workers = kParts == 1 ? warp_count() : gridDim.x;
  Word distances = 0;
  for (std::int64_t base = worker * task.together; base < count; base += workers * task.together) {
    const int here = static_cast<int>(min(count - base, static_cast<std::int64_t>(task.together)));
    const std::int32_t index = task.order[base + min(lane_index(), here - 1)];
    const std::int32_t position = task.rows.rows.position(index);
    const std::int32_t guess = guess_of(task.rows.nearest[position], task.clusters);
    for (int from = 0; from < here;) {
      const std::int32_t common = __shfl_sync(kAllLanes, guess, from);
      const bool ends = lane_index() > from && (lane_index() >= here || guess != common);
      const unsigned ending = __ballot_sync(kAllLanes, ends);
      const int to = min(ending != 0 ? __ffs(static_cast<int>(ending)) - 1 : kWarp, from + kRows);
      const T* x[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        x[r] = task.values + __shfl_sync(kAllLanes, position, min(from + r, to - 1)) * task.d;
      }
      const int mine = min(from + lane_index() / kRowLanes, to - 1);
      const std::int64_t my_index = __shfl_sync(kAllLanes, index, mine);
      const std::int64_t my_position = __shfl_sync(kAllLanes, position, mine);
      distances += walk<T, kParts>(task, x, common, to - from, my_index, my_position);
      from = to;
    }
  }
  distances = block_sum(lane_index() == 0 ? distances : 0);
  if (threadIdx.x == 0) atomicAdd(task.distances, distances);
}

/// Eight values of fp16 in float32.
__device__ inline void widen(uint4 bits, float2 (&out)[kChunkValues / 2]) {
  __half2 values[kChunkValues / 2];
  memcpy(values, &bits, sizeof values);
#pragma unroll
  for (int t = 0; t < kChunkValues / 2; ++t) out[t] = __half22float2(values[t]);
}

/// A warp per row scores the columns of its best group in fp16. Eight lanes share a column: together they read whole
/// lines.
__global__ void guess_kernel(const uint4* points, Fp16Layout point_layout, const uint4* columns,
                             Fp16Layout column_layout, const float* half_sq_norm, std::int64_t clusters, RowChoice rows,
                             RowGroups groups, std::int32_t* nearest) {
  constexpr int kShared = kRowChunks, kAtOnce = kWarp / kShared, kSteps = kGroupColumns / kAtOnce;
  constexpr int kStep = 4 * kAtOnce * kRowChunks;  // chunks from a column to that kAtOnce further (slot_of_column)
  const int chunk = lane_index() % kShared, sub = lane_index() / kShared;
  for (std::int64_t i = warp_index(); i < rows.count; i += warp_count()) {
    const std::int32_t position = rows.position(i), label = nearest[position];
    if (label >= 0 && label < clusters) continue;
    const std::int64_t best = std::int64_t{groups.best(position)} * kGroupColumns;
    const std::int64_t begin = best < clusters ? best : 0;
    float product[kSteps] = {};
    if (chunk < point_layout.chunks) {
      const uint4* x = points + point_layout.place(position, 0, chunk);
      const uint4* c = columns + column_layout.place(slot_of_column(begin + sub), 0, chunk);
      for (int tile = 0; tile < point_layout.depth_tiles; ++tile) {
        float2 left[kChunkValues / 2];
        widen(*x, left);
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          float2 right[kChunkValues / 2];
          widen(__ldg(c + s * kStep), right);
#pragma unroll
          for (int t = 0; t < kChunkValues / 2; ++t) {
            product[s] = fmaf(left[t].x, right[t].x, fmaf(left[t].y, right[t].y, product[s]));
          }
        }
        x += kFp16TileRows * point_layout.chunks;
        c += kFp16TileRows * column_layout.chunks;
      }
    }
    float score = std::numeric_limits<float>::infinity();
    auto guess = static_cast<std::int32_t>(begin);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      for (int w = 1; w < kShared; w *= 2) product[s] += __shfl_xor_sync(kAllLanes, product[s], w);
      const auto column = static_cast<std::int32_t>(begin) + s * kAtOnce + sub;
      if (column >= clusters) continue;
      const float of_column = __ldg(&half_sq_norm[column]) - product[s];
      if (of_column < score) {
        score = of_column;
        guess = column;
      }
    }
    for (int w = kShared; w < kWarp; w *= 2) {
      const float other = __shfl_xor_sync(kAllLanes, score, w);
      const std::int32_t other_guess = __shfl_xor_sync(kAllLanes, guess, w);
      if (other < score) {
        score = other;
        guess = other_guess;
      }
    }
    if (lane_index() == 0) nearest[position] = guess;
  }
}

}  // namespace

template <class T>
double distance_unit(const HeldRows<T>& held) {
  return power_of_two(-fp16_exponent(held.plan.screen));
}

template <class T>
NearAssignment::NearAssignment(const HeldRows<T>& held, const double* centroids, std::int64_t clusters)
    : clusters_(clusters),
      lists_(held.pool(), clusters),
      order_(held.pool(), held.largest_block(), clusters),
      merged_(held.pool(), clusters),
      row_(held.pool(), held.largest_block()),
      limit_(held.pool(), held.largest_block()),
      counters_(held.pool(), 2) {
  held.stream().fill(counters_.data(), 0, 2);
  lists_.make(*held.context, centroids, held.columns(), distance_unit(held));
}

template <class T>
bool NearAssignment::make_local(const HeldRows<T>& held, std::int64_t length) {
  length = std::min(length, lists_.view().length);
  if (local_ && local_.length() >= length) return true;
  try {
    local_ = LocalScreen();
    local_ = LocalScreen(held, clusters_, length, held.largest_block());
    return true;
  } catch (const OutOfMemory&) {  // the definition does not need it
    return false;
  }
}

template <class T>
void NearAssignment::decide(const HeldRows<T>& held, const T* values, const double* centroids, const NearTask& chosen) {
  const Context& context = *held.context;
  NearTask rows = chosen;
  context.stream.fill(counters_.data(), 0, 1);
  if (rows.rows.count == 0) return;
  const CentroidListsView lists = lists_.view();
  const bool screens = rows.screened > 0 && make_local(held, rows.screened);
  if (screens && rows.merged) merged_.replace(context, lists, rows.rows, rows.nearest);
  if (screens) {
    order_.sort(context, rows.rows, rows.nearest);
    local_.decide(held, values, centroids, lists, {rows.rows, order_, rows.limit, rows.nearest, counters_.data() + 1});
    Word rest = 0;
    context.stream.download(&rest, local_.rest().count, 1);
    if (rest == 0) return;
    rows.rows = {local_.rest().row, static_cast<std::int64_t>(rest)};
    rows.limit = local_.rest().limit;
  }
  order_.sort(context, rows.rows, rows.nearest);
  std::int64_t most = lists.complete ? lists.length : lists.length - 1;
  if (rows.most > 0) most = std::min(most, rows.most);
  // Few rows are spread over all blocks, or over all warps.
  const std::int64_t blocks = std::int64_t{context.multiprocessors} * 2, warps = blocks * kBlockWarps;
  const bool shared = rows.rows.count <= blocks * kRows * kBlockWarps;
  const auto together = static_cast<int>(
      std::clamp<std::int64_t>(rows.rows.count / (shared ? blocks : warps), 1, shared ? kRows : kWarp));
  const WalkTask<T> task{values, held.columns(),      centroids, clusters_,      lists,
                         most,   distance_unit(held), together,  order_.order(), rows,
                         rest(), counters_.data() + 1};
  const auto kernel = shared ? walk_kernel<T, kBlockWarps> : walk_kernel<T, 1>;
  kernel<<<context.grid(rows.rows.count, std::int64_t{together} * (shared ? 1 : kBlockWarps)), kBlock, 0,
           context.stream>>>(task);
  check(cudaGetLastError());
}

NearCounts NearAssignment::download_counts(const Stream& stream) const {
  NearCounts counts;
  stream.download(&counts, reinterpret_cast<const NearCounts*>(counters_.data()), 1);
  return counts;
}

template <class T>
void guess_in_groups(const HeldRows<T>& held, const Block<T>& block, const Fp16Columns& columns, const RowChoice& rows,
                     const RowGroups& groups, std::int32_t* nearest) {
  const Fp16Layout shape = held.fp16.shape;
  guess_kernel<<<held.context->grid(rows.count, kBlockWarps), kBlock, 0, held.stream()>>>(
      fp16_tiles(held, block), shape, columns.centroids.values.data(), column_shape(held.columns()),
      columns.centroids.half_sq_norm.data(), columns.count, rows, groups, nearest);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                \
  template double distance_unit(const HeldRows<T>&);                                                       \
  template NearAssignment::NearAssignment(const HeldRows<T>&, const double*, std::int64_t);                \
  template void NearAssignment::decide(const HeldRows<T>&, const T*, const double*, const NearTask&);      \
  template void guess_in_groups(const HeldRows<T>&, const Block<T>&, const Fp16Columns&, const RowChoice&, \
                                const RowGroups&, std::int32_t*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
