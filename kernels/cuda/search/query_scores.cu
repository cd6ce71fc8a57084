// Scores by the float32 tile product with an epilogue that stores every score, and by the definition for other
// measures.
//
// Scores take 2 q n d float32 operations (device/tile.h states the limit), or as many in float64 by the definition, and
// 4 bytes written per score.
#include "kernels/cuda/search/query_scores.h"

#include <algorithm>
#include <limits>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/with_measure.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {
namespace {

/// Epilogue: stores the scores and the group minima.
class StoreScores {
 public:
  struct Arguments {
    const float* half_sq_norm;  // (rows of the slice)
    ScoreBlock block;
  };

  struct Shared {};

  __device__ StoreScores(const Arguments& arguments, Shared&, const TilePlace& place, std::int64_t first_row)
      : arguments_(arguments), place_(place), first_query_(first_row) {}

  __device__ void take(const float (&product)[8][8], std::int64_t first_column) {
    const ScoreBlock& block = arguments_.block;
    float half_sq_norm[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::int64_t column = first_column + place_.column(j);
      half_sq_norm[j] =
          column < block.rows ? __ldg(&arguments_.half_sq_norm[column]) : std::numeric_limits<float>::infinity();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const std::int64_t query = first_query_ + place_.row(i);
      float score[8], smallest = std::numeric_limits<float>::infinity();
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        score[j] = __fsub_rn(half_sq_norm[j], product[i][j]);
        smallest = fminf(smallest, score[j]);
      }
      smallest = smallest_of_row(smallest);
      if (query >= block.queries) continue;
      float* out = block.scores + query * block.pitch + first_column;
      *reinterpret_cast<float4*>(out + place_.column(0)) = make_float4(score[0], score[1], score[2], score[3]);
      *reinterpret_cast<float4*>(out + place_.column(4)) = make_float4(score[4], score[5], score[6], score[7]);
      if (place_.first_of_row()) {
        block.group_min[query * block.groups() + (first_column + place_.column0) / kGroupColumns] = smallest;
      }
    }
  }

  __device__ void finish() {}

 private:
  const Arguments& arguments_;
  const TilePlace& place_;
  std::int64_t first_query_;
};

constexpr int kSide = 4;  // a warp computes kSide x kSide distances at a time

/// Scores that are D rounded down to float32, which preserves the order of D except for ties. Columns from block.rows
/// on become infinite.
template <class T, Measure M>
__global__ void exact_scores_kernel(const T* values, std::int64_t d, const double* queries, ScoreBlock block) {
  constexpr int kPairLanes = kWarp / (kSide * kSide);
  const int pair = lane_index() / kPairLanes;
  const std::int64_t row_groups = block.pitch / kSide, query_groups = (block.queries + kSide - 1) / kSide;
  for (std::int64_t item = warp_index(); item < row_groups * query_groups; item += warp_count()) {
    const std::int64_t first_row = item % row_groups * kSide, first_query = item / row_groups * kSide;
    const T* x[kSide];
    const double* c[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      x[i] = values + min(first_row + i, block.rows - 1) * d;
      c[i] = queries + min(first_query + i, block.queries - 1) * d;
    }
    double sum[kSide * kSide];
    accumulate_grid<M>(x, c, d, sum);
    const double distance = add_lanes<kSide * kSide, M>(sum);
    const std::int64_t row = first_row + pair / kSide, query = first_query + pair % kSide;
    if (lane_index() % kPairLanes != 0 || query >= block.queries) continue;
    block.scores[query * block.pitch + row] =
        row < block.rows ? __double2float_rd(distance) : std::numeric_limits<float>::infinity();
  }
}

/// The smallest score of each group of each query, one group per thread.
__global__ void group_kernel(ScoreBlock block) {
  const std::int64_t count = block.queries * block.groups();
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const auto* scores = reinterpret_cast<const float4*>(block.scores + i * kGroupColumns);
    float smallest = std::numeric_limits<float>::infinity();
#pragma unroll 4
    for (int j = 0; j < kGroupColumns / 4; ++j) {
      const float4 four = scores[j];
      smallest = fminf(smallest, fminf(fminf(four.x, four.y), fminf(four.z, four.w)));
    }
    block.group_min[i] = smallest;
  }
}

