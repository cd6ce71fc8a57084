// Lists of neighbours from group minima: a limit for the scores of the k nearest rows, the groups within the limit,
// their rows within the limit, the distances of these rows by the definition, and a sort.
//
// The limit is the k-th smallest group minimum plus the margin: k groups each contain a row at or below that minimum.
// If k is well below the number of groups, few groups contain two of the k nearest rows, so that little more than k
// groups are within the limit. A warp computes the scores of the 32 rows of such a group again, with float32 sums, and
// the distances of the rows within the limit. A query reads its block minima, 64 bytes for each within the limit, and
// 64 d bytes for each group within it. For long lists a second product that lists the rows takes less.
#include "kernels/cuda/search/fp16_lists.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <bit>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/select.h"

namespace kith::cuda {
namespace {

constexpr int kListTileChunks = kFp16TileRows * kRowChunks;
constexpr int kMaxListThreads = 1024;
constexpr std::int32_t kNoRow = INT_MAX;  // sorts after all rows

/// Adds eight fp16 products to a float32 sum.
__device__ float add_products(float sum, const float2 (&x)[4], const uint4& c) {
  const unsigned pairs[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&pairs[i]));
    sum = __fmaf_rn(x[i].x, two.x, sum);
    sum = __fmaf_rn(x[i].y, two.y, sum);
  }
  return sum;
}

/// The row of a tile whose product group_products() returns in this lane.
__device__ int row_of_lane(int quarter) {
  const int lane = lane_index();
  return lane % 8 * 16 + lane / 16 * 8 + quarter * 2 + lane / 8 % 2;
}

/// The products of query q with the 32 rows of a group, one per lane. Eight lanes share a row's 128 bytes of a tile, in
/// memory order; the permutation of the chunks is the same for all rows of a lane.
template <class T>
__device__ float group_products(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q,
                                std::int64_t tile, int quarter) {
  const int lane = lane_index(), slot = lane % 8, row = lane / 16 * 8 + quarter * 2 + lane / 8 % 2;
  const int chunk = slot ^ row % 8;
  const int depth_tiles = queries.shape.depth_tiles;
  const uint4* columns = base.tiles + (tile * depth_tiles * kFp16TileRows + row) * kRowChunks + slot;
  float sum[8] = {};
  for (int depth_tile = 0; depth_tile < depth_tiles; ++depth_tile, columns += kListTileChunks) {
    const uint4 packed =
        chunk < queries.shape.chunks ? __ldg(queries.tiles + queries.shape.place(q, depth_tile, chunk)) : uint4{};
    const unsigned pairs[4] = {packed.x, packed.y, packed.z, packed.w};
    float2 x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = __half22float2(*reinterpret_cast<const __half2*>(&pairs[i]));
    uint4 c[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) c[i] = __ldg(columns + i * 16 * kRowChunks);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = add_products(sum[i], x, c[i]);
  }
  // The lanes of a row divide the additions: in each step the upper half of them continues with the upper half of rows.
#pragma unroll
  for (int w = 4; w > 0; w /= 2) {
    const bool upper = (lane & w) != 0;
#pragma unroll
    for (int i = 0; i < w; ++i) {
      const float keep = upper ? sum[i + w] : sum[i], pass = upper ? sum[i] : sum[i + w];
      sum[i] = keep + __shfl_xor_sync(kAllLanes, pass, w);
    }
  }
  return sum[0];
}

constexpr std::int64_t kMinCandidates = 1024;
constexpr std::int64_t kCandidateBytes = sizeof(double) + sizeof(std::int32_t);
constexpr std::int64_t kGroupsInDistance = sizeof(double) / sizeof(std::uint32_t);

/// The base rows within a query's limit, in shared memory, in any order. `count` includes those beyond the capacity.
struct Candidates {
  double* distance;   // (capacity)
  std::int32_t* row;  // (capacity)
  unsigned capacity;
  unsigned* count;

  /// Appends this lane's row if `selected`. Called by all lanes. False if there were too many already.
  __device__ bool append(bool selected, std::int32_t position) const {
    const unsigned lanes = __ballot_sync(kAllLanes, selected);
    if (lanes == 0) return true;
    unsigned first = 0;
    if (lane_index() == 0) first = atomicAdd(count, static_cast<unsigned>(__popc(lanes)));
    first = __shfl_sync(kAllLanes, first, 0);
    const unsigned slot = first + __popc(lanes & ((1U << lane_index()) - 1U));
    if (selected && slot < capacity) row[slot] = position;
    return first < capacity;
  }
};

