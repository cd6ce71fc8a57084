// The sum of every query's distances to the rows of each cluster, as integers: q n distances by the definition.
//
// A thread has one query and eight rows at a time, and walks the definition's tree depth first (core/tree_order.h), so
// that at most six numbers of each distance are in registers. A distance takes 2 d float64 operations, at most 31
// additions and a root: 10^5 rows of 50 columns among themselves are 1.4 10^12 operations, 0.08 s at the 1.7 10^13 a
// second of an H200's multiprocessors. Operands are float64, packed in the order in which they are read: a column of a
// query is 8 bytes of a whole line, one of eight rows 64 bytes that all lanes share; both are found in the caches.
#include <algorithm>
#include <vector>

#include "core/rows_by_label.h"
#include "core/tree_order.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/statistics/operations.h"

namespace kith::cuda {
namespace {

constexpr int kGroupRows = 8;                                 // rows that a thread measures together
constexpr int kTileQueries = 128;                             // threads of a block, one for each query
constexpr std::int64_t kPieceValues = std::int64_t{1} << 23;  // of packed rows at a time
static_assert(kGroupRows % 2 == 0, "rows are read in pairs");

/// Up to kGroupRows rows of one cluster.
struct RowGroup {
  std::int64_t first;  // place in the order of labels
  std::int32_t rows;
  std::int32_t cluster;
};

struct Grid {
  double first, second;
};

/// packed[j][i] = column order[j] of query i; places from `count` to `pitch` repeat the last query.
__global__ void pack_queries_kernel(const double* queries, std::int64_t count, std::int64_t d,
                                    const std::int32_t* order, std::int64_t pitch, double* packed) {
  for (std::int64_t i = thread_index(); i < pitch * d; i += thread_count()) {
    packed[i] = queries[min(i % pitch, count - 1) * d + order[i / pitch]];
  }
}

/// packed[g][j][r] = column order[j] of row r of group g; groups that are not full repeat their last row.
template <class T>
__global__ void pack_rows_kernel(const T* values, std::int64_t d, const std::int64_t* sorted, const RowGroup* groups,
                                 std::int64_t group_count, const std::int32_t* order, double* packed) {
  for (std::int64_t i = thread_index(); i < group_count * d * kGroupRows; i += thread_count()) {
    const RowGroup group = groups[i / (d * kGroupRows)];
    const std::int64_t r = min(i % kGroupRows, static_cast<std::int64_t>(group.rows - 1));
    packed[i] = static_cast<double>(values[sorted[group.first + r] * d + order[i / kGroupRows % d]]);
  }
}

/// Where a thread reads next: its query, and the rows of the group.
struct Place {
  const double* query;
  std::int64_t pitch;
  const double2* rows;
};

/// Lane Lane of the tree before its step below Width, for all rows of the group. Lane < d: what is not there is 0, and
/// adding it changes nothing.
template <int Lane, int Width>
__device__ __forceinline__ void walk(Place& place, int d, double (&sum)[kGroupRows]) {
  if constexpr (Width == kLanes) {
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) sum[r] = 0.0;
#pragma unroll 1
    for (int j = Lane; j < d; j += kLanes) {
      const double x = *place.query;
      place.query += place.pitch;
#pragma unroll
      for (int r = 0; r < kGroupRows; r += 2) {
        const double2 pair = *place.rows++;
        sum[r] = add_square(pair.x, x, sum[r]);
        sum[r + 1] = add_square(pair.y, x, sum[r + 1]);
      }
    }
  } else {
    walk<Lane, 2 * Width>(place, d, sum);
    if (Lane + Width >= d) return;
    double other[kGroupRows];
    walk<Lane + Width, 2 * Width>(place, d, other);
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) sum[r] = __dadd_rn(sum[r], other[r]);
  }
}