template <class T, Measure M>
__global__ void pairs_kernel(const T* values, std::int64_t d, const double* queries, QueryPairs pairs,
                             double* distances) {
  distances_of_pairs<T, M>(
      pairs.count, d,
      [&](std::int64_t i, const T*& x, const double*& c) {
        x = values + pairs.row[i] * d;
        c = queries + pairs.query[i] * d;
      },
      [&](std::int64_t i, double distance) { distances[i] = distance; });
}

}  // namespace

ScoreSizes score_sizes(std::int64_t rows, std::int64_t queries, std::int64_t spare_bytes, std::int64_t query_bytes,
                       std::int64_t candidate_bytes) {
  constexpr std::int64_t kMaxSliceRows = std::int64_t{1} << 19;
  constexpr std::int64_t kMaxScores = std::int64_t{1} << 27;
  constexpr std::int64_t kMaxBatchQueries = 8192;
  constexpr std::int64_t kMaxCandidates = std::int64_t{1} << 22;
  const std::int64_t share = std::max<std::int64_t>(spare_bytes / 8, 1);
  ScoreSizes sizes;
  sizes.rows = std::min({rows, kMaxSliceRows, std::max<std::int64_t>(share / 32 / kTileColumns, 1) * kTileColumns});
  sizes.pitch = (sizes.rows + kTileColumns - 1) / kTileColumns * kTileColumns;
  const std::int64_t fitting =
      std::min<std::int64_t>(kMaxScores, share / static_cast<std::int64_t>(sizeof(float))) / sizes.pitch;
  sizes.queries =
      std::clamp<std::int64_t>(std::min({fitting, share / query_bytes, kMaxBatchQueries, queries}), 1, queries);
  sizes.candidates =
      std::max(std::min({kMaxCandidates, sizes.queries * sizes.pitch, share / candidate_bytes}), sizes.pitch);
  return sizes;
}

template <class T>
void screen_queries(const HeldRows<T>& held, const QueryBatch& batch, ScreenedCopies& out) {
  if (batch.measure == Measure::squared_euclidean) return screen_copies(held, batch.values, batch.queries, out);
  held.stream().fill(out.norm.data(), 0, batch.queries);
}

template <class T>
ScreenMargin score_margin(const HeldRows<T>& held, Measure measure) {
  if (measure != Measure::squared_euclidean) return {};
  return tile_margin(held.largest, held.columns(), held.plan.screen.exponent);
}

template <class T>
void score_rows(const HeldRows<T>& held, const QueryBatch& batch, const T* values, std::int64_t first,
                const ScoreBlock& block) {
  const Stream& stream = held.stream();
  if (batch.measure == Measure::squared_euclidean) {
    const ScreenedOperand queries{batch.screened->values.data(), batch.queries, batch.screened->pitch};
    const TileGrid tiles = tile_grid(batch.queries, block.rows, std::int64_t{held.context->multiprocessors} * 16);
    tile_kernel<ScreenedOperand, PointOperand<T>, StoreScores><<<tiles.blocks(), kTileThreads, 0, stream>>>(
        queries, point_operand(held, values, block.rows), static_cast<int>(held.columns()), tiles,
        {held.half_sq_norm.data() + first, block});
    return check(cudaGetLastError());
  }
  static_assert(kTileColumns % kSide == 0, "a pitch is a multiple of kSide");
  with_measure(batch.measure, [&](auto measure) {
    exact_scores_kernel<T, measure.value>
        <<<held.context->grid(block.pitch * batch.queries, kBlockWarps * kSide * kSide), kBlock, 0, stream>>>(
            values, held.columns(), batch.values, block);
  });
  check(cudaGetLastError());
  group_kernel<<<held.context->grid(block.queries * block.groups(), kBlock), kBlock, 0, stream>>>(block);
  check(cudaGetLastError());
}

template <class T>
void measure_pairs(const HeldRows<T>& held, const QueryBatch& batch, const T* values, const QueryPairs& pairs,
                   double* distances) {
  with_measure(batch.measure, [&](auto measure) {
    pairs_kernel<T, measure.value><<<held.context->grid(pairs.count, kBlockWarps * 4), kBlock, 0, held.stream()>>>(
        values, held.columns(), batch.values, pairs, distances);
  });
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                   \
  template void screen_queries(const HeldRows<T>&, const QueryBatch&, ScreenedCopies&);                       \
  template ScreenMargin score_margin(const HeldRows<T>&, Measure);                                            \
  template void score_rows(const HeldRows<T>&, const QueryBatch&, const T*, std::int64_t, const ScoreBlock&); \
  template void measure_pairs(const HeldRows<T>&, const QueryBatch&, const T*, const QueryPairs&, double*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