/// A group minimum or block minimum that at least `rank` rows do not exceed.
__device__ float bound_of_lists(const GroupMinima& minima, std::int64_t q, std::int64_t rows, std::int64_t rank,
                                Selection& shared) {
  const std::int64_t full_blocks = rows / (kBlockTiles * kFp16Columns) * kQuarters;
  const auto selected_rank = static_cast<std::uint32_t>(rank);
  if (4 * rank <= full_blocks) {
    return select(minima.block_min + q * minima.blocks(), minima.blocks(), selected_rank, shared);
  }
  return select(minima.group_min + q * minima.groups(), minima.groups(), selected_rank, shared);
}

/// The groups within a query's limit, in shared memory, in any order. `count` includes those beyond the capacity.
struct GroupsWithin {
  std::uint32_t* group;  // (capacity) tile * kQuarters + quarter
  unsigned capacity;
  unsigned* count;
};

/// Lists the groups within a query's limit. The comparisons treat a NaN as within the limit. The threads of the block
/// divide the block minima.
__device__ void list_groups(const GroupMinima& minima, std::int64_t q, float limit, const GroupsWithin& groups) {
  const float* block_min = minima.block_min + q * minima.blocks();
  const float* group_min = minima.group_min + q * minima.groups();
  for (std::int64_t block = threadIdx.x; block < minima.blocks(); block += blockDim.x) {
    if (block_min[block] > limit) continue;
    const int quarter = static_cast<int>(block % kQuarters);
    const std::int64_t first = block / kQuarters * kBlockTiles;
    unsigned within = 0;
#pragma unroll
    for (int i = 0; i < kBlockTiles; i += 2) {
      if (first + i >= minima.tiles) continue;
      const float2 pair = *reinterpret_cast<const float2*>(group_min + GroupMinima::place(first + i, quarter));
      within |= (pair.x > limit ? 0U : 1U << i) | (pair.y > limit ? 0U : 2U << i);
    }
    unsigned slot = atomicAdd(groups.count, static_cast<unsigned>(__popc(within)));
    for (; within != 0 && slot < groups.capacity; within &= within - 1, ++slot) {
      const std::int64_t tile = first + __ffs(static_cast<int>(within)) - 1;
      groups.group[slot] = static_cast<std::uint32_t>(tile * kQuarters + quarter);
    }
  }
}

/// Appends the rows of the listed groups that are within a query's limit to the candidates. A NaN is within the limit.
/// The warps of the thread block divide the groups.
template <class T>
__device__ void find_candidates(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q, float limit,
                                std::int64_t excluded, const GroupsWithin& groups, const Candidates& candidates) {
  const unsigned count = *groups.count;
  for (unsigned i = threadIdx.x / kWarp; i < count; i += blockDim.x / kWarp) {
    const std::int64_t tile = groups.group[i] / kQuarters;
    const int quarter = static_cast<int>(groups.group[i] % kQuarters);
    const std::int64_t row = tile * kFp16Columns + row_of_lane(quarter);
    const float row_base = __ldg(base.score_base + base_place_of_row(row));  // overlaps with the products
    const bool above = __fsub_rn(row_base, group_products(base, queries, q, tile, quarter)) > limit;
    const bool selected = !above && row < base.rows && row != excluded;
    if (!candidates.append(selected, static_cast<std::int32_t>(row))) return;
  }
}

/// Computes the distances of candidates begin .. end - 1. Reads d values of a row per candidate.
template <Measure M, class T>
__device__ void measure_candidates(const SearchBase<T>& base, const double* query, const Candidates& candidates,
                                   unsigned begin, unsigned end) {
  constexpr int kPairs = 4;  // of a warp at a time
  for (unsigned first = begin + threadIdx.x / kWarp * kPairs; first < end; first += blockDim.x / kWarp * kPairs) {
    const T* x[kPairs];
    const double* c[kPairs];
#pragma unroll
    for (unsigned i = 0; i < kPairs; ++i) {
      x[i] = base.values + candidates.row[min(first + i, end - 1)] * base.d;
      c[i] = query;
    }
    double sum[kPairs];
    accumulate_pairs<M>(x, c, base.d, sum);
    const double distance = add_lanes<kPairs, M>(sum);
    const unsigned pair = first + lane_index() / (kWarp / kPairs);
    if (lane_index() % (kWarp / kPairs) == 0 && pair < end) candidates.distance[pair] = distance;
  }
}

