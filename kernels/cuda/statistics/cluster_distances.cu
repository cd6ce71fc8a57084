// The sum of each query's distances to the rows of each cluster, in integers: q n distances by the definition.
//
// A thread computes the distances of one query to eight rows at a time. It walks the definition's summation tree depth
// first (core/neighbors/tree_order.h), so that it keeps at most six numbers of each distance in registers. A distance
// takes 2 d float64 operations, at most 31 additions and a square root: all pairs of 10^5 rows of 50 columns take 1.4
// 10^12 operations, 0.08 s at the 1.7 10^13 per second of an H200. Operands are float64, packed in the order of
// reading: the lanes of a warp read consecutive values of a query column, and all read the same 64 bytes of a column of
// eight rows.
#include <algorithm>
#include <vector>

#include "core/kmeans/rows_by_label.h"
#include "core/neighbors/tree_order.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

constexpr int kGroupRows = 8;                                 // rows of a group, whose distances a thread adds together
constexpr int kTileQueries = 128;                             // threads of a block, one per query
constexpr std::int64_t kBatchValues = std::int64_t{1} << 23;  // largest number of packed row values
static_assert(kGroupRows % 2 == 0, "rows are read in pairs");

/// Up to kGroupRows rows of one cluster.
struct RowGroup {
  std::int64_t first;  // index into the rows sorted by label
  std::int32_t rows;
  std::int32_t cluster;
};

struct Grid {
  double first, second;
};

/// packed[j][i] = column order[j] of query i; from `count` to `pitch` the last query is repeated.
__global__ void pack_queries_kernel(const double* queries, std::int64_t count, std::int64_t d,
                                    const std::int32_t* order, std::int64_t pitch, double* packed) {
  for (std::int64_t i = thread_index(); i < pitch * d; i += thread_count()) {
    packed[i] = queries[min(i % pitch, count - 1) * d + order[i / pitch]];
  }
}

/// packed[g][j][r] = column order[j] of row r of group g; a group that is not full repeats its last row.
template <class T>
__global__ void pack_rows_kernel(const T* values, std::int64_t d, const std::int64_t* sorted, const RowGroup* groups,
                                 std::int64_t group_count, const std::int32_t* order, double* packed) {
  for (std::int64_t i = thread_index(); i < group_count * d * kGroupRows; i += thread_count()) {
    const RowGroup group = groups[i / (d * kGroupRows)];
    const std::int64_t r = min(i % kGroupRows, static_cast<std::int64_t>(group.rows - 1));
    packed[i] = static_cast<double>(values[sorted[group.first + r] * d + order[i / kGroupRows % d]]);
  }
}

/// What a thread reads next: a value of its query, and the values of the group's rows.
struct Cursor {
  const double* query;
  std::int64_t pitch;
  const double2* rows;
};

/// sum[r]: the partial sum of lane Lane after the tree's steps from kLanes / 2 down to Width, for each row r of the
/// group. Requires Lane < d. Lanes from d on hold 0 and are skipped: adding 0 changes nothing.
template <int Lane, int Width>
__device__ __forceinline__ void walk(Cursor& cursor, int d, double (&sum)[kGroupRows]) {
  if constexpr (Width == kLanes) {
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) sum[r] = 0.0;
#pragma unroll 1
    for (int j = Lane; j < d; j += kLanes) {
      const double x = *cursor.query;
      cursor.query += cursor.pitch;
#pragma unroll
      for (int r = 0; r < kGroupRows; r += 2) {
        const double2 pair = *cursor.rows++;
        sum[r] = add_square(pair.x, x, sum[r]);
        sum[r + 1] = add_square(pair.y, x, sum[r + 1]);
      }
    }
  } else {
    walk<Lane, 2 * Width>(cursor, d, sum);
    if (Lane + Width >= d) return;
    double other[kGroupRows];
    walk<Lane + Width, 2 * Width>(cursor, d, other);
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) sum[r] = __dadd_rn(sum[r], other[r]);
  }
}

