// Lists of neighbours from group minima: a limit for the scores of the k nearest rows, the groups within the limit,
// their rows within the limit, the distances of these rows by the definition, and a sort.
//
// The limit is the k-th smallest group minimum plus the margin: k groups each contain a row at or below that minimum.
// If k is well below the number of groups, few groups contain two of the k nearest rows, so that little more than k
// groups are within the limit. A warp computes the scores of the 32 rows of such a group again, with float32 sums, and
// the distances of the rows within the limit. A query reads its block minima, 64 bytes for each within the limit, and
// 64 d bytes for each group within it. For long lists a second product that lists the rows takes less.
#include "kernels/cuda/search/fp16_lists.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/search/list_kernels.h"

namespace kith::cuda {
namespace {

template <class T, Measure M>
__global__ void __launch_bounds__(kMaxListThreads)
    lists_kernel(const SearchBase<T> base, const SearchQueries queries, const ListLimits limits,
                 const DenseQueries dense, const ListOutput out) {
  extern __shared__ __align__(16) unsigned char candidate_memory[];
  __shared__ ListShared shared;
  find_list<M>(base, queries, blockIdx.x, limits, dense, out, candidate_memory, shared);
}

template <class T>
__global__ void limits_kernel(const SearchBase<T> base, const SearchQueries queries, float* out) {
  __shared__ Selection selection;
  const float limit = limit_of(base, queries, blockIdx.x, selection);
  if (threadIdx.x == 0) out[blockIdx.x] = limit;
}

template <class T, Measure M>
__global__ void __launch_bounds__(kMaxListThreads)
    listed_kernel(const SearchBase<T> base, const SearchQueries queries, const RowLists listed,
                  const DenseQueries dense, const ListOutput out, unsigned capacity) {
  extern __shared__ __align__(16) unsigned char candidate_memory[];
  __shared__ ListShared shared;
  if (dense.count != nullptr && blockIdx.x >= *dense.count) return;
  const std::int64_t q = dense.count != nullptr ? dense.query[blockIdx.x] : blockIdx.x;
  const std::int64_t excluded = excluded_by(queries, q, base.rows);
  const Candidates candidates = candidates_in(candidate_memory, capacity, &shared.count);
  const unsigned count = listed.count[blockIdx.x];  // includes rows that are not in a list that overflowed
  const std::int32_t* rows = listed.row + listed.first(blockIdx.x);
  ListedCandidates found{0, 0, count <= listed.capacity};
  // As many at a time as fit in shared memory, with the nearest of those before.
  for (unsigned begin = 0; found.complete && begin < count;) {
    const unsigned end = min(begin + capacity - found.ordered, count);
    if (threadIdx.x == 0) shared.count = found.ordered;
    __syncthreads();
    for (unsigned first = begin + threadIdx.x / kWarp * kWarp; first < end; first += blockDim.x) {
      const unsigned i = first + lane_index();
      const std::int32_t row = i < end ? rows[i] : kNoRow;
      candidates.append(row != kNoRow && row != excluded, row);
    }
    __syncthreads();
    unsigned held = shared.count;
    found.all += held - found.ordered;
    measure_candidates<M>(base, queries.values + queries.number_of(q) * base.d, candidates, found.ordered, held);
    __syncthreads();
    const auto neighbors = static_cast<unsigned>(queries.neighbors);
    if (found.ordered == neighbors) held = drop_behind(candidates, neighbors - 1, neighbors, held);
    sort_candidates(candidates, held);
    found.ordered = min(held, neighbors);
    begin = end;
  }
  found.complete = found.complete && found.all >= queries.neighbors;
  write_ordered(base, queries, q, candidates, found, out);
}

}  // namespace

std::int64_t largest_candidate_capacity(const Context& context) {
  int max_shared = 0;
  check(cudaDeviceGetAttribute(&max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device));
  constexpr std::int64_t kReserved = 4096;  // shared memory besides the candidates
  const std::int64_t fitting = std::max<std::int64_t>(max_shared - kReserved, 0) / kCandidateBytes;
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fitting)));
}

bool can_find_lists(const Context& context, std::int64_t rows, std::int64_t neighbors, std::int64_t candidates) {
  // With lists longer than half the number of groups, many groups contain more than one of the k nearest rows.
  if (2 * (neighbors + 1) > rows / kFp16Columns * kQuarters) return false;
  return candidates <= largest_candidate_capacity(context);
}

std::int64_t candidate_capacity(std::int64_t neighbors) {
  const auto twice = static_cast<std::int64_t>(std::bit_ceil(2 * static_cast<std::uint64_t>(neighbors)));
  return std::max(kMinCandidates, twice);
}

template <class T>
void find_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                const ListLimits& limits, const ListOutput& out, const DenseQueries& dense) {
  const auto kernel = base.measure == Measure::inner_product ? lists_kernel<T, Measure::inner_product>
                                                             : lists_kernel<T, Measure::squared_euclidean>;
  launch_lists(context, kernel, queries.count, limits.candidates, base, queries, limits, dense, out);
}

template <class T>
void find_limits(const Context& context, const SearchBase<T>& base, const SearchQueries& queries, float* limit) {
  limits_kernel<<<static_cast<unsigned>(queries.count), kMaxListThreads, 0, context.stream>>>(base, queries, limit);
  check(cudaGetLastError());
}

template <class T>
void finish_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                  const RowLists& listed, const ListOutput& out, const DenseQueries& dense) {
  const auto kernel = base.measure == Measure::inner_product ? listed_kernel<T, Measure::inner_product>
                                                             : listed_kernel<T, Measure::squared_euclidean>;
  const std::int64_t capacity = candidate_capacity(queries.neighbors);
  launch_lists(context, kernel, queries.count, capacity, base, queries, listed, dense, out,
               static_cast<unsigned>(capacity));
}

#define KITH_INSTANTIATE(T)                                                                               \
  template void find_lists(const Context&, const SearchBase<T>&, const SearchQueries&, const ListLimits&, \
                           const ListOutput&, const DenseQueries&);                                       \
  template void find_limits(const Context&, const SearchBase<T>&, const SearchQueries&, float*);          \
  template void finish_lists(const Context&, const SearchBase<T>&, const SearchQueries&, const RowLists&, \
                             const ListOutput&, const DenseQueries&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
