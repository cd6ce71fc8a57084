// Selection for the float32 search: the k-th smallest score by radix selection, the rows within the margin of it, and
// the merge of sorted lists by rank.
//
// If k is well below the number of groups of 64 scores, the selection reads the group minima: the k-th smallest group
// minimum bounds the k-th smallest score from above and is close to it. Scores are read only in groups whose minimum is
// within the limit. A selection reads 4 / 64 bytes per score four times; the screen takes 2 d operations per score.
#include "kernels/cuda/search/candidate_lists.h"

#include <limits>

#include "kernels/cuda/device/select.h"

namespace kith::cuda {
namespace {

constexpr int kSelectThreads = 512;

__global__ void limit_kernel(ScoreBlock block, LimitRequest request) {
  __shared__ Selection shared;
  const std::int64_t q = blockIdx.x;
  const std::int64_t excluded = block.excluded + q;
  const bool has_excluded = block.has_excluded && excluded >= 0 && excluded < block.rows;
  // The excluded row is among the scores and may have the smallest.
  const std::int64_t rank = request.neighbors + (has_excluded ? 1 : 0);
  const std::int64_t filled_groups = (block.rows + kGroupColumns - 1) / kGroupColumns;
  float bound = std::numeric_limits<float>::infinity();
  if (rank * 4 <= filled_groups) {
    bound = select(block.group_min + q * block.groups(), filled_groups, static_cast<std::uint32_t>(rank), shared);
  } else if (rank <= block.rows) {
    bound = select(block.scores + q * block.pitch, block.rows, static_cast<std::uint32_t>(rank), shared);
  }
  if (threadIdx.x != 0) return;
  if (!request.first_slice) bound = fminf(bound, request.bound[q]);
  request.bound[q] = bound;
  request.limit[q] = __fadd_ru(bound, request.margin.at(request.norm[q]));
}

/// The candidates of a query in a group: bit i stands for column group * kGroupColumns + i.
__device__ std::uint64_t candidates_of(const ScoreBlock& block, std::int64_t q, std::int64_t group, float limit) {
  static_assert(kGroupColumns == 64, "one bit per column");
  if (block.group_min[q * block.groups() + group] > limit) return 0;
  const std::int64_t first = group * kGroupColumns;
  const auto* scores = reinterpret_cast<const float4*>(block.scores + q * block.pitch + first);
  std::uint64_t candidates = 0;
#pragma unroll 4
  for (int i = 0; i < kGroupColumns / 4; ++i) {
    const float4 four = scores[i];  // !(>) so that a NaN is a candidate
    const unsigned bits = (four.x > limit ? 0U : 1U) | (four.y > limit ? 0U : 2U) | (four.z > limit ? 0U : 4U) |
                          (four.w > limit ? 0U : 8U);
    candidates |= static_cast<std::uint64_t>(bits) << (4 * i);
  }
  if (block.rows - first < kGroupColumns) candidates &= (std::uint64_t{1} << (block.rows - first)) - 1;
  const std::int64_t excluded = block.excluded + q - first;
  if (block.has_excluded && excluded >= 0 && excluded < kGroupColumns) candidates &= ~(std::uint64_t{1} << excluded);
  return candidates;
}

__global__ void count_kernel(ScoreBlock block, const float* limit, std::int64_t* counts) {
  const std::int64_t q = blockIdx.x;
  const std::int64_t filled_groups = (block.rows + kGroupColumns - 1) / kGroupColumns;
  Word count = 0;
  for (std::int64_t group = threadIdx.x; group < filled_groups; group += kBlock) {
    count += static_cast<Word>(__popcll(candidates_of(block, q, group, limit[q])));
  }
  count = block_sum(count);
  if (threadIdx.x == 0) counts[q] = static_cast<std::int64_t>(count);
}

__global__ void list_kernel(ScoreBlock block, const float* limit, std::int64_t first_query, CandidateList list) {
  const std::int64_t q = first_query + blockIdx.x;
  const std::int64_t filled_groups = (block.rows + kGroupColumns - 1) / kGroupColumns;
  std::int64_t end = list.offset[q];
  for (std::int64_t base = 0; base < filled_groups; base += kBlock) {
    const std::int64_t group = base + threadIdx.x;
    std::uint64_t candidates = group < filled_groups ? candidates_of(block, q, group, limit[q]) : 0;
    const BlockPrefix prefix = block_prefix(static_cast<std::uint32_t>(__popcll(candidates)));
    for (std::int64_t i = end + prefix.before; candidates != 0; candidates &= candidates - 1, ++i) {
      list.row[i] = static_cast<std::int32_t>(group * kGroupColumns + __ffsll(static_cast<long long>(candidates)) - 1);
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

}  // namespace kith::cuda