/// A block takes kTileQueries queries and `groups_per_block` groups. wanted: (tiles, k) whether a query of the tile
/// wants the sum of a cluster, or null; sums: (k, pitch)
__global__ void __launch_bounds__(kTileQueries)
    cluster_distances_kernel(const double* __restrict__ queries, std::int64_t pitch, const double* __restrict__ rows,
                             const RowGroup* __restrict__ groups, std::int64_t group_count,
                             std::int64_t groups_per_block, int d, Grid grid, std::int64_t k,
                             const std::uint8_t* __restrict__ wanted, Word* sums) {
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kTileQueries + threadIdx.x;
  const std::int64_t first = blockIdx.y * groups_per_block, last = min(first + groups_per_block, group_count);
  Word total = 0;
  for (std::int64_t g = first; g < last; ++g) {
    const RowGroup group = groups[g];
    if (wanted != nullptr && wanted[blockIdx.x * k + group.cluster] == 0) continue;
    Cursor cursor{queries + query, pitch, reinterpret_cast<const double2*>(rows + g * d * kGroupRows)};
    double sum[kGroupRows];
    walk<0, 1>(cursor, d, sum);
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) {
      const std::int64_t distance = to_fixed(__dsqrt_rn(sum[r]), grid.first, grid.second);
      if (r < group.rows) total += static_cast<Word>(distance);
    }
    if (g + 1 == last || groups[g + 1].cluster != group.cluster) {
      atomicAdd(&sums[group.cluster * pitch + query], total);
      total = 0;
    }
  }
}

std::vector<RowGroup> make_groups(const RowsByLabel& sorted) {
  std::vector<RowGroup> groups;
  for (std::size_t c = 0; c + 1 < sorted.first.size(); ++c) {
    for (std::int64_t i = sorted.first[c]; i < sorted.first[c + 1]; i += kGroupRows) {
      const std::int64_t rows = std::min<std::int64_t>(kGroupRows, sorted.first[c + 1] - i);
      groups.push_back({i, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(c)});
    }
  }
  return groups;
}

std::int64_t round_up_to_tile(std::int64_t queries) {
  return (queries + kTileQueries - 1) / kTileQueries * kTileQueries;
}

/// wanted[t][c]: whether one of the queries of tile t wants the sum of cluster c, for `count` queries from `first` on.
std::vector<std::uint8_t> wanted_by_tiles(const ClusterDistancesRequest& request, std::int64_t first,
                                          std::int64_t count, std::int64_t k) {
  std::vector<std::uint8_t> wanted;
  for (std::int64_t q = first; q < first + count; q += kTileQueries) {
    const std::int64_t end = std::min(q + kTileQueries, first + count);
    for (std::int64_t c = 0; c < k; ++c) wanted.push_back(request.any_wants(c, q, end) ? 1 : 0);
  }
  return wanted;
}

/// Groups per block: few enough that the blocks keep the device busy, enough that the grid stays within its limit.
std::int64_t choose_groups_per_block(const Context& context, std::int64_t tiles, std::int64_t groups) {
  constexpr std::int64_t kBlocksPerMultiprocessor = 32, kMaxSplits = 65535;
  const std::int64_t splits = (context.multiprocessors * kBlocksPerMultiprocessor + tiles - 1) / tiles;
  const std::int64_t groups_per_block = (groups + splits - 1) / splits;
  return std::max({groups_per_block, (groups + kMaxSplits - 1) / kMaxSplits, std::int64_t{1}});
}

}  // namespace

