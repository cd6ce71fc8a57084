// Scores by the float32 tile product with an epilogue that stores every score, and by the definition for other
// measures; the k-th smallest score by radix selection, the rows within the margin of it, and the merge of sorted lists
// by rank.
//
// Scores take 2 q n d float32 operations (device/tile.h states the limit), or as many in float64 by the definition, and
// 4 bytes written per score. If k is well below the number of groups of 64 scores, the selection reads the group
// minima: the k-th smallest group minimum bounds the k-th smallest score from above and is close to it. Scores are read
// only in groups whose minimum is within the limit. A selection reads 4 / 64 bytes per score four times.
#include "kernels/cuda/search/float32_scores.h"

#include <limits>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/select.h"
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
        block.group_min[query * block.groups() + (first_column + place_.column0) / kBlockColumns] = smallest;
      }
    }
  }

  __device__ void finish() {}

 private:
  const Arguments& arguments_;
  const TilePlace& place_;
  std::int64_t first_query_;
};

/// Scores that are D rounded down to float32, which preserves the order of D except for ties. Columns from block.rows
/// on become infinite.
template <class T, Measure M>
__global__ void exact_scores_kernel(DistanceGrid<T> grid, ScoreBlock block) {
  distances_of_grid<M>(grid, [&](std::int64_t row, std::int64_t query, double distance) {
    block.scores[query * block.pitch + row] =
        row < block.rows ? __double2float_rd(distance) : std::numeric_limits<float>::infinity();
  });
}

