// Pairs of a query and a group of 32 base rows within its limit are counted by group and brought into the order of
// groups; a warp then reads the rows of a group once and multiplies them with all of its queries on tensor cores.
//
// A pair reads 2 d bytes of its query, 32 times less than a group's rows; which of a group's queries come first changes
// from run to run, and nothing depends on it.
#include "kernels/cuda/half_pairs.h"

#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/device/fragments.h"

namespace kith::cuda {
namespace {

constexpr int kThreads = 128;    // that look for the groups of a query
constexpr int kTile = 8;         // queries of one product
constexpr int kTiles = 4;        // that a warp multiplies together
constexpr unsigned kShares = 4;  // warps of a group: some have far more queries than others
constexpr std::int32_t kNoQuery = -1;

/// That there is room for: hardly more than the neighbours have one, but where many rows are as near.
std::int64_t groups_of_query(std::int64_t neighbors) { return 4 * neighbors + 256; }

/// Finds the groups of a query, a block each. Written so that a NaN is within.
__global__ void __launch_bounds__(kThreads)
    pairs_kernel(const GroupMinima minima, std::int64_t capacity, float* limits, int2* pairs, std::uint32_t* count) {
  __shared__ unsigned found;
  const std::int64_t q = blockIdx.x;
  const float limit = limits[q];
  const float* coarse = minima.coarse + q * minima.coarse_groups();
  const float* each = minima.each + q * minima.groups();
  const int lane = lane_index();
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  const auto add = [&](bool wanted, std::int64_t group) {
    const unsigned wanting = __ballot_sync(kAllLanes, wanted);
    if (wanting == 0) return;
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&found, static_cast<unsigned>(__popc(wanting)));
    const unsigned place = __shfl_sync(kAllLanes, first, 0) + __popc(wanting & ((1U << lane) - 1U));
    if (wanted && place < capacity) pairs[q * capacity + place].x = static_cast<int>(group);
  };
  for (std::int64_t base = threadIdx.x / kWarp * kWarp; limit >= 0 && base < minima.coarse_groups(); base += kThreads) {
    const std::int64_t mine = base + lane;
    unsigned left = __ballot_sync(kAllLanes, mine < minima.coarse_groups() && !(coarse[mine] > limit));
    for (; left != 0; left &= left - 1) {
      const std::int64_t chosen = base + __ffs(static_cast<int>(left)) - 1;
      const int quarter = static_cast<int>(chosen % kQuarters);
      const std::int64_t tile = chosen / kQuarters * kTogether + lane;
      add(lane < kTogether && tile < minima.tiles && !(each[GroupMinima::place(tile, quarter)] > limit),
          tile * kQuarters + quarter);
    }
  }
  __syncthreads();
  const bool fits = found <= capacity;
  for (std::int64_t i = threadIdx.x; i < capacity; i += kThreads) {
    int2& pair = pairs[q * capacity + i];
    if (fits && i < found) {
      pair.y = static_cast<int>(atomicAdd(&count[pair.x], 1U));
    } else {
      pair.x = kNoQuery;
    }
  }
  if (threadIdx.x == 0 && !fits) limits[q] = -1.0F;
}

__global__ void order_kernel(const int2* pairs, std::int64_t count, std::int64_t capacity, const std::uint32_t* begin,
                             std::int32_t* order) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const int2 pair = pairs[i];
    if (pair.x != kNoQuery) order[begin[pair.x] + pair.y] = static_cast<std::int32_t>(i / capacity);
  }
}

/// Row `number` of a group, in its tile.
__device__ int row_of_group(int quarter, int number) { return number / 2 * 8 + quarter * 2 + number % 2; }

/// The products of a group's rows with kTiles * kTile queries: rows are the first operand, in two fragments. A lane
/// takes whole units of eight halves where a product asks for two times four: any order will do that both operands
/// share.
template <class T>
__device__ void multiply_group(const SearchBase<T>& base, const SearchQueries& queries, std::int64_t group,
                               const std::int32_t (&query)[kTiles], float (&product)[2][kTiles][4]) {
  const int quarter = static_cast<int>(group % kQuarters), i = lane_index() / 4, quad = lane_index() % 4;
  const uint4* piece_of_tile =
      base.pieces + group / kQuarters * queries.shape.pieces * (std::int64_t{kPieceRows} * kRowUnits);
  for (int piece = 0; piece < queries.shape.pieces; ++piece, piece_of_tile += kPieceRows * kRowUnits) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int unit = s * 4 + quad;
      uint4 rows[2][2];
#pragma unroll
      for (int f = 0; f < 2; ++f) {
#pragma unroll
        for (int upper = 0; upper < 2; ++upper) {
          const int row = row_of_group(quarter, f * 16 + upper * 8 + i);
          rows[f][upper] = __ldg(piece_of_tile + row * kRowUnits + (unit ^ row % 8));
        }
      }
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        // Queries in few columns lie in fewer units; the rows are zero there.
        const uint4 c =
            unit < queries.shape.units ? __ldg(queries.pieces + queries.shape.place(query[t], piece, unit)) : uint4{};
#pragma unroll
        for (int f = 0; f < 2; ++f) {
          const uint4 &low = rows[f][0], &high = rows[f][1];
          multiply_16x8x16(product[f][t], {low.x, low.y}, {high.x, high.y}, {c.x, c.y});
          multiply_16x8x16(product[f][t], {low.z, low.w}, {high.z, high.w}, {c.z, c.w});
        }
      }
    }
  }
}

