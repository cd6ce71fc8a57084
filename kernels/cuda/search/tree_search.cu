// Searches in the tree of the held rows, batch by batch.
#include "kernels/cuda/search/tree_search.h"

#include <algorithm>

#include "kernels/cuda/search/tree_launch.h"

namespace kith::cuda {

double computed_share(const Word (&computed)[2], std::int64_t queries, std::int64_t rows) {
  const double pairs = static_cast<double>(queries) * static_cast<double>(rows);
  return (static_cast<double>(computed[0]) + 2.0 * static_cast<double>(computed[1])) / pairs;
}

template <class T>
TreeQueries tree_queries(const HeldRows<T>& held, const double* values, std::int64_t count, std::int64_t neighbors) {
  // A query that visits much of the tree keeps a single warp busy while the others have finished.
  constexpr std::int64_t kMinLeaves = 256;
  const std::int64_t leaves = held.rows() / kLeafRows, share = held.index.too_dense ? 2 : 16;
  return {.values = values,
          .count = count,
          .neighbors = neighbors,
          .first_row = held.first_row,
          .most_leaves = std::max(kMinLeaves, leaves / share)};
}

template <class T>
std::vector<std::int64_t> search_tree(const HeldRows<T>& held, const Queries& queries, bool unfilled,
                                      NeighborLists& lists) {
  constexpr std::int64_t kBatchBytes = std::int64_t{256} << 20;
  const std::int64_t q = queries.values.rows, k = lists.index.columns(), d = held.columns();
  const std::int64_t limit = queries.working_bytes > 0 ? queries.working_bytes : kBatchBytes;
  const std::int64_t bytes = std::min(limit, held.pool().available() / 4);
  const std::int64_t size = std::clamp<std::int64_t>(bytes / (d * 8 + k * 16 + 1), 1, q);
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const Buffer<double> values(held.pool(), size * d), distance(held.pool(), size * k);
  const Buffer<std::int64_t> index(held.pool(), size * k);
  const Buffer<unsigned char> given_up(held.pool(), size);
  const Buffer<Word> work(held.pool(), 2);  // distances and bounds
  const TreeOutcome out{{distance.data(), index.data()}, given_up.data(), work.data(), work.data() + 1};
  stream.fill(work.data(), 0, 2);
  std::vector<std::int64_t> fallback;
  std::vector<unsigned char> flags(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < q; first += size) {
    const std::int64_t count = std::min(size, q - first);
    stream.upload(values.data(), queries.values.data + first * d, count * d);
    if (unfilled) {
      clear_lists(context, out.lists, count * k);
    } else {
      stream.upload(distance.data(), lists.distance.data() + first * k, count * k);
      stream.upload(index.data(), lists.index.data() + first * k, count * k);
    }
    TreeQueries request = tree_queries(held, values.data(), count, k);
    request.excluded = queries.excluded_row + first - held.first_row;
    request.has_excluded = queries.excluded_row >= 0;
    launch_tree(context, held.index.tree.view, request, out);
    stream.download(flags.data(), given_up.data(), count);
    stream.download(lists.distance.data() + first * k, distance.data(), count * k);
    stream.download(lists.index.data() + first * k, index.data(), count * k);
    for (std::int64_t i = 0; i < count; ++i) {
      if (flags[static_cast<std::size_t>(i)] != 0) fallback.push_back(first + i);
    }
  }
  Word computed[2] = {};
  stream.download(computed, work.data(), 2);
  lists.candidates += static_cast<std::int64_t>(computed[0]);
  constexpr std::int64_t kEnough = 64;  // queries that represent others
  if (q >= kEnough) {
    held.index.share = computed_share(computed, q, held.rows());
    held.index.neighbors = k;
  }
  return fallback;
}

#define KITH_INSTANTIATE(T)                                                                         \
  template TreeQueries tree_queries(const HeldRows<T>&, const double*, std::int64_t, std::int64_t); \
  template std::vector<std::int64_t> search_tree(const HeldRows<T>&, const Queries&, bool, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
