// The neighbour search on the tensor cores: queries are the rows of the product of halves, base rows its columns, and
// blocks share out the columns, so that few queries keep the device busy too. Very few queries take half_stream.h.
//
// Complete as search.cu is, with halves in the first look and float32 sums of halves in the second. Cost: 2 q n d
// operations and q n / 8 bytes written for the minima. Queries from far outside the base are left to float32: scores
// get a bias that makes them positive, which grows with the largest norm of a query.
#include "kernels/cuda/half_search.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/device/half_launch.h"
#include "kernels/cuda/device/minima_epilogue.h"
#include "kernels/cuda/half_lists.h"
#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/half_stream.h"

namespace kith::cuda {
namespace {

constexpr double kReach = 4.0;                                    // of a query, in largest norms of the base
constexpr std::int64_t kMostMinimaBytes = std::int64_t{1} << 32;  // of a batch of queries
constexpr std::int64_t kQueryTile = 2 * kPieceRows;               // queries of a block of either product
constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1;   // positions are int32

template <class T>
HalfBound bound_of_search(const HeldRows<T>& held) {
  const LargestNorms& base = held.half.largest;
  return half_bound({kReach * base.norm, 0.0}, base, held.columns(), half_exponent(held.plan.screen),
                    tensor_accumulation(held.columns()));
}

std::int64_t tiles_of(std::int64_t rows) { return row_groups_of(rows); }

/// Rows that do not exist score 10^37.
__global__ void base_kernel(const float* half_norm, std::int64_t rows, std::int64_t padded, float bias, float* out) {
  constexpr float kUnit = 1 << 2 * kHalfShift;  // of the half rows' products
  for (std::int64_t i = thread_index(); i < padded; i += thread_count()) {
    out[base_place_of_row(i)] = i < rows ? __fadd_rn(half_norm[i] * kUnit, bias) : CoarseGrid::kNever;
  }
}

/// Rows of a narrow layout in whole pieces, zero beyond their columns.
__global__ void widen_kernel(const uint4* from, HalfShape narrow, std::int64_t rows, uint4* to) {
  const HalfShape whole;
  for (std::int64_t i = thread_index(); i < rows * kRowUnits; i += thread_count()) {
    const std::int64_t row = i / kRowUnits;
    const int unit = static_cast<int>(i % kRowUnits);
    to[whole.place(row, 0, unit)] = unit < narrow.units ? from[narrow.place(row, 0, unit)] : uint4{};
  }
}

/// The base as columns, made once. Queues only.
template <class T>
void make_columns(const HeldRows<T>& held, const HalfBound& bound) {
  SearchColumns& columns = held.half.search;
  const HalfShape shape = held.half.shape;
  const std::int64_t padded = tiles_of(held.rows()) * kHalfColumns;
  if (columns.score_base.size() > 0) return;
  if (shape.units != kRowUnits) {
    columns.pieces = Buffer<uint4>(held.pool(), padded * kRowUnits);
    widen_kernel<<<held.context->grid(padded * kRowUnits, kBlock), kBlock, 0, held.stream()>>>(
        held.half.values.data(), shape, padded, columns.pieces.data());
    check(cudaGetLastError());
  }
  const std::int64_t fetched = padded + kHalfColumns;  // a tile ahead
  Buffer<float> base(held.pool(), fetched);
  base_kernel<<<held.context->grid(fetched, kBlock), kBlock, 0, held.stream()>>>(held.half_norm.data(), held.rows(),
                                                                                 fetched, bound.grid.bias, base.data());
  check(cudaGetLastError());
  columns.score_base = std::move(base);
}

/// Columns of a block, so that the last round of blocks is nearly full and blocks are not so short that beginning one
/// shows.
std::int64_t columns_of_block(const Context& context, std::int64_t queries, std::int64_t tiles) {
  constexpr std::int64_t kBeginning = 4;  // tiles that could be multiplied meanwhile
  constexpr std::int64_t kMostRounds = 8;
  const std::int64_t row_tiles = (queries + kQueryTile - 1) / kQueryTile, processors = context.multiprocessors;
  const std::int64_t most_runs = (tiles + kTogether - 1) / kTogether;
  std::int64_t best = 0, best_cost = 0;
  for (std::int64_t wanted = 1; wanted <= kMostRounds; ++wanted) {
    const std::int64_t runs = std::clamp<std::int64_t>(wanted * processors / row_tiles, 1, most_runs);
    const std::int64_t run = (most_runs + runs - 1) / runs * kTogether;
    const std::int64_t blocks = row_tiles * ((tiles + run - 1) / run);
    const std::int64_t cost = (blocks + processors - 1) / processors * (run + kBeginning);
    if (best > 0 && cost >= best_cost) continue;
    best = run;
    best_cost = cost;
  }
  return best * kHalfColumns;
}

template <class T>
HalfProblem problem_of(const HeldRows<T>& held, const SearchBase<T>& base, const SearchQueries& queries) {
  const std::int64_t tiles = queries.minima.tiles;
  return {.points = queries.pieces,
          .rows = queries.count,
          .columns = base.pieces,
          .count = tiles * kHalfColumns,
          .score_base = base.score_base,
          .shape = queries.shape,
          .run = columns_of_block(*held.context, queries.count, tiles)};
}

/// Whether another product takes less than reading every group that may have a neighbour, about k for each query: at
/// 350 TFLOP/s, for whole tiles of queries, and 4 TB/s.
bool multiplies_twice(std::int64_t rows, std::int64_t queries, std::int64_t neighbors) {
  constexpr std::int64_t kGroupInRows = 2048;  // that are multiplied while a group is read
  const std::int64_t tiled = (queries + kQueryTile - 1) / kQueryTile * kQueryTile;
  return static_cast<double>(queries * neighbors) * kGroupInRows >
         static_cast<double>(tiled) * static_cast<double>(rows);
}

/// Device memory of a batch of queries.
template <class T>
struct QueryRoom {
  QueryRoom(const HeldRows<T>& held, std::int64_t queries, std::int64_t neighbors)
      : values(held.pool(), queries * held.columns()),
        halves(room_for_halves(held.pool(), queries, held.half.shape)),
        largest(held.pool(), 2),
        minima{nullptr, nullptr, tiles_of(held.rows())},
        each(held.pool(), queries * minima.groups()),
        coarse(held.pool(), queries * minima.coarse_groups()),
        distance(held.pool(), queries * neighbors),
        index(held.pool(), queries * neighbors),
        candidates(held.pool(), queries) {
    minima.each = each.data();
    minima.coarse = coarse.data();
    if (!multiplies_twice(held.rows(), queries, neighbors)) return;
    limit = Buffer<float>(held.pool(), queries);
    listed_count = Buffer<unsigned>(held.pool(), queries);
    listed = Buffer<std::int32_t>(held.pool(), queries * candidates_of_list(neighbors));
  }

