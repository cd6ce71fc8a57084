// Searches of points made of points: lists are merged by (D, row), counts and sums added.
#include <algorithm>
#include <utility>

#include "core/composed_points.h"
#include "core/integers.h"

namespace kith {
namespace {

constexpr std::int64_t kSharedPlaces = std::int64_t{1} << 22;  // of lists that are shared at a time

/// Merges sorted lists of other rows into `lists`, for queries from `first` on.
void merge_lists(NeighborLists& lists, std::int64_t first, std::span<const Neighbor> found) {
  const std::int64_t k = lists.index.columns(), queries = std::ssize(found) / k;
  std::vector<Neighbor> merged(static_cast<std::size_t>(2 * k));
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t q = first + i;
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const Neighbor own{lists.distance(q, j), lists.index(q, j)}, &other = found[static_cast<std::size_t>(i * k + j)];
      if (own.row >= 0) merged[static_cast<std::size_t>(count++)] = own;
      if (other.row >= 0) merged[static_cast<std::size_t>(count++)] = other;
    }
    std::sort(merged.begin(), merged.begin() + count);
    for (std::int64_t j = 0; j < std::min(count, k); ++j) {
      lists.distance(q, j) = merged[static_cast<std::size_t>(j)].distance;
      lists.index(q, j) = merged[static_cast<std::size_t>(j)].row;
    }
  }
}

/// The lists of `count` queries from `first` on.
std::vector<Neighbor> places_of(const NeighborLists& lists, std::int64_t first, std::int64_t count) {
  std::vector<Neighbor> places;
  for (std::int64_t q = first; q < first + count; ++q) {
    for (std::int64_t j = 0; j < lists.index.columns(); ++j)
      places.push_back({lists.distance(q, j), lists.index(q, j)});
  }
  return places;
}

}  // namespace

Queries ComposedPoints::of_part(const Queries& queries) const {
  const auto shares = static_cast<std::int64_t>(std::max<std::size_t>(parts_.size(), 1));
  Queries part = queries;
  part.host_bytes /= shares;
  part.cell_bytes /= shares;
  return part;
}

void ComposedPoints::search(const Queries& queries, NeighborLists& lists) const {
  const std::int64_t count = queries.values.rows, k = lists.index.columns();
  std::vector<NeighborLists> of_parts(parts_.size());
  Integers work = sum(Integers(3), [&](const Points& points, std::size_t p) {
    NeighborLists& part = of_parts[p] = NeighborLists(count, k);
    points.search(of_part(queries), part);
    return Integers().add(part.products).add(part.candidates).add(part.fallback_queries);
  });
  work.take(lists.products);
  work.take(lists.candidates);
  work.take(lists.fallback_queries);
  NeighborLists here(count, k);
  for (NeighborLists& part : of_parts) merge_lists(here, 0, places_of(part, 0, count));
  const std::int64_t block = std::max<std::int64_t>(kSharedPlaces / k / processes_.size(), 1);
  for (std::int64_t first = 0; first < count; first += block) {
    const std::vector<Neighbor> own = places_of(here, first, std::min(block, count - first)),
                                all = gather(processes_, std::span<const Neighbor>(own));
    for (std::size_t from = 0; from < all.size(); from += own.size()) {
      merge_lists(lists, first, std::span(all).subspan(from, own.size()));
    }
  }
}

void ComposedPoints::search_radius(const Queries& queries, RadiusLists& lists) const {
  const std::int64_t capacity = std::max<std::int64_t>(lists.capacity - lists.total(), 0);
  std::vector<RadiusLists> of_parts(parts_.size(), RadiusLists(std::ssize(lists.counts), lists.limit, capacity));
  Integers counts = sum(Integers(lists.counts.size()), [&](const Points& points, std::size_t p) {
    of_parts[p].first_row = lists.first_row;
    points.search_radius(of_part(queries), of_parts[p]);
    return Integers().add(of_parts[p].counts);
  });
  counts.take(lists.counts);
  if (!lists.is_complete()) return;
  struct Found {
    std::int64_t query;
    Neighbor neighbor;
  };
  std::vector<Found> found;
  for (const RadiusLists& part : of_parts) {
    for (std::size_t q = 0; q < part.rows.size(); ++q) {
      for (const Neighbor& neighbor : part.rows[q]) found.push_back({static_cast<std::int64_t>(q), neighbor});
    }
  }
  for (const Found& one : gather(processes_, std::span<const Found>(found))) {
    lists.rows[static_cast<std::size_t>(one.query)].push_back(one.neighbor);
  }
}

void ComposedPoints::all_distances(const Queries& queries, MatrixView<double> out) const {
  const std::int64_t count = queries.values.rows;
  std::vector<double> here;  // (parts) (q, rows of the part)
  here.resize(static_cast<std::size_t>(count * rows_here()));
  for_parts([&](const Points& points, std::size_t p) {
    points.all_distances(queries, {here.data() + count * (firsts_[p] - firsts_.front()), count, points.rows()});
  });
  // By rows of parts: the order in which gather() returns them.
  const std::vector<std::int64_t> shapes = [&] {
    std::vector<std::int64_t> rows;
    for (const auto& part : parts_) rows.push_back(part->rows());
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
    std::vector<std::int64_t> part(size, 0);
    points.cluster_distances(request, {part.data(), sums.rows, sums.columns});
    return Integers().add(part);
  });
  all.take(std::span(sums.data, size));
}

}  // namespace kith