template <class T>
void cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) {
  const std::int64_t d = held.columns(), k = sums.columns;
  if (request.queries.rows == 0 || k == 0) return;
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::vector<std::int32_t> order = tree_order(d);

  // Allocate all memory before adding anything, in the sizes of the largest block.
  const std::int64_t max_groups = held.largest_block() / kGroupRows + std::min(held.largest_block(), k) + 1;
  Buffer<std::int32_t> columns(held.pool(), d);
  Buffer<std::int64_t> sorted_rows(held.pool(), held.largest_block());
  Buffer<RowGroup> groups(held.pool(), max_groups);
  const std::int64_t spare = held.pool().available() / 4 / static_cast<std::int64_t>(sizeof(double));
  const std::int64_t group_values = d * kGroupRows;
  const std::int64_t batch_groups =
      std::clamp<std::int64_t>(std::min(kBatchValues, spare) / group_values, 1, max_groups);
  const std::int64_t tiles = (request.queries.rows + kTileQueries - 1) / kTileQueries;
  const std::int64_t batch_tiles = std::clamp<std::int64_t>(spare / ((2 * d + k) * kTileQueries), 1, tiles);
  const std::int64_t batch_queries = batch_tiles * kTileQueries;
  Buffer<double> queries(held.pool(), batch_queries * d), packed_queries(held.pool(), batch_queries * d);
  Buffer<double> packed_rows(held.pool(), batch_groups * group_values);
  Buffer<Word> device_sums(held.pool(), k * batch_queries);
  const bool masked = request.wanted.data != nullptr;
  Buffer<std::uint8_t> device_wanted(held.pool(), masked ? batch_tiles * k : 1);
  std::vector<Word> host_sums(static_cast<std::size_t>(k * batch_queries));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(held.largest_block()));

  stream.upload(columns.data(), order.data(), d);
  for (std::int64_t first = 0; first < request.queries.rows; first += batch_queries) {
    const std::int64_t count = std::min(batch_queries, request.queries.rows - first), pitch = round_up_to_tile(count);
    stream.upload(queries.data(), request.queries.data + first * d, count * d);
    stream.fill(device_sums.data(), 0, k * pitch);
    const std::vector<std::uint8_t> wanted = wanted_by_tiles(request, first, masked ? count : 0, k);
    if (masked) stream.upload(device_wanted.data(), wanted.data(), std::ssize(wanted));
    pack_queries_kernel<<<context.grid(pitch * d, kBlock), kBlock, 0, stream>>>(
        queries.data(), count, d, columns.data(), pitch, packed_queries.data());
    check(cudaGetLastError());
    held.for_blocks([&](const Block<T>& block) {
      stream.download(labels.data(), held.label.data() + block.first, block.rows);
      const RowsByLabel sorted = rows_by_label({labels.data(), static_cast<std::size_t>(block.rows)}, k);
      const std::vector<RowGroup> block_groups = make_groups(sorted);
      if (block_groups.empty()) return;
      stream.upload(sorted_rows.data(), sorted.rows.data(), static_cast<std::int64_t>(sorted.rows.size()));
      stream.upload(groups.data(), block_groups.data(), static_cast<std::int64_t>(block_groups.size()));
      const T* values = held.on_device(block);
      for (std::int64_t g = 0; g < static_cast<std::int64_t>(block_groups.size()); g += batch_groups) {
        const std::int64_t batch = std::min(batch_groups, static_cast<std::int64_t>(block_groups.size()) - g);
        pack_rows_kernel<<<context.grid(batch * group_values, kBlock), kBlock, 0, stream>>>(
            values, d, sorted_rows.data(), groups.data() + g, batch, columns.data(), packed_rows.data());
        check(cudaGetLastError());
        const std::int64_t groups_per_block = choose_groups_per_block(context, pitch / kTileQueries, batch);
        const dim3 blocks(static_cast<unsigned>(pitch / kTileQueries),
                          static_cast<unsigned>((batch + groups_per_block - 1) / groups_per_block));
        cluster_distances_kernel<<<blocks, kTileQueries, 0, stream>>>(
            packed_queries.data(), pitch, packed_rows.data(), groups.data() + g, batch, groups_per_block,
            static_cast<int>(d), Grid{request.scale.first, request.scale.second}, k,
            masked ? device_wanted.data() : nullptr, device_sums.data());
        check(cudaGetLastError());
      }
    });
    stream.download(host_sums.data(), device_sums.data(), k * pitch);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < k; ++c) sums(first + i, c) += static_cast<std::int64_t>(host_sums[c * pitch + i]);
    }
  }
}

#define KITH_INSTANTIATE(T) \
  template void cluster_distances(const HeldRows<T>&, const ClusterDistancesRequest&, MatrixView<std::int64_t>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