  FoundLists lists() const { return {distance.data(), index.data(), candidates.data()}; }

  Buffer<double> values;
  HalfRows halves;
  Buffer<Word> largest;  // that nobody asks for
  GroupMinima minima;
  Buffer<float> each, coarse;
  Buffer<double> distance;
  Buffer<std::int64_t> index;
  Buffer<std::int32_t> candidates;
  Buffer<float> limit;
  Buffer<unsigned> listed_count;
  Buffer<std::int32_t> listed;  // (queries, room of a list)
};

/// The lists of queries that are on the device. Queues only.
template <class T>
void find_batch(const HeldRows<T>& held, const SearchBase<T>& base, const SearchQueries& queries,
                const ListRequest& request, const QueryRoom<T>& room) {
  const Context& context = *held.context;
  if (queries.count <= kFewQueries) {
    stream_minima(held.stream(), base.pieces, base.score_base, queries);
  } else {
    launch_product<KeepMinima>(context, problem_of(held, base, queries), queries.minima);
  }
  if (room.listed.size() == 0) return find_lists(context, base, queries, request, room.lists());
  const RowLists listed{room.limit.data(), room.listed.data(), room.listed_count.data(),
                        static_cast<unsigned>(candidates_of_list(request.neighbors))};
  find_limits(context, base.rows, queries, request, room.limit.data());
  held.stream().fill(room.listed_count.data(), 0, queries.count);
  launch_product<ListWithin>(context, problem_of(held, base, queries), listed);
  finish_lists(context, base, queries, request, listed, room.lists());
}

template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, std::int64_t queries, std::int64_t neighbors) {
  const std::int64_t tiles = tiles_of(held.rows());
  const std::int64_t listed = multiplies_twice(held.rows(), queries, neighbors) ? candidates_of_list(neighbors) * 4 : 0;
  const std::int64_t each = tiles * kQuarters * 5 + held.columns() * 12 + neighbors * 16 + listed;
  const std::int64_t fitting = std::min(kMostMinimaBytes, held.pool().available() / 2) / each;
  return std::clamp<std::int64_t>(fitting / kQueryTile * kQueryTile, std::min(queries, kQueryTile), queries);
}

}  // namespace

template <class T>
bool searches_halves(const HeldRows<T>& held, std::int64_t neighbors) {
  if (held.half.values.size() == 0 || held.sent || held.rows() > kMostRows) return false;
  return can_find_lists(*held.context, held.rows(), neighbors) && std::isfinite(bound_of_search(held).margin.constant);
}

template <class T>
std::vector<std::int64_t> search_halves(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const std::int64_t n = held.rows(), d = held.columns(), q = queries.values.rows, k = lists.index.columns();
  const Stream& stream = held.stream();
  const HalfBound bound = bound_of_search(held);
  make_columns(held, bound);
  const std::int64_t largest = batch_queries(held, q, k);
  QueryRoom<T> room(held, largest, k);
  const SearchColumns& columns = held.half.search;
  const SearchBase<T> base{held.resident.data(),
                           n,
                           d,
                           held.first_row,
                           columns.pieces.size() > 0 ? columns.pieces.data() : held.half.values.data(),
                           columns.score_base.data()};
  const ListRequest request{k, bound, static_cast<float>(kReach * held.half.largest.norm)};
  std::vector<std::int64_t> left;
  std::vector<std::int32_t> candidates(static_cast<std::size_t>(largest));
  for (std::int64_t first = 0; first < q; first += largest) {
    const std::int64_t count = std::min(largest, q - first);
    stream.upload(room.values.data(), queries.values.data + first * d, count * d);
    queue_halves(held, room.values.data(), count, room.halves, room.largest.data());
    const SearchQueries batch{room.values.data(),
                              room.halves.values.data(),
                              held.half.shape,
                              room.halves.norm.data(),
                              room.halves.residual.data(),
                              room.minima,
                              count,
                              queries.excluded_row + first - held.first_row,
                              queries.excluded_row >= 0};
    find_batch(held, base, batch, request, room);
    stream.download(lists.distance.data() + first * k, room.distance.data(), count * k);
    stream.download(lists.index.data() + first * k, room.index.data(), count * k);
    stream.download(candidates.data(), room.candidates.data(), count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t measured = candidates[static_cast<std::size_t>(i)];
      if (measured == FoundLists::kNone) left.push_back(first + i);
      lists.candidates += std::max(measured, 0);
    }
  }
  return left;
}

#define KITH_INSTANTIATE(T)                                        \
  template bool searches_halves(const HeldRows<T>&, std::int64_t); \
  template std::vector<std::int64_t> search_halves(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
