// neighbors() and radius() of the C++ interface.
#include <kith/neighbors.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "library/held_data.h"

namespace kith {
namespace {

/// A distance as the command line shows it.
double shown(double d, Metric metric) {
  if (metric == Metric::inner_product) return 0.0 - d;  // no -0
  return measure_of(metric) == Measure::squared_euclidean ? std::sqrt(d) : d;
}

/// Both sets of a search. Without queries those of the base.
struct Search {
  Search(const PointData& base, const PointData* queries, const SearchOptions& options)
      : metric(metric_named(options.metric, false)), reporter(options.run) {
    open = open_points(base, metric, options.run, reporter);
    values = queries == nullptr ? open.view : values_for(*queries, metric, directions);
  }

  Metric metric;
  Reporter reporter;
  OpenPoints open;
  Matrix<double> directions;  // of the queries, for cosine
  PointsView values;          // of the queries
};

NeighborTable find(const PointData& base, const PointData* queries, std::int64_t k, const SearchOptions& options) {
  Search search(base, queries, options);
  const std::int64_t count = rows_of(search.values);
  NeighborTable table;
  nearest_neighbors(
      *search.open.points, search.values,
      {.neighbors = k,
       .base_is_queries = queries == nullptr,
       .include_self = options.include_self,
       .measure = measure_of(search.metric)},
      [&](std::int64_t, const NeighborLists& lists) {
        const std::int64_t* rows = lists.index.data();
        table.rows.values.insert(table.rows.values.end(), rows, rows + lists.index.size());
        std::transform(lists.distance.data(), lists.distance.data() + lists.distance.size(),
                       std::back_inserter(table.distances.values), [&](double d) { return shown(d, search.metric); });
      },
      search.reporter);
  table.rows.rows = table.distances.rows = count;
  table.rows.columns = table.distances.columns = k;
  return table;
}

RadiusTable find_within(const PointData& base, const PointData* queries, double radius, const SearchOptions& options) {
  const double limit = limit_of_radius(radius, metric_named(options.metric, false));
  Search search(base, queries, options);
  RadiusTable table{.begin = {0}, .rows = {}, .distances = {}};
  radius_neighbors(
      *search.open.points, search.values,
      {.limit = limit,
       .measure = measure_of(search.metric),
       .base_is_queries = queries == nullptr,
       .include_self = options.include_self},
      [&](std::int64_t, std::span<const std::vector<Neighbor>> lists) {
        for (const std::vector<Neighbor>& list : lists) {
          for (const Neighbor& neighbor : list) {
            table.rows.push_back(neighbor.row);
            table.distances.push_back(shown(neighbor.distance, search.metric));
          }
          table.begin.push_back(std::ssize(table.rows));
        }
        return true;
      },
      search.reporter);
  return table;
}

}  // namespace

NeighborTable neighbors(const PointData& base, std::int64_t k, const SearchOptions& options) {
  return find(base, nullptr, k, options);
}
NeighborTable neighbors(const PointData& base, const PointData& queries, std::int64_t k, const SearchOptions& options) {
  return find(base, &queries, k, options);
}
RadiusTable radius(const PointData& base, double radius, const SearchOptions& options) {
  return find_within(base, nullptr, radius, options);
}
RadiusTable radius(const PointData& base, const PointData& queries, double radius, const SearchOptions& options) {
  return find_within(base, &queries, radius, options);
}

}  // namespace kith
