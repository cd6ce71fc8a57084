// The refinement pass: a second screening pass over the ambiguous rows collects their candidates, the definition gives
// the distances, and the nearest is chosen: first the smallest distance, then the lowest column that has it.
//
// Few rows are ambiguous (below 1 % on separated data), with about two candidates each. The list of candidates is
// bounded: when it overflows (for example, if all centroids are equal), batches get smaller, down to one row.
#include "kernels/cuda/screen/refinement.h"

#include <algorithm>

#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kCandidates = std::int64_t{1} << 22;  // capacity for candidates, unless one row needs more

/// Epilogue of the refinement pass: counts all candidates, and appends those that fit.
class Candidates {
 public:
  struct Arguments {
    const float* half_sq_norm;  // (k)
    std::int64_t clusters;
    std::int64_t rows;   // of the batch
    const float* limit;  // (rows)
    CandidateOutput found;
  };

  struct Shared {};

  __device__ Candidates(const Arguments& arguments, Shared&, const TilePlace& place, std::int64_t first_row)
      : arguments_(arguments), place_(place), first_row_(first_row) {}

  __device__ void take(const float (&product)[8][8], std::int64_t first_column) {
    unsigned long long within = 0;
    float half_sq_norm[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::int64_t column = first_column + place_.column(j);
      half_sq_norm[j] = column < arguments_.clusters ? __ldg(&arguments_.half_sq_norm[column]) : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const std::int64_t row = first_row_ + place_.row(i);
      if (row >= arguments_.rows) continue;
      const float limit = __ldg(&arguments_.limit[row]);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const bool above =
            __fsub_rn(half_sq_norm[j], product[i][j]) > limit;  // false for a NaN, which excludes nothing
        const bool exists = first_column + place_.column(j) < arguments_.clusters;
        if (exists && !above) within |= 1ULL << (8 * i + j);
      }
    }
    if (within == 0) return;
    const CandidateOutput& found = arguments_.found;
    Word at = atomicAdd(found.count, static_cast<Word>(__popcll(within)));
    for (; within != 0; within &= within - 1, ++at) {
      if (at >= static_cast<Word>(found.capacity)) return;
      const int bit = __ffsll(static_cast<long long>(within)) - 1;
      found.list[at] = {static_cast<std::int32_t>(first_row_ + place_.row(bit / 8)),
                        static_cast<std::int32_t>(first_column + place_.column(bit % 8))};
    }
  }

  __device__ void finish() {}

 private:
  const Arguments& arguments_;
  const TilePlace& place_;
  std::int64_t first_row_;
};

/// Distances of the candidates, and the smallest of each row. Reads d values per candidate.
template <class T>
__global__ void distance_kernel(PointOperand<T> rows, const double* centroids, const Candidate* candidates, Count count,
                                double* distances, Word* smallest) {
  distances_of_pairs<T>(
      count.get(), rows.d,
      [&](std::int64_t i, const T*& x, const double*& c) {
        const Candidate candidate = candidates[i];
        x = rows.row(candidate.place);
        c = centroids + static_cast<std::int64_t>(candidate.column) * rows.d;
      },
      [&](std::int64_t i, double distance) {
        distances[i] = distance;
        atomicMin(&smallest[candidates[i].place], bits_of(distance));
      });
}

__global__ void choose_kernel(const Candidate* candidates, const double* distances, Count listed, const Word* smallest,
                              std::int32_t* nearest) {
  const std::int64_t count = listed.get();
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const Candidate candidate = candidates[i];
    if (bits_of(distances[i]) == smallest[candidate.place]) atomicMin(&nearest[candidate.place], candidate.column);
  }
}

__global__ void scatter_kernel(const std::int32_t* rows, const std::int32_t* chosen, Count listed,
                               std::int32_t* nearest) {
  const std::int64_t count = listed.get();
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) nearest[rows[i]] = chosen[i];
}

}  // namespace

RefinementWorkspace::RefinementWorkspace(Pool& pool, std::int64_t rows, std::int64_t clusters)
    : row_(pool, rows), limit_(pool, rows), counters_(pool, 2), smallest_(pool, rows), nearest_(pool, rows) {
  // At most all pairs; fewer when the device is nearly full.
  const std::int64_t all = clusters > kCandidates / rows ? kCandidates : clusters * rows;
  for (std::int64_t capacity = std::max(all, clusters);; capacity = std::max(capacity / 4, clusters)) {
    try {
      candidates_ = Buffer<Candidate>(pool, capacity);
      distances_ = Buffer<double>(pool, capacity);
      return;
    } catch (const OutOfMemory&) {
      if (capacity == clusters) throw;
      candidates_.release();
    }
  }
}

