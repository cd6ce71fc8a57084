// The neighbour search on the tensor cores: queries are the rows of the product of halves, base rows its columns, and
// blocks share out the columns, so that few queries keep the device busy too. Very few queries take half_stream.h.
//
// Complete as search.cu is, with halves in the first look and float32 sums of halves in the second. Cost: 2 q n d
// operations and q n / 8 bytes written for the minima. Queries whose scores halves cannot bound are left to search.cu.
#include "kernels/cuda/half_search.h"

#include <algorithm>

#include "kernels/cuda/device/minima_epilogue.h"
#include "kernels/cuda/half_base.h"
#include "kernels/cuda/half_lists.h"
#include "kernels/cuda/half_stream.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostMinimaBytes = std::int64_t{1} << 32;  // of a batch of queries

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
  QueryRoom(const HeldRows<T>& held, const SearchBase<T>& base, std::int64_t queries, std::int64_t neighbors)
      : taken(room_for_half_queries(held, base.measure, queries)),
        minima{nullptr, nullptr, base.tiles()},
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

  HalfQueries taken;
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
                const QueryRoom<T>& room) {
  const Context& context = *held.context;
  const HalfProblem problem = search_problem(held, base, queries.pieces, queries.count);
  if (queries.count <= kFewQueries) {
    stream_minima(held.stream(), base.pieces, base.score_base, queries);
  } else {
    launch_product<KeepMinima>(context, problem, queries.minima);
  }
  if (room.listed.size() == 0) return find_lists(context, base, queries, room.lists());
  const RowLists listed{room.limit.data(), room.listed.data(), room.listed_count.data(),
                        static_cast<unsigned>(candidates_of_list(queries.neighbors))};
  find_limits(context, base, queries, room.limit.data());
  held.stream().fill(room.listed_count.data(), 0, queries.count);
  launch_product<ListWithin>(context, problem, listed);
  finish_lists(context, base, queries, listed, room.lists());
}

template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, std::int64_t queries, std::int64_t neighbors) {
  const std::int64_t tiles = row_groups_of(held.rows());
  const std::int64_t listed = multiplies_twice(held.rows(), queries, neighbors) ? candidates_of_list(neighbors) * 4 : 0;
  const std::int64_t each = tiles * kQuarters * 5 + held.columns() * 12 + neighbors * 16 + listed;
  const std::int64_t fitting = std::min(kMostMinimaBytes, held.pool().available() / 2) / each;
  return std::clamp<std::int64_t>(fitting / kQueryTile * kQueryTile, std::min(queries, kQueryTile), queries);
}

}  // namespace

template <class T>
bool searches_halves(const HeldRows<T>& held, Measure measure, std::int64_t neighbors) {
  return multiplies_base(held, measure) && can_find_lists(*held.context, held.rows(), neighbors);
}

template <class T>
std::vector<std::int64_t> search_halves(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const std::int64_t d = held.columns(), q = queries.values.rows, k = lists.index.columns();
  const Stream& stream = held.stream();
  const SearchBase<T> base = search_base(held, queries.measure);
  const std::int64_t largest = batch_queries(held, q, k);
  const QueryRoom<T> room(held, base, largest, k);
  std::vector<std::int64_t> left;
  std::vector<std::int32_t> candidates(static_cast<std::size_t>(largest));
  for (std::int64_t first = 0; first < q; first += largest) {
    const std::int64_t count = std::min(largest, q - first);
    take_queries(held, queries.values.data + first * d, count, room.taken);
    find_batch(held, base,
               {.values = room.taken.values.data(),
                .pieces = room.taken.halves.values.data(),
                .shape = held.half.shape,
                .norm = room.taken.halves.norm.data(),
                .residual = room.taken.halves.residual.data(),
                .minima = room.minima,
                .count = count,
                .neighbors = k,
                .excluded = queries.excluded_row + first - held.first_row,
                .leaves_out = queries.excluded_row >= 0},
               room);
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

#define KITH_INSTANTIATE(T)                                                 \
  template bool searches_halves(const HeldRows<T>&, Measure, std::int64_t); \
  template std::vector<std::int64_t> search_halves(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