/// Orders candidates by (distance, row) with K. Batcher's bitonic sort (1968), padded to a power of two, which is at
/// most the capacity.
__device__ void sort_candidates(const Candidates& candidates, unsigned count) {
  unsigned size = 1;
  while (size < count) size *= 2;
  for (unsigned i = count + threadIdx.x; i < size; i += blockDim.x) {
    candidates.distance[i] = std::numeric_limits<double>::infinity();
    candidates.row[i] = kNoRow;
  }
  for (unsigned sorted_size = 2; sorted_size <= size; sorted_size *= 2) {
    for (unsigned step = sorted_size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const unsigned low = i / step * step * 2 + i % step, high = low + step;
        const double a = candidates.distance[low], b = candidates.distance[high];
        const std::int32_t a_row = candidates.row[low], b_row = candidates.row[high];
        const bool descends = b < a || (b == a && b_row < a_row);
        const bool ascending = (low & sorted_size) == 0;
        if (descends != ascending) continue;
        candidates.distance[low] = b, candidates.distance[high] = a;
        candidates.row[low] = b_row, candidates.row[high] = a_row;
      }
    }
  }
  __syncthreads();
}

/// The position of the base row that a query excludes, or -1.
__device__ std::int64_t excluded_by(const SearchQueries& queries, std::int64_t q, std::int64_t rows) {
  if (queries.excluded_rows != nullptr) return queries.excluded_rows[q];
  const std::int64_t own = queries.excluded + q;
  return queries.has_excluded && own < rows ? own : -1;
}

/// The k nearest rows have no score above it; negative if the screen cannot bound the scores. All threads of the block
/// call it and receive it.
template <class T>
__device__ float limit_of(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q, Selection& shared) {
  const float norm = queries.norm[q], residual = queries.residual[q];
  // The excluded row is in one of the groups and may have the smallest score.
  const std::int64_t rank = queries.neighbors + (excluded_by(queries, q, base.rows) >= 0 ? 1 : 0);
  const float limit =
      __fadd_ru(bound_of_lists(queries.minima, q, base.rows, rank, shared), base.bound.at(norm, residual));
  return __fadd_ru(norm, residual) <= base.max_query_norm && limit < QuantizationGrid::kNever ? limit : -1.0F;
}

/// Shared memory of a thread block besides its candidates.
struct ListShared {
  Selection selection;
  unsigned count;   // of candidates
  unsigned groups;  // within the limit
};

__device__ Candidates candidates_in(unsigned char* candidate_memory, unsigned capacity, unsigned* count) {
  auto* distances = reinterpret_cast<double*>(candidate_memory);
  return {distances, reinterpret_cast<std::int32_t*>(distances + capacity), capacity, count};
}

/// Leaves out those of candidates begin .. count - 1, which have been measured, that are behind candidate `last`.
/// Returns the number of all that remain. All threads of the block call it.
__device__ unsigned drop_behind(const Candidates& candidates, unsigned last, unsigned begin, unsigned count) {
  const double last_distance = candidates.distance[last];
  const std::int32_t last_row = candidates.row[last];
  if (threadIdx.x == 0) *candidates.count = begin;
  // A remaining candidate moves to a place that has been read.
  for (unsigned first = begin; first < count; first += blockDim.x) {
    const unsigned i = first + threadIdx.x;
    const double distance = i < count ? candidates.distance[i] : 0.0;
    const std::int32_t row = i < count ? candidates.row[i] : kNoRow;
    __syncthreads();
    if (i >= count || !(distance < last_distance || (distance == last_distance && row < last_row))) continue;
    const unsigned place = atomicAdd(candidates.count, 1U);
    candidates.distance[place] = distance;
    candidates.row[place] = row;
  }
  __syncthreads();
  return *candidates.count;
}