/// Warps share a group: its rows with all of its queries, which get those within their limits.
template <class T>
__global__ void __launch_bounds__(kBlock)
    groups_kernel(const SearchBase<T> base, const SearchQueries queries, std::int64_t groups,
                  const std::uint32_t* begin, const std::int32_t* order, const RowLists lists) {
  const int i = lane_index() / 4, quad = lane_index() % 4;
  constexpr unsigned kTurn = kTiles * kTile;
  for (std::int64_t item = warp_index(); item < groups * kShares; item += warp_count()) {
    const std::int64_t group = item / kShares;
    const std::uint32_t last = begin[group + 1];
    for (std::uint32_t first = begin[group] + item % kShares * kTurn; first < last; first += kShares * kTurn) {
      std::int32_t query[kTiles];
#pragma unroll
      for (int t = 0; t < kTiles; ++t) query[t] = order[min(first + t * kTile + i, last - 1)];
      float product[2][kTiles][4] = {};
      multiply_group(base, queries, group, query, product);
#pragma unroll
      for (int f = 0; f < 2; ++f) {
#pragma unroll
        for (int upper = 0; upper < 2; ++upper) {
          const std::int64_t row = group / kQuarters * kHalfColumns +
                                   row_of_group(static_cast<int>(group % kQuarters), f * 16 + upper * 8 + i);
          const float added = __ldg(base.score_base + base_place_of_row(row));
#pragma unroll
          for (int t = 0; t < kTiles; ++t) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const std::uint32_t at = first + t * kTile + quad * 2 + e;
              if (at >= last) continue;
              const std::int32_t q = order[at];
              if (__fsub_rn(added, product[f][t][upper * 2 + e]) > lists.limit[q] || row >= base.rows) continue;
              const unsigned place = atomicAdd(&lists.count[q], 1U);
              if (place < lists.capacity) lists.row[lists.first(q) + place] = static_cast<std::int32_t>(row);
            }
          }
        }
      }
    }
  }
}

}  // namespace

bool brings_together(std::int64_t rows, std::int64_t queries, std::int64_t neighbors) {
  constexpr std::int64_t kWorthwhile = 4;  // queries of a group, from which on its rows are better read once
  return queries * neighbors * kGroupColumns >= rows * kWorthwhile;
}

std::int64_t pair_bytes(std::int64_t neighbors) {
  return groups_of_query(neighbors) * static_cast<std::int64_t>(sizeof(int2) + sizeof(std::int32_t));
}

PairRoom::PairRoom(Pool& pool, const GroupMinima& minima, std::int64_t queries, std::int64_t neighbors,
                   const Stream& stream)
    : capacity(groups_of_query(neighbors)),
      groups(minima.groups()),
      pair(pool, queries * capacity),
      order(pool, queries * capacity),
      count(pool, groups + 1),
      begin(pool, groups + 1) {
  check(cub::DeviceScan::ExclusiveSum(nullptr, temporary_bytes, count.data(), begin.data(), groups + 1, stream));
  temporary = Buffer<std::byte>(pool, static_cast<std::int64_t>(temporary_bytes));
}

template <class T>
void list_in_groups(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                    const PairRoom& room, float* limit, const RowLists& lists) {
  const Stream& stream = context.stream;
  const std::int64_t pairs = queries.count * room.capacity;
  stream.fill(room.count.data(), 0, room.groups + 1);
  stream.fill(lists.count, 0, queries.count);
  pairs_kernel<<<static_cast<unsigned>(queries.count), kThreads, 0, stream>>>(queries.minima, room.capacity, limit,
                                                                              room.pair.data(), room.count.data());
  check(cudaGetLastError());
  std::size_t bytes = room.temporary_bytes;
  check(cub::DeviceScan::ExclusiveSum(room.temporary.data(), bytes, room.count.data(), room.begin.data(),
                                      room.groups + 1, stream));
  order_kernel<<<context.grid(pairs, kBlock), kBlock, 0, stream>>>(room.pair.data(), pairs, room.capacity,
                                                                   room.begin.data(), room.order.data());
  check(cudaGetLastError());
  groups_kernel<<<context.grid(room.groups * kShares, kBlockWarps), kBlock, 0, stream>>>(
      base, queries, room.groups, room.begin.data(), room.order.data(), lists);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                         \
  template void list_in_groups(const Context&, const SearchBase<T>&, const SearchQueries&, const PairRoom&, float*, \
                               const RowLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