template <class T>
void collect_candidates(const HeldRows<T>& held, const CandidateOutput& candidates, const AmbiguousRows& ambiguous,
                        PointOperand<T> rows, const ScreenedOperand& columns, const float* half_sq_norm,
                        std::int64_t first, std::int64_t count) {
  rows.rows = count;
  rows.chosen = ambiguous.row + first;
  const TileGrid tiles = tile_grid(count, columns.rows, std::int64_t{held.context->multiprocessors} * 8);
  tile_kernel<PointOperand<T>, ScreenedOperand, Candidates><<<tiles.blocks(), kTileThreads, 0, held.stream()>>>(
      rows, columns, rows.d, tiles, {half_sq_norm, columns.rows, count, ambiguous.limit + first, candidates});
  check(cudaGetLastError());
}

template <class T>
void decide_listed(const HeldRows<T>& held, const RefinementWorkspace& workspace, const PointOperand<T>& rows,
                   const double* centroids, Count count, std::int32_t* nearest) {
  distance_kernel<<<held.context->grid(count.most, kBlockWarps * 4), kBlock, 0, held.stream()>>>(
      rows, centroids, workspace.candidates(), count, workspace.distances(), workspace.smallest());
  check(cudaGetLastError());
  choose_kernel<<<held.context->grid(count.most, kBlock), kBlock, 0, held.stream()>>>(
      workspace.candidates(), workspace.distances(), count, workspace.smallest(), nearest);
  check(cudaGetLastError());
}

template <class T>
void decide_batch(const HeldRows<T>& held, const RefinementWorkspace& workspace, const ListedBatch<T>& batch,
                  const double* centroids, std::int32_t* nearest) {
  const Stream& stream = held.stream();
  PointOperand<T> rows = batch.rows;
  rows.rows = batch.count.most;
  stream.fill(workspace.smallest(), 0xFF, rows.rows);
  stream.fill(workspace.nearest(), 0x7F, rows.rows);  // 0x7F7F7F7F is above every column that fits in memory
  decide_listed(held, workspace, rows, centroids, batch.candidates, workspace.nearest());
  scatter_kernel<<<held.context->grid(rows.rows, kBlock), kBlock, 0, stream>>>(batch.positions, workspace.nearest(),
                                                                               batch.count, nearest);
  check(cudaGetLastError());
}

template <class T>
RefinementCounts refine(const HeldRows<T>& held, const Block<T>& block, const RefinementWorkspace& workspace,
                        const RefinementWork& work, const double* centroids, std::int32_t* nearest) {
  const Stream& stream = held.stream();
  RefinementCounts counts{work.count, 0};
  std::int64_t batch = work.largest_batch;
  for (std::int64_t first = 0; first < counts.rows;) {
    const std::int64_t rows = std::min(batch, counts.rows - first);
    const std::int32_t* positions = work.ambiguous.row + first;
    stream.fill(workspace.candidate_count(), 0, 1);
    work.collect(first, rows);
    Word listed = 0;
    stream.download(&listed, workspace.candidate_count(), 1);
    const auto count = static_cast<std::int64_t>(listed);
    if (count > workspace.capacity()) {
      batch = std::max<std::int64_t>(std::min(rows / 2, rows * workspace.capacity() / count), 1);
      continue;
    }

    const ChosenValues<T> chosen = held.chosen_on_device(block, positions, rows);
    PointOperand<T> operand = point_operand(held, chosen.values, rows);
    operand.chosen = chosen.chosen;
    decide_batch(held, workspace, {operand, positions, rows, count}, centroids, nearest);
    counts.candidates += count;
    first += rows;
    if (count < workspace.capacity() / 4) batch = std::min(2 * batch, work.largest_batch);
  }
  return counts;
}

#define KITH_INSTANTIATE(T)                                                                                           \
  template void decide_listed(const HeldRows<T>&, const RefinementWorkspace&, const PointOperand<T>&, const double*,  \
                              Count, std::int32_t*);                                                                  \
  template void decide_batch(const HeldRows<T>&, const RefinementWorkspace&, const ListedBatch<T>&, const double*,    \
                             std::int32_t*);                                                                          \
  template void collect_candidates(const HeldRows<T>&, const CandidateOutput&, const AmbiguousRows&, PointOperand<T>, \
                                   const ScreenedOperand&, const float*, std::int64_t, std::int64_t);                 \
  template RefinementCounts refine(const HeldRows<T>&, const Block<T>&, const RefinementWorkspace&,                   \
                                   const RefinementWork&, const double*, std::int32_t*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