/// A block takes kTileQueries queries and `groups_each` groups. sums: (clusters, pitch)
__global__ void __launch_bounds__(kTileQueries)
    cluster_distances_kernel(const double* __restrict__ queries, std::int64_t pitch, const double* __restrict__ rows,
                             const RowGroup* __restrict__ groups, std::int64_t group_count, std::int64_t groups_each,
                             int d, Grid grid, Word* sums) {
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kTileQueries + threadIdx.x;
  const std::int64_t first = blockIdx.y * groups_each, last = min(first + groups_each, group_count);
  Word total = 0;
  for (std::int64_t g = first; g < last; ++g) {
    const RowGroup group = groups[g];
    Place place{queries + query, pitch, reinterpret_cast<const double2*>(rows + g * d * kGroupRows)};
    double sum[kGroupRows];
    walk<0, 1>(place, d, sum);
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

std::vector<RowGroup> groups_of(const RowsByLabel& sorted) {
  std::vector<RowGroup> groups;
  for (std::size_t c = 0; c + 1 < sorted.first.size(); ++c) {
    for (std::int64_t at = sorted.first[c]; at < sorted.first[c + 1]; at += kGroupRows) {
      const std::int64_t rows = std::min<std::int64_t>(kGroupRows, sorted.first[c + 1] - at);
      groups.push_back({at, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(c)});
    }
  }
  return groups;
}

std::int64_t whole_tiles(std::int64_t queries) { return (queries + kTileQueries - 1) / kTileQueries * kTileQueries; }

/// Groups of rows for each block of a grid: so many blocks that the device is busy, and not more than a grid may have.
std::int64_t groups_per_block(const Context& context, std::int64_t tiles, std::int64_t groups) {
  constexpr std::int64_t kBlocksEach = 32, kMostSplits = 65535;
  const std::int64_t splits = (context.multiprocessors * kBlocksEach + tiles - 1) / tiles;
  const std::int64_t each = (groups + splits - 1) / splits;
  return std::max({each, (groups + kMostSplits - 1) / kMostSplits, std::int64_t{1}});
}

}  // namespace

template <class T>
void cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) {
  const std::int64_t d = held.columns(), k = sums.columns;
  if (request.queries.rows == 0 || k == 0) return;
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::vector<std::int32_t> order = tree_order(d);

  // All memory is taken before anything is added up; the sizes are those of the largest block.
  const std::int64_t most_groups = held.largest_block() / kGroupRows + std::min(held.largest_block(), k) + 1;
  Buffer<std::int32_t> columns(held.pool(), d);
  Buffer<std::int64_t> sorted_rows(held.pool(), held.largest_block());
  Buffer<RowGroup> groups(held.pool(), most_groups);
  const std::int64_t spare = held.pool().available() / 4 / static_cast<std::int64_t>(sizeof(double));
  const std::int64_t group_values = d * kGroupRows;
  const std::int64_t piece_groups =
      std::clamp<std::int64_t>(std::min(kPieceValues, spare) / group_values, 1, most_groups);
  const std::int64_t tiles = (request.queries.rows + kTileQueries - 1) / kTileQueries;
  const std::int64_t piece_tiles = std::clamp<std::int64_t>(spare / ((2 * d + k) * kTileQueries), 1, tiles);
  const std::int64_t piece_queries = piece_tiles * kTileQueries;
  Buffer<double> queries(held.pool(), piece_queries * d), packed_queries(held.pool(), piece_queries * d);
  Buffer<double> packed_rows(held.pool(), piece_groups * group_values);
  Buffer<Word> found(held.pool(), k * piece_queries);
  std::vector<Word> downloaded(static_cast<std::size_t>(k * piece_queries));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(held.largest_block()));

  stream.upload(columns.data(), order.data(), d);
  for (std::int64_t first = 0; first < request.queries.rows; first += piece_queries) {
    const std::int64_t count = std::min(piece_queries, request.queries.rows - first), pitch = whole_tiles(count);
    stream.upload(queries.data(), request.queries.data + first * d, count * d);
    stream.fill(found.data(), 0, k * pitch);
    pack_queries_kernel<<<context.grid(pitch * d, kBlock), kBlock, 0, stream>>>(
        queries.data(), count, d, columns.data(), pitch, packed_queries.data());
    check(cudaGetLastError());
    held.for_blocks([&](const Block<T>& block) {
      stream.download(labels.data(), held.label.data() + block.first, block.rows);
      const RowsByLabel sorted = rows_by_label({labels.data(), static_cast<std::size_t>(block.rows)}, k);
      const std::vector<RowGroup> of_block = groups_of(sorted);
      if (of_block.empty()) return;
      stream.upload(sorted_rows.data(), sorted.rows.data(), static_cast<std::int64_t>(sorted.rows.size()));
      stream.upload(groups.data(), of_block.data(), static_cast<std::int64_t>(of_block.size()));
      const T* values = held.on_device(block);
      for (std::int64_t g = 0; g < static_cast<std::int64_t>(of_block.size()); g += piece_groups) {
        const std::int64_t here = std::min(piece_groups, static_cast<std::int64_t>(of_block.size()) - g);
        pack_rows_kernel<<<context.grid(here * group_values, kBlock), kBlock, 0, stream>>>(
            values, d, sorted_rows.data(), groups.data() + g, here, columns.data(), packed_rows.data());
        check(cudaGetLastError());
        const std::int64_t each = groups_per_block(context, pitch / kTileQueries, here);
        const dim3 blocks(static_cast<unsigned>(pitch / kTileQueries), static_cast<unsigned>((here + each - 1) / each));
        cluster_distances_kernel<<<blocks, kTileQueries, 0, stream>>>(
            packed_queries.data(), pitch, packed_rows.data(), groups.data() + g, here, each, static_cast<int>(d),
            Grid{request.scale.first, request.scale.second}, found.data());
        check(cudaGetLastError());
      }
    });
    stream.download(downloaded.data(), found.data(), k * pitch);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < k; ++c) sums(first + i, c) += static_cast<std::int64_t>(downloaded[c * pitch + i]);
    }
  }
}

#define KITH_INSTANTIATE(T) \
  template void cluster_distances(const HeldRows<T>&, const ClusterDistancesRequest&, MatrixView<std::int64_t>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
