// Lists of neighbours from group minima: a limit that the k nearest cannot exceed, the groups that are within it, their
// rows within it, distances of these by the definition, and a sort.
//
// The limit is the k-th smallest minimum and the margin: k groups have each a row that is no further. With k well below
// the number of groups few of them have two of the k nearest, so hardly more than k groups pass, whatever the order of
// the rows. A warp multiplies the 32 rows of such a group once more, with float32 sums; those within the limit are
// measured. Reads per query: its coarse minima, 64 bytes for each that passes, 64 d bytes for each group. For long
// lists that is more than another product takes, which then lists the rows within the limit.
#include "kernels/cuda/search/fp16_lists.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/select.h"

namespace kith::cuda {
namespace {

constexpr int kTileChunks = kFp16TileRows * kRowChunks;
constexpr int kMostThreads = 1024;

/// The last number of a row that no row has.
constexpr std::int32_t kNoRow = INT_MAX;

/// Eight products of fp16, added to a float32 sum.
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

/// The row of a group of a tile whose score this lane gets from products_of_group.
__device__ int row_of_lane(int quarter) {
  const int lane = lane_index();
  return lane % 8 * 16 + lane / 16 * 8 + quarter * 2 + lane / 8 % 2;
}

/// Products of query q with the 32 rows of a group, one for each lane. Eight lanes share a row's 128 bytes of a tile,
/// in the order in which they lie there, which is the same for all rows of these lanes.
template <class T>
__device__ float products_of_group(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q,
                                   std::int64_t tile, int quarter) {
  const int lane = lane_index(), at = lane % 8, row = lane / 16 * 8 + quarter * 2 + lane / 8 % 2;
  const int chunk = at ^ row % 8;
  const int depth_tiles = queries.shape.depth_tiles;
  const uint4* columns = base.tiles + (tile * depth_tiles * kFp16TileRows + row) * kRowChunks + at;
  float sum[8] = {};
  for (int depth_tile = 0; depth_tile < depth_tiles; ++depth_tile, columns += kTileChunks) {
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
  // The lanes of a row share the additions: the upper half of them goes on with the upper half of the rows.
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

constexpr std::int64_t kLeastCandidates = 1024;
constexpr std::int64_t kCandidateBytes = sizeof(double) + sizeof(std::int32_t);

/// Base rows of a query within its limit, in shared memory, in any order; all are counted.
struct Candidates {
  double* distance;   // (capacity)
  std::int32_t* row;  // (capacity)
  unsigned capacity;
  unsigned* count;

  /// Adds this lane's row. Called by all lanes.
  __device__ void add(bool wanted, std::int32_t position) const {
    const unsigned wanting = __ballot_sync(kAllLanes, wanted);
    if (wanting == 0) return;
    unsigned first = 0;
    if (lane_index() == 0) first = atomicAdd(count, static_cast<unsigned>(__popc(wanting)));
    first = __shfl_sync(kAllLanes, first, 0);
    const unsigned place = first + __popc(wanting & ((1U << lane_index()) - 1U));
    if (wanted && place < capacity) row[place] = position;
  }
};

/// The group minimum that at least `rank` rows do not exceed.
__device__ float bound_of_lists(const GroupMinima& minima, std::int64_t q, std::int64_t rows, std::int64_t rank,
                                Selection& shared) {
  const std::int64_t whole_coarse = rows / (kTogether * kFp16Columns) * kQuarters;
  const auto wanted = static_cast<std::uint32_t>(rank);
  if (4 * rank <= whole_coarse) {
    return select(minima.coarse + q * minima.coarse_groups(), minima.coarse_groups(), wanted, shared);
  }
  return select(minima.each + q * minima.groups(), minima.groups(), wanted, shared);
}

/// The rows of a query that are within its limit become candidates. Written so that a NaN is within. All warps of the
/// block take their share.
template <class T>
__device__ void find_candidates(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q, float limit,
                                std::int64_t excluded, const Candidates& candidates) {
  const GroupMinima& minima = queries.minima;
  const float* coarse = minima.coarse + q * minima.coarse_groups();
  const float* each = minima.each + q * minima.groups();
  const int lane = lane_index();
  for (std::int64_t first = threadIdx.x / kWarp * kWarp; first < minima.coarse_groups(); first += blockDim.x) {
    const std::int64_t mine = first + lane;
    unsigned coarse_left = __ballot_sync(kAllLanes, mine < minima.coarse_groups() && !(coarse[mine] > limit));
    for (; coarse_left != 0; coarse_left &= coarse_left - 1) {
      const std::int64_t chosen = first + __ffs(static_cast<int>(coarse_left)) - 1;
      const int quarter = static_cast<int>(chosen % kQuarters);
      const std::int64_t first_tile = chosen / kQuarters * kTogether, tile = first_tile + lane;
      unsigned left = __ballot_sync(
          kAllLanes, lane < kTogether && tile < minima.tiles && !(each[GroupMinima::place(tile, quarter)] > limit));
      for (; left != 0; left &= left - 1) {
        const std::int64_t at = first_tile + __ffs(static_cast<int>(left)) - 1;
        const std::int64_t row = at * kFp16Columns + row_of_lane(quarter);
        const float added = __ldg(base.score_base + base_place_of_row(row));  // on its way meanwhile
        const bool above = __fsub_rn(added, products_of_group(base, queries, q, at, quarter)) > limit;
        candidates.add(!above && row < base.rows && row != excluded, static_cast<std::int32_t>(row));
      }
    }
  }
}

/// The candidates' rows are gathered, n d values for n candidates.
template <Measure M, class T>
__device__ void measure_candidates(const SearchBase<T>& base, const double* query, const Candidates& candidates,
                                   unsigned count) {
  constexpr int kPairs = 4;  // at a time
  for (unsigned first = threadIdx.x / kWarp * kPairs; first < count; first += blockDim.x / kWarp * kPairs) {
    const T* x[kPairs];
    const double* c[kPairs];
#pragma unroll
    for (unsigned i = 0; i < kPairs; ++i) {
      x[i] = base.values + candidates.row[min(first + i, count - 1)] * base.d;
      c[i] = query;
    }
    double sum[kPairs];
    accumulate_pairs<M>(x, c, base.d, sum);
    const double distance = add_lanes<kPairs, M>(sum);
    const unsigned mine = first + lane_index() / (kWarp / kPairs);
    if (lane_index() % (kWarp / kPairs) == 0 && mine < count) candidates.distance[mine] = distance;
  }
}

/// Orders candidates by (distance, row): K. Batcher's bitonic sort (1968), padded to a power of two that has room.
__device__ void sort_candidates(const Candidates& candidates, unsigned count) {
  unsigned size = 1;
  while (size < count) size *= 2;
  for (unsigned i = count + threadIdx.x; i < size; i += blockDim.x) {
    candidates.distance[i] = std::numeric_limits<double>::infinity();
    candidates.row[i] = kNoRow;
  }
  for (unsigned run = 2; run <= size; run *= 2) {
    for (unsigned apart = run / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const unsigned low = i / apart * apart * 2 + i % apart, high = low + apart;
        const double a = candidates.distance[low], b = candidates.distance[high];
        const std::int32_t a_row = candidates.row[low], b_row = candidates.row[high];
        const bool descends = b < a || (b == a && b_row < a_row);
        const bool ascending = (low & run) == 0;
        if (descends != ascending) continue;
        candidates.distance[low] = b, candidates.distance[high] = a;
        candidates.row[low] = b_row, candidates.row[high] = a_row;
      }
    }
  }
  __syncthreads();
}

/// The base row that a query leaves out, negative when there is none.
__device__ std::int64_t excluded_by(const SearchQueries& queries, std::int64_t q, std::int64_t rows) {
  const std::int64_t own = queries.excluded + q;
  return queries.leaves_out && own < rows ? own : -1;
}

/// Above it no score is of the k nearest; negative where nothing is certain. In every thread of the block.
template <class T>
__device__ float limit_of(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q, Selection& shared) {
  const float norm = queries.norm[q], residual = queries.residual[q];
  // The row to be left out is among the groups, and may be the smallest.
  const std::int64_t rank = queries.neighbors + (excluded_by(queries, q, base.rows) >= 0 ? 1 : 0);
  const float limit =
      __fadd_ru(bound_of_lists(queries.minima, q, base.rows, rank, shared), base.bound.at(norm, residual));
  return __fadd_ru(norm, residual) <= base.reach && limit < QuantizationGrid::kNever ? limit : -1.0F;
}

/// What a block of threads keeps of its query, the candidates behind it.
struct ListShared {
  Selection selection;
  unsigned found;
};

__device__ Candidates candidates_in(unsigned char* room, unsigned capacity, unsigned* count) {
  auto* distances = reinterpret_cast<double*>(room);
  return {distances, reinterpret_cast<std::int32_t*>(distances + capacity), capacity, count};
}

/// Measures and sorts the candidates, and writes the list. All threads have added theirs.
template <Measure M, class T>
__device__ void write_list(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t q,
                           const Candidates& candidates, const ListOutput& out) {
  const std::int64_t k = queries.neighbors;
  const unsigned count = *candidates.count;
  const bool complete = count <= candidates.capacity && count >= k;
  if (complete) {
    measure_candidates<M>(base, queries.values + q * base.d, candidates, count);
    __syncthreads();
    sort_candidates(candidates, count);
  }
  for (std::int64_t i = threadIdx.x; i < k; i += blockDim.x) {
    out.distance[q * k + i] = complete ? candidates.distance[i] : std::numeric_limits<double>::infinity();
    out.index[q * k + i] = complete ? base.first_row + candidates.row[i] : -1;
  }
  if (threadIdx.x == 0 && complete) atomicAdd(out.candidates, Word{count});
}

template <class T, Measure M>
__global__ void __launch_bounds__(kMostThreads)
    lists_kernel(const SearchBase<T> base, const SearchQueries queries, const unsigned capacity, const ListOutput out) {
  extern __shared__ __align__(16) unsigned char room[];
  __shared__ ListShared shared;
  const std::int64_t q = blockIdx.x;
  const Candidates candidates = candidates_in(room, capacity, &shared.found);
  if (threadIdx.x == 0) shared.found = 0;
  const float limit = limit_of(base, queries, q, shared.selection);
  if (limit >= 0) {
    find_candidates(base, queries, q, limit, excluded_by(queries, q, base.rows), candidates);
  }
  __syncthreads();
  write_list<M>(base, queries, q, candidates, out);
}

template <class T>
__global__ void limits_kernel(const SearchBase<T> base, const SearchQueries queries, float* out) {
  __shared__ Selection selection;
  const float limit = limit_of(base, queries, blockIdx.x, selection);
  if (threadIdx.x == 0) out[blockIdx.x] = limit;
}

template <class T, Measure M>
__global__ void __launch_bounds__(kMostThreads)
    listed_kernel(const SearchBase<T> base, const SearchQueries queries, const RowLists listed, const ListOutput out) {
  extern __shared__ __align__(16) unsigned char room[];
  __shared__ ListShared shared;
  const std::int64_t q = blockIdx.x, excluded = excluded_by(queries, q, base.rows);
  const Candidates candidates = candidates_in(room, listed.capacity, &shared.found);
  const unsigned count = listed.count[q];
  // Those without room are not in the list, but they count.
  if (threadIdx.x == 0) shared.found = count > listed.capacity ? count : 0;
  __syncthreads();
  const std::int32_t* rows = listed.row + listed.first(q);
  for (unsigned first = threadIdx.x / kWarp * kWarp; first < min(count, listed.capacity); first += blockDim.x) {
    const unsigned at = first + lane_index();
    const std::int32_t row = at < min(count, listed.capacity) ? rows[at] : kNoRow;
    candidates.add(row != kNoRow && row != excluded, row);
  }
  __syncthreads();
  write_list<M>(base, queries, q, candidates, out);
}

/// Launches a kernel with a block for each query and room for its candidates. Few blocks, be it for few queries or for
/// much shared memory, have many threads each.
template <class... Parameters, class... Arguments>
void launch_lists(const Context& context, void (*kernel)(Parameters...), std::int64_t queries, std::int64_t capacity,
                  const Arguments&... arguments) {
  constexpr int kThreads = 128;
  const bool few = queries < 2 * context.multiprocessors || capacity > 2 * kLeastCandidates;
  const auto shared = static_cast<int>(capacity * kCandidateBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  kernel<<<static_cast<unsigned>(queries), few ? kMostThreads : kThreads, shared, context.stream>>>(arguments...);
  check(cudaGetLastError());
}

}  // namespace

bool can_find_lists(const Context& context, std::int64_t rows, std::int64_t neighbors, std::int64_t candidates) {
  // Beyond half of the groups many have more than one of the k nearest.
  if (2 * (neighbors + 1) > rows / kFp16Columns * kQuarters) return false;
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device));
  constexpr std::int64_t kBesides = 4096;  // of a block's shared memory
  return candidates * kCandidateBytes <= most - kBesides;
}

std::int64_t candidates_of_list(std::int64_t neighbors) {
  const auto twice = static_cast<std::int64_t>(std::bit_ceil(2 * static_cast<std::uint64_t>(neighbors)));
  return std::max(kLeastCandidates, twice);
}

template <class T>
void find_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                const ListOutput& out) {
  const std::int64_t capacity = candidates_of_list(queries.neighbors);
  const auto kernel = base.measure == Measure::inner_product ? lists_kernel<T, Measure::inner_product>
                                                             : lists_kernel<T, Measure::squared_euclidean>;
  launch_lists(context, kernel, queries.count, capacity, base, queries, static_cast<unsigned>(capacity), out);
}

template <class T>
void find_limits(const Context& context, const SearchBase<T>& base, const SearchQueries& queries, float* limit) {
  limits_kernel<<<static_cast<unsigned>(queries.count), kMostThreads, 0, context.stream>>>(base, queries, limit);
  check(cudaGetLastError());
}

template <class T>
void finish_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                  const RowLists& listed, const ListOutput& out) {
  const auto kernel = base.measure == Measure::inner_product ? listed_kernel<T, Measure::inner_product>
                                                             : listed_kernel<T, Measure::squared_euclidean>;
  launch_lists(context, kernel, queries.count, listed.capacity, base, queries, listed, out);
}

#define KITH_INSTANTIATE(T)                                                                                \
  template void find_lists(const Context&, const SearchBase<T>&, const SearchQueries&, const ListOutput&); \
  template void find_limits(const Context&, const SearchBase<T>&, const SearchQueries&, float*);           \
  template void finish_lists(const Context&, const SearchBase<T>&, const SearchQueries&, const RowLists&,  \
                             const ListOutput&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
