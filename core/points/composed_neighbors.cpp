// Searches of points made of points: lists are merged by (D, row), counts and sums added.
#include <algorithm>

#include "core/neighbors/merge_lists.h"
#include "core/points/composed_points.h"

namespace kith {
namespace {

constexpr std::int64_t kSharedPlaces = std::int64_t{1} << 22;  // of lists that are shared at a time

/// The lists of `count` queries from `first` on.
template <class T>
std::span<const T> rows_from(const Matrix<T>& values, std::int64_t first, std::int64_t count) {
  return {values.data() + first * values.columns(), static_cast<std::size_t>(count * values.columns())};
}

}  // namespace

Queries ComposedPoints::of_shard(const Queries& queries) const {
  const auto shares = static_cast<std::int64_t>(std::max<std::size_t>(shards_.size(), 1));
  Queries shard = queries;
  shard.host_bytes /= shares;
  shard.cell_bytes /= shares;
  return shard;
}

void ComposedPoints::search(const Queries& queries, NeighborLists& lists) const {
  const std::int64_t count = queries.values.rows, k = lists.index.columns();
  std::vector<NeighborLists> of_shards(shards_.size());
  Integers work = sum(Integers(3), [&](const Points& points, std::size_t p) {
    NeighborLists& shard = of_shards[p] = NeighborLists(count, k);
    points.search(of_shard(queries), shard);
    return Integers().add(shard.products).add(shard.candidates).add(shard.fallback_queries);
  });
  work.take(lists.products);
  work.take(lists.candidates);
  work.take(lists.fallback_queries);
  if (processes_.is_alone()) {
    for (NeighborLists& shard : of_shards) merge_lists(lists, 0, shard.index.view(), shard.distance.view());
    return;
  }
  NeighborLists here(count, k);
  for (NeighborLists& shard : of_shards) merge_lists(here, 0, shard.index.view(), shard.distance.view());
  const std::int64_t block = std::max<std::int64_t>(kSharedPlaces / k / processes_.size(), 1);
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t queries = std::min(block, count - first);
    const std::vector<std::int64_t> rows = gather(processes_, rows_from(here.index, first, queries));
    const std::vector<double> distances = gather(processes_, rows_from(here.distance, first, queries));
    for (std::int64_t r = 0; r < processes_.size(); ++r) {
      const std::int64_t from = r * queries * k;
      merge_lists(lists, first, {rows.data() + from, queries, k}, {distances.data() + from, queries, k});
    }
  }
}

/// Only one process joins: several hold different rows.
std::optional<NeighborLists> ComposedPoints::self_join(const SelfJoin& join) const {
  if (!processes_.is_alone() || shards_.empty()) return std::nullopt;
  std::vector<const Points*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  return shards_.front()->join_shards(shards, *threads_, join);
}

void ComposedPoints::merge_lists(NeighborLists& lists, std::int64_t first, MatrixView<const std::int64_t> rows,
                                 MatrixView<const double> distances) const {
  const auto merge_share = [&](const Shard& share) {
    std::vector<Neighbor> merged;
    for (std::int64_t q = share.first; q < share.first + share.count; ++q) {
      merge_list(
          lists, first + q, rows.columns,
          [&](std::int64_t i) {
            return Neighbor{distances(q, i), rows(q, i)};
          },
          merged);
    }
  };
  if (shards_.size() <= 1) return merge_share({0, rows.rows});
  for_shards([&](const Points&, std::size_t p) {
    merge_share(shard_of(rows.rows, static_cast<int>(p), static_cast<int>(shards_.size())));
  });
}

void ComposedPoints::search_radius(const Queries& queries, RadiusLists& lists) const {
  const std::int64_t capacity = std::max<std::int64_t>(lists.capacity - lists.total(), 0);
  std::vector<RadiusLists> of_shards(shards_.size(), RadiusLists(std::ssize(lists.counts), lists.limit, capacity));
  Integers counts = sum(Integers(lists.counts.size()), [&](const Points& points, std::size_t p) {
    of_shards[p].first_row = lists.first_row;
    points.search_radius(of_shard(queries), of_shards[p]);
    return Integers().add(of_shards[p].counts);
  });
  counts.take(lists.counts);
  if (!lists.is_complete()) return;
  struct Found {
    std::int64_t query;
    Neighbor neighbor;
  };
  std::vector<Found> found;
  for (const RadiusLists& shard : of_shards) {
    for (std::size_t q = 0; q < shard.rows.size(); ++q) {
      for (const Neighbor& neighbor : shard.rows[q]) found.push_back({static_cast<std::int64_t>(q), neighbor});
    }
  }
  for (const Found& one : gather(processes_, std::span<const Found>(found))) {
    lists.rows[static_cast<std::size_t>(one.query)].push_back(one.neighbor);
  }
}

void ComposedPoints::all_distances(const Queries& queries, MatrixView<double> out) const {
  const std::int64_t count = queries.values.rows;
  std::vector<double> here;  // (shards) (q, rows of the shard)
  here.resize(static_cast<std::size_t>(count * rows_here()));
  for_shards([&](const Points& points, std::size_t p) {
    points.all_distances(queries, {here.data() + count * (firsts_[p] - firsts_.front()), count, points.rows()});
  });
  // By rows of shards: the order in which gather() returns them.
  const std::vector<std::int64_t> shapes = [&] {
    std::vector<std::int64_t> rows;
    for (const auto& shard : shards_) rows.push_back(shard->rows());
    return gather(processes_, std::span<const std::int64_t>(rows));
  }();
  const std::vector<double> all = gather(processes_, std::span<const double>(here));
  const double* from = all.data();
  std::int64_t first = 0;
  for (const std::int64_t rows : shapes) {
    for (std::int64_t q = 0; q < count; ++q, from += rows) std::copy_n(from, rows, out.row(q).data() + first);
    first += rows;
  }
}

void ComposedPoints::cluster_distances(const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) const {
  const auto size = static_cast<std::size_t>(sums.size());
  Integers all = sum(Integers(size), [&](const Points& points, std::size_t) {
    std::vector<std::int64_t> shard(size, 0);
    points.cluster_distances(request, {shard.data(), sums.rows, sums.columns});
    return Integers().add(shard);
  });
  all.take(std::span(sums.data, size));
}

}  // namespace kith