/// The smallest score of each group of each query, one group per thread.
__global__ void group_kernel(ScoreBlock block) {
  const std::int64_t count = block.queries * block.groups();
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const auto* scores = reinterpret_cast<const float4*>(block.scores + i * kBlockColumns);
    float smallest = std::numeric_limits<float>::infinity();
#pragma unroll 4
    for (int j = 0; j < kBlockColumns / 4; ++j) {
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

ScoreSizes score_sizes(std::int64_t rows, std::int64_t queries, Measure measure, std::int64_t spare_bytes,
                       std::int64_t query_bytes, std::int64_t candidate_bytes) {
  const bool writes_few = is_of_bits(measure);
  const std::int64_t most_rows = std::int64_t{1} << (writes_few ? 20 : 19);
  const std::int64_t most_scores = std::int64_t{1} << (writes_few ? 31 : 27);
  constexpr std::int64_t kMaxBatchQueries = 8192;
  constexpr std::int64_t kMaxCandidates = std::int64_t{1} << 22;
  const std::int64_t share = std::max<std::int64_t>(spare_bytes / 8, 1);
  ScoreSizes sizes;
  sizes.rows = std::min({rows, most_rows, std::max<std::int64_t>(share / 32 / kTileColumns, 1) * kTileColumns});
  sizes.pitch = (sizes.rows + kTileColumns - 1) / kTileColumns * kTileColumns;
  const std::int64_t fitting =
      std::min<std::int64_t>(most_scores, share / static_cast<std::int64_t>(sizeof(float))) / sizes.pitch;
  sizes.queries =
      std::clamp<std::int64_t>(std::min({fitting, share / query_bytes, kMaxBatchQueries, queries}), 1, queries);
  sizes.candidates =
      std::max(std::min({kMaxCandidates, sizes.queries * sizes.pitch, share / candidate_bytes}), sizes.pitch);
  return sizes;
}

template <class T>
void screen_queries(const HeldRows<T>& held, const QueryBatch& batch, ScreenedCopies& out) {
  if (batch.measure == Measure::squared_euclidean) return screen_copies(held, batch.values, batch.queries, out);
  if (multiplies_bits(*held.context, batch.measure, held.columns()))
    pack_bit_queries(*held.context, batch.values, batch.queries, held.columns(), out);
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
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (multiplies_bits(*held.context, batch.measure, held.columns())) return score_bits(held, batch, values, block);
  }
  const DistanceGrid<T> grid{values, block.rows, block.pitch, batch.values, block.queries, held.columns()};
  with_measure<T>(batch.measure, [&](auto measure) {
    exact_scores_kernel<T, measure.value>
        <<<held.context->grid(grid.items(), kBlockWarps), kBlock, 0, stream>>>(grid, block);
  });
  check(cudaGetLastError());
  group_kernel<<<held.context->grid(block.queries * block.groups(), kBlock), kBlock, 0, stream>>>(block);
  check(cudaGetLastError());
}

template <class T>
void measure_pairs(const HeldRows<T>& held, const QueryBatch& batch, const T* values, const QueryPairs& pairs,
                   double* distances) {
  with_measure<T>(batch.measure, [&](auto measure) {
    pairs_kernel<T, measure.value><<<held.context->grid(pairs.count, kBlockWarps * 4), kBlock, 0, held.stream()>>>(
        values, held.columns(), batch.values, pairs, distances);
  });
  check(cudaGetLastError());
}

namespace {

constexpr int kSelectThreads = 512;

__global__ void limit_kernel(ScoreBlock block, LimitRequest request) {
  __shared__ Selection shared;
  const std::int64_t q = blockIdx.x;
  const std::int64_t excluded = block.excluded + q;
  const bool has_excluded = block.has_excluded && excluded >= 0 && excluded < block.rows;
  // The excluded row is among the scores and may have the smallest.
  const std::int64_t rank = request.neighbors + (has_excluded ? 1 : 0);
  const std::int64_t filled_groups = (block.rows + kBlockColumns - 1) / kBlockColumns;
  float bound = std::numeric_limits<float>::infinity();
  if (takes_group_minima(rank, block.rows)) {
    bound = select(block.group_min + q * block.groups(), filled_groups, static_cast<std::uint32_t>(rank), shared);
  } else if (rank <= block.rows) {
    bound = select(block.scores + q * block.pitch, block.rows, static_cast<std::uint32_t>(rank), shared);
  }
  if (threadIdx.x != 0) return;
  if (!request.first_slice) bound = fminf(bound, request.bound[q]);
  request.bound[q] = bound;
  const float limit = __fadd_ru(bound, request.margin.at(request.norm[q]));
  request.limit[q] = request.has_limit ? fminf(limit, request.limit[q]) : limit;
}

/// The candidates of a query in a group: bit i stands for column group * kBlockColumns + i.
__device__ std::uint64_t candidates_of(const ScoreBlock& block, std::int64_t q, std::int64_t group, float limit) {
  static_assert(kBlockColumns == 64, "one bit per column");
  if (block.group_min[q * block.groups() + group] > limit) return 0;
  const std::int64_t first = group * kBlockColumns;
  const auto* scores = reinterpret_cast<const float4*>(block.scores + q * block.pitch + first);
  std::uint64_t candidates = 0;
#pragma unroll 4
  for (int i = 0; i < kBlockColumns / 4; ++i) {
    const float4 four = scores[i];  // !(>) so that a NaN is a candidate
    const unsigned bits = (four.x > limit ? 0U : 1U) | (four.y > limit ? 0U : 2U) | (four.z > limit ? 0U : 4U) |
                          (four.w > limit ? 0U : 8U);
    candidates |= static_cast<std::uint64_t>(bits) << (4 * i);
  }
  if (block.rows - first < kBlockColumns) candidates &= (std::uint64_t{1} << (block.rows - first)) - 1;
  const std::int64_t excluded = block.excluded + q - first;
  if (block.has_excluded && excluded >= 0 && excluded < kBlockColumns) candidates &= ~(std::uint64_t{1} << excluded);
  return candidates;
}

__global__ void count_kernel(ScoreBlock block, const float* limit, std::int64_t* counts) {
  const std::int64_t q = blockIdx.x;
  const std::int64_t filled_groups = (block.rows + kBlockColumns - 1) / kBlockColumns;
  Word count = 0;
  for (std::int64_t group = threadIdx.x; group < filled_groups; group += kBlock) {
    count += static_cast<Word>(__popcll(candidates_of(block, q, group, limit[q])));
  }
  count = block_sum(count);
  if (threadIdx.x == 0) counts[q] = static_cast<std::int64_t>(count);
}

__global__ void list_kernel(ScoreBlock block, const float* limit, std::int64_t first_query, CandidateList list) {
  const std::int64_t q = first_query + blockIdx.x;
  const std::int64_t filled_groups = (block.rows + kBlockColumns - 1) / kBlockColumns;
  std::int64_t end = list.offset[q];
  for (std::int64_t base = 0; base < filled_groups; base += kBlock) {
    const std::int64_t group = base + threadIdx.x;
    std::uint64_t candidates = group < filled_groups ? candidates_of(block, q, group, limit[q]) : 0;
    const BlockPrefix prefix = block_prefix(static_cast<std::uint32_t>(__popcll(candidates)));
    for (std::int64_t i = end + prefix.before; candidates != 0; candidates &= candidates - 1, ++i) {
      list.row[i] = static_cast<std::int32_t>(group * kBlockColumns + __ffsll(static_cast<long long>(candidates)) - 1);
      list.query[i] = static_cast<std::int32_t>(q);
    }
    end += prefix.total;
  }
}

/// A thread block per query.
__global__ void merge_kernel(DeviceLists from, DeviceLists to, std::int64_t neighbors, NewNeighbors added,
                             std::int64_t first_query) {
  const std::int64_t q = first_query + blockIdx.x, list = q * neighbors, begin = added.offset[q];
  const auto old_entry = [&](std::int64_t i) { return ListEntry{from.distance[list + i], from.index[list + i]}; };
  const auto new_entry = [&](std::int64_t i) {
    return ListEntry{added.distance[begin + i], added.first_row + added.row[begin + i]};
  };
  const ListPair lists{old_entry, new_entry, neighbors, min(added.offset[q + 1] - begin, neighbors)};
  merge_by_rank(lists, threadIdx.x, kBlock, [&](std::int64_t i, const ListEntry& entry) {
    if (i >= neighbors) return;
    to.distance[list + i] = entry.distance;
    to.index[list + i] = entry.index;
  });
}

}  // namespace

void find_limits(const Stream& stream, const ScoreBlock& block, const LimitRequest& request) {
  limit_kernel<<<static_cast<unsigned>(block.queries), kSelectThreads, 0, stream>>>(block, request);
  check(cudaGetLastError());
}

void count_candidates(const Stream& stream, const ScoreBlock& block, const float* limit, std::int64_t* counts) {
  count_kernel<<<static_cast<unsigned>(block.queries), kBlock, 0, stream>>>(block, limit, counts);
  check(cudaGetLastError());
}

void list_candidates(const Stream& stream, const ScoreBlock& block, const float* limit, std::int64_t first,
                     std::int64_t count, const CandidateList& list) {
  list_kernel<<<static_cast<unsigned>(count), kBlock, 0, stream>>>(block, limit, first, list);
  check(cudaGetLastError());
}

void merge_lists(const Stream& stream, const DeviceLists& from, const DeviceLists& to, std::int64_t neighbors,
                 const NewNeighbors& added, std::int64_t first, std::int64_t count) {
  merge_kernel<<<static_cast<unsigned>(count), kBlock, 0, stream>>>(from, to, neighbors, added, first);
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