/// The list that candidates give.
struct ListedCandidates {
  unsigned ordered = 0;  // of the nearest ones, which are in order
  unsigned all = 0;
  bool complete = false;  // there are neither too many nor too few
};

/// Writes the list; one that is not complete stays unfilled.
template <class T>
__device__ void write_ordered(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q,
                              const Candidates& candidates, const ListedCandidates& listed, const ListOutput& out) {
  const std::int64_t k = queries.neighbors;
  for (std::int64_t i = threadIdx.x; i < k; i += blockDim.x) {
    const bool exists = listed.complete && i < listed.ordered;
    out.distance[q * k + i] = exists ? candidates.distance[i] : std::numeric_limits<double>::infinity();
    out.index[q * k + i] = exists ? base.first_row + candidates.row[i] : -1;
  }
  if (threadIdx.x == 0 && listed.complete) atomicAdd(out.candidates, Word{listed.all});
}

/// Finds the list of query q from its group minima, or appends it to the dense ones. All threads of the block call it.
/// candidate_memory: for limits.candidates.
template <Measure M, class T>
__device__ void find_list(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q,
                          const ListLimits& limits, const DenseQueries& dense, const ListOutput& out,
                          unsigned char* candidate_memory, ListShared& shared) {
  const auto capacity = static_cast<unsigned>(limits.candidates);
  const Candidates candidates = candidates_in(candidate_memory, capacity, &shared.count);
  // The groups are in the memory of the distances, which are computed after the candidates are complete.
  const auto most_groups = static_cast<unsigned>(min(limits.groups, std::int64_t{capacity} * kGroupsInDistance));
  const GroupsWithin groups{reinterpret_cast<std::uint32_t*>(candidates.distance), most_groups, &shared.groups};
  if (threadIdx.x == 0) shared.count = shared.groups = 0;
  const float limit = limit_of(base, queries, q, shared.selection);
  if (limit >= 0) list_groups(queries.minima, q, limit, groups);
  __syncthreads();
  const bool within = shared.groups <= most_groups;
  if (limit >= 0 && within) {
    find_candidates(base, queries, q, limit, excluded_by(queries, q, base.rows), groups, candidates);
  }
  if (!within && threadIdx.x == 0) shared.count = capacity + 1;
  __syncthreads();
  const bool is_dense = shared.count > capacity;
  if (threadIdx.x == 0 && is_dense) {
    const Word place = atomicAdd(dense.count, Word{1});
    dense.query[place] = static_cast<std::int32_t>(q);
    dense.limit[place] = limit;
  }
  const unsigned count = shared.count;
  const bool complete = count <= capacity && count >= queries.neighbors;
  if (complete) {
    measure_candidates<M>(base, queries.values + q * base.d, candidates, 0, count);
    __syncthreads();
    sort_candidates(candidates, count);
  }
  write_ordered(base, queries, q, candidates, {count, count, complete}, out);
}

/// Launches a kernel with a thread block per query and shared memory for its candidates. If few blocks run at a time,
/// because of few queries or much shared memory, each has many threads.
template <class... Parameters, class... Arguments>
void launch_lists(const Context& context, void (*kernel)(Parameters...), std::int64_t queries, std::int64_t capacity,
                  const Arguments&... arguments) {
  const bool widest = queries <= context.multiprocessors || capacity > 2 * kMinCandidates;
  const int threads = widest ? kMaxListThreads : queries < 8 * context.multiprocessors ? kMaxListThreads / 2 : 128;
  const auto shared = static_cast<int>(capacity * kCandidateBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  kernel<<<static_cast<unsigned>(queries), threads, shared, context.stream>>>(arguments...);
  check(cudaGetLastError());
}

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
    measure_candidates<M>(base, queries.values + q * base.d, candidates, found.ordered, held);
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

/// The largest capacity that fits in shared memory. Few thread blocks run at a time then.
std::int64_t largest_candidate_capacity(const Context& context) {
  int max_shared = 0;
  check(cudaDeviceGetAttribute(&max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device));
  constexpr std::int64_t kReserved = 4096;  // shared memory besides the candidates
  const std::int64_t fitting = std::max<std::int64_t>(max_shared - kReserved, 0) / kCandidateBytes;
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fitting)));
}

}  // namespace

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
