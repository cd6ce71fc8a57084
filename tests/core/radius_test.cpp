// Radius search on every backend, neighbour graphs, and connected components.
#include <algorithm>
#include <limits>
#include <set>

#include "core/neighbors/graph.h"
#include "core/neighbors/radius.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

using Lists = std::vector<std::vector<Neighbor>>;

bool same(const Lists& a, const Lists& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Neighbor& m, const Neighbor& n) { return m.row == n.row && m.distance == n.distance; });
  });
}

Lists sorted(RadiusLists actual) {
  for (auto& list : actual.rows) std::sort(list.begin(), list.end());
  return std::move(actual.rows);
}

Lists all_within(const Points& base, PointsView queries, const RadiusOptions& options) {
  Lists all;
  Observer nobody;
  radius_neighbors(
      base, queries, options,
      [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
        REQUIRE(first == std::ssize(all));
        all.insert(all.end(), lists.begin(), lists.end());
        return true;
      },
      nobody);
  return all;
}

constexpr Measure kMeasures[] = {Measure::squared_euclidean, Measure::inner_product, Measure::manhattan,
                                 Measure::chebyshev};

}  // namespace

TEST_CASE("rows within a limit equal the definition for limits with no, some and all rows", "[radius]") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : kinds()) {
    for (const Stored stored : storages(kind)) {
      for (const std::int64_t d : {3, 40}) {
        const std::int64_t n = 110, count = d == 3 ? 1 : 40;
        const Matrix<double> values = kind.make(n, d, 7);
        const auto expected = reference_points(values.view());
        const DataPlan plan = make_plan(*expected);
        const PointsMatrix rows = stored_as(values.view(), stored);
        for (const Tested& tested : backends) {
          const auto points = tested.backend->hold({view_of(rows), 0});
          points->prepare(plan);
          for (const Measure measure : kMeasures) {
            const Queries queries{values.view().middle(n - count, count), n - count, measure};
            Matrix<double> distances(count, n);
            expected->all_distances(queries, distances.view());
            std::vector<double> occurring(distances.data(), distances.data() + distances.size());
            std::sort(occurring.begin(), occurring.end());
            const double least = occurring.front(), most = occurring.back();
            for (const double limit : {std::nextafter(least, -INFINITY), occurring[occurring.size() / 9], most}) {
              RadiusLists correct(count, limit, count * n),
                  actual(count, limit, std::numeric_limits<std::int64_t>::max());
              expected->search_radius(queries, correct);
              points->search_radius(queries, actual);
              INFO(tested.name << ", " << kind.name << ", " << name_of(stored) << ", d " << d << ", measure "
                               << static_cast<int>(measure) << ", " << count << " queries, limit " << limit);
              CHECK(actual.counts == correct.counts);
              CHECK(same(sorted(actual), sorted(correct)));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("with little capacity, counts are exact and lists complete", "[radius]") {
  const Matrix<double> values = kinds()[0].make(300, 5, 3);
  const auto reference = reference_points(values.view());
  const Lists correct = all_within(*reference, values.view(), {.limit = 16.0, .base_is_queries = true});
  std::int64_t total = 0;
  for (const auto& list : correct) total += std::ssize(list);
  REQUIRE(total > 2000);
  for (const Tested& tested : every_backend()) {
    INFO(tested.name);
    const auto points = tested.backend->hold({values.view(), 0});
    points->prepare(make_plan(*reference));
    for (const std::int64_t capacity : {1, 50, 100'000}) {
      for (const std::int64_t block : {0, 19}) {
        CHECK(same(correct,
                   all_within(*points, values.view(),
                              {.limit = 16.0, .base_is_queries = true, .block_queries = block, .capacity = capacity})));
      }
    }
    Observer nobody;
    const auto counts =
        count_radius_neighbors(*points, values.view(), {.limit = 16.0, .base_is_queries = true}, nobody);
    for (std::size_t i = 0; i < correct.size(); ++i) CHECK(counts[i] == std::ssize(correct[i]));
  }
}

namespace {

/// The rows within the limit of every row, in plain loops.
Lists plain_lists(const Matrix<double>& values, const RadiusOptions& options) {
  Lists lists(static_cast<std::size_t>(values.rows()));
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    for (std::int64_t j = options.pairs_once ? i : 0; j < values.rows(); ++j) {
      if (i == j && !options.include_self) continue;
      const double distance =
          reference_distance(options.measure, values.row(i).data(), values.row(j).data(), values.columns());
      if (distance <= options.limit) lists[i].push_back({distance, j});
    }
    std::sort(lists[i].begin(), lists[i].end());
  }
  return lists;
}

/// A D such that about one in `share` of the pairs of rows is within it.
double limit_for(const Matrix<double>& values, Measure measure, std::int64_t share) {
  std::vector<double> occurring;
  for (std::int64_t i = 0; i < values.rows(); i += 7) {
    for (std::int64_t j = 0; j < values.rows(); ++j) {
      occurring.push_back(reference_distance(measure, values.row(i).data(), values.row(j).data(), values.columns()));
    }
  }
  const auto chosen = occurring.begin() + std::ssize(occurring) / share;
  std::nth_element(occurring.begin(), chosen, occurring.end());
  return *chosen;
}

}  // namespace

TEST_CASE("a set searched in itself equals plain loops for any block size and pair buffer", "[radius]") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : kinds()) {
    const std::int64_t n = 70;
    const Matrix<double> values = kind.make(n, 5, 13);
    const PointsMatrix stored = stored_as(values.view(), storages(kind).front());
    const DataPlan plan = make_plan(*reference_points(values.view()));
    for (const Measure measure : kMeasures) {
      RadiusOptions options{
          .limit = limit_for(values, measure, 9), .measure = measure, .base_is_queries = true, .include_self = true};
      const Lists correct = plain_lists(values, options);
      options.include_self = false;
      const Lists others = plain_lists(values, options);
      options.pairs_once = true;
      const Lists once = plain_lists(values, options);
      for (const Tested& tested : backends) {
        const auto points = tested.backend->hold({view_of(stored), 0});
        points->prepare(plan);
        for (const std::int64_t block : {0, 1, 16}) {
          INFO(tested.name << ", " << kind.name << ", measure " << static_cast<int>(measure) << ", block " << block);
          RadiusOptions asked{
              .limit = options.limit, .measure = measure, .base_is_queries = true, .block_queries = block};
          CHECK(same(others, all_within(*points, values.view(), asked)));
          if (block != 16) continue;
          for (const std::int64_t most : {0, 1, 80}) {
            asked.max_buffered_pairs = most;
            CHECK(same(others, all_within(*points, values.view(), asked)));
          }
          asked.capacity = 40;
          CHECK(same(others, all_within(*points, values.view(), asked)));
          asked.pairs_once = true;
          CHECK(same(once, all_within(*points, values.view(), asked)));
          asked.include_self = true;
          asked.pairs_once = false;
          CHECK(same(correct, all_within(*points, values.view(), asked)));
        }
      }
    }
  }
}

TEST_CASE("thousands of rows are searched in themselves in blocks, also with a row offset", "[radius]") {
  const std::int64_t n = 4200;
  const Kind& kind = kinds()[0];
  const Matrix<double> values = kind.make(n, 6, 5);
  const PointsMatrix stored = stored_as(values.view(), storages(kind).front());
  const DataPlan plan = make_plan(*reference_points(values.view()));
  RadiusOptions options{.limit = limit_for(values, Measure::squared_euclidean, 400), .base_is_queries = true};
  const Lists correct = plain_lists(values, options);
  for (const std::int64_t block_rows : {0, 700}) {
    BackendOptions backend;
    backend.block_rows = block_rows;
    for (const Tested& tested : tested_backends(backend)) {
      INFO(tested.name << ", blocks of " << block_rows << " rows");
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(plan);
      for (const std::int64_t most : {20'000, 1'000'000}) {
        options.max_buffered_pairs = most;
        CHECK(same(correct, all_within(*points, values.view(), options)));
      }
      const auto later = tested.backend->hold({view_of(stored), 10'000});
      later->prepare(plan);
      for (const std::int64_t first : {0, 10'000, 10'001, 11'300, 14'199, 14'200, 20'000}) {
        RadiusLists actual(50, options.limit, 1'000'000);
        actual.first_row = first;
        later->search_radius({values.view().middle(0, 50)}, actual);
        Lists expected(50);
        for (std::size_t q = 0; q < 50; ++q) {
          for (const Neighbor& neighbor : correct[q]) {
            if (neighbor.row + 10'000 >= first) expected[q].push_back({neighbor.distance, neighbor.row + 10'000});
          }
          const auto own = static_cast<std::int64_t>(q) + 10'000;
          if (own >= first) expected[q].push_back({0.0, own});
          std::sort(expected[q].begin(), expected[q].end());
        }
        CHECK(same(expected, sorted(std::move(actual))));
      }
    }
  }
}

TEST_CASE("little device memory does not change the rows within a limit", "[radius]") {
  const Matrix<double> values = kinds()[0].make(6000, 64, 11);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  const auto reference = reference_points(values.view());
  const DataPlan plan = make_plan(*reference);
  const Queries queries{values.view().middle(0, 60), 0};
  Matrix<double> distances(60, 6000);
  reference->all_distances(queries, distances.view());
  const double limit = distances(7, 3000);
  RadiusLists correct(60, limit, 60 * 6000);
  reference->search_radius(queries, correct);
  BackendOptions options;
  for (const std::int64_t bytes : {1 << 20, 3 << 20, 12 << 20}) {
    options.device_memory = bytes;
    for (const Tested& tested : tested_backends(options)) {
      INFO(tested.name << ", " << bytes);
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(plan);
      RadiusLists actual(60, limit, 60 * 6000);
      points->search_radius(queries, actual);
      CHECK(same(sorted(actual), sorted(correct)));
    }
  }
}

TEST_CASE("thousands of rows are searched with small and large limits", "[radius]") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : kinds()) {
    const Matrix<double> values = kind.make(2000, 20, 5);
    const PointsMatrix stored = stored_as(values.view(), storages(kind).front());
    const auto reference = reference_points(values.view());
    const DataPlan plan = make_plan(*reference);
    for (const Measure measure : {Measure::squared_euclidean, Measure::inner_product}) {
      const Queries queries{values.view().middle(1000, 6), 1000, measure};
      Matrix<double> distances(6, 2000);
      reference->all_distances(queries, distances.view());
      std::vector<double> occurring(distances.data(), distances.data() + distances.size());
      std::sort(occurring.begin(), occurring.end());
      for (const Tested& tested : backends) {
        const auto points = tested.backend->hold({view_of(stored), 0});
        points->prepare(plan);
        for (const std::size_t rank : {30, 9000}) {
          INFO(tested.name << ", " << kind.name << ", measure " << static_cast<int>(measure) << ", rank " << rank);
          RadiusLists correct(6, occurring[rank], 6 * 2000), actual(6, occurring[rank], 6 * 2000);
          reference->search_radius(queries, correct);
          points->search_radius(queries, actual);
          CHECK(actual.counts == correct.counts);
          CHECK(same(sorted(actual), sorted(correct)));
        }
      }
    }
  }
}

TEST_CASE("lists longer than the capacity are complete with little device memory", "[radius]") {
  const Matrix<double> values = kinds()[0].make(12'000, 12, 11);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  const auto reference = reference_points(values.view());
  const DataPlan plan = make_plan(*reference);
  const Queries queries{values.view().middle(0, 300), 0};
  Matrix<double> first(1, 12'000);
  reference->all_distances({values.view().middle(0, 1)}, first.view());
  std::nth_element(first.data(), first.data() + 400, first.data() + 12'000);
  const double limit = first(0, 400);
  RadiusLists correct(300, limit, 300 * 12'000);
  reference->search_radius(queries, correct);
  BackendOptions options;
  for (const std::int64_t bytes : {4 << 20, 5 << 20, 6 << 20, 8 << 20}) {
    options.device_memory = bytes;
    for (const Tested& tested : tested_backends(options)) {
      INFO(tested.name << ", " << bytes);
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(plan);
      RadiusLists actual(300, limit, 300 * 12'000);
      points->search_radius(queries, actual);
      CHECK(actual.counts == correct.counts);
      CHECK(same(sorted(actual), sorted(correct)));
    }
  }
}

TEST_CASE("a radius is converted to the largest D", "[radius]") {
  CHECK(limit_of_radius(3.0, Metric::euclidean) == 9.0);
  CHECK(limit_of_radius(0.1, Metric::cosine) == 0.1 * 0.1);
  CHECK(limit_of_radius(3.0, Metric::manhattan) == 3.0);
  CHECK(limit_of_radius(-3.0, Metric::inner_product) == 3.0);
  CHECK_THROWS_WITH(limit_of_radius(-1.0, Metric::chebyshev),
                    "radius -1: expected a finite number, 0 or above, in the unit of the distances");
  CHECK_THROWS(limit_of_radius(INFINITY, Metric::inner_product));
}

TEST_CASE("symmetric and mutual edges and connected components equal plain loops", "[graph]") {
  const Matrix<double> values = kinds()[4].make(90, 4, 3);  // duplicates: many ties
  const auto points = reference_points(values.view());
  NeighborLists lists(90, 4);
  points->search({values.view(), 0}, lists);
  NeighborGraph graph;
  std::set<std::pair<std::int64_t, std::int64_t>> directed;
  for (std::int64_t i = 0; i < 90; ++i) {
    std::vector<Neighbor> row;
    for (std::int64_t j = 0; j < 4; ++j) {
      row.push_back({lists.distance(i, j), lists.index(i, j)});
      directed.emplace(i, lists.index(i, j));
    }
    graph.add_row(row);
  }
  for (const GraphEdges edges : {GraphEdges::directed, GraphEdges::symmetric, GraphEdges::mutual}) {
    const NeighborGraph made = with_edges(graph, edges);
    REQUIRE(made.rows() == 90);
    std::vector<std::int64_t> lowest(90);
    for (std::int64_t i = 0; i < 90; ++i) lowest[i] = i;
    ConnectedComponents components(90);
    for (std::int64_t i = 0; i < 90; ++i) {
      std::vector<Neighbor> correct, actual;
      for (std::int64_t j = 0; j < 90; ++j) {
        const bool there = directed.contains({i, j}), back = directed.contains({j, i});
        const bool has = edges == GraphEdges::directed    ? there
                         : edges == GraphEdges::symmetric ? there || back
                                                          : there && back;
        if (has) correct.push_back({reference_distance(values.row(i).data(), values.row(j).data(), 4), j});
      }
      std::sort(correct.begin(), correct.end());
      for (std::int64_t e = made.begin[i]; e < made.begin[i + 1]; ++e) {
        actual.push_back({made.distance[e], made.row[e]});
        components.unite(i, made.row[e]);
      }
      CHECK(same({correct}, {actual}));
    }
    for (bool changed = true; changed;) {  // the lowest row spreads along edges until nothing changes
      changed = false;
      for (std::int64_t i = 0; i < 90; ++i) {
        for (std::int64_t e = made.begin[i]; e < made.begin[i + 1]; ++e) {
          const std::int64_t low = std::min(lowest[i], lowest[made.row[e]]);
          changed = changed || lowest[i] != low || lowest[made.row[e]] != low;
          lowest[i] = lowest[made.row[e]] = low;
        }
      }
    }
    CHECK(components.labels() == lowest);
  }
}
