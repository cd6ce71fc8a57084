// Searches of k-d trees, forced on every backend that has them: the lists of the definition, and the work that they may
// take. Backends without trees run the same bodies.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr ForcedPaths kForceTrees{.trees = true};
constexpr Measure kMeasures[] = {Measure::squared_euclidean, Measure::manhattan, Measure::chebyshev};

void check_search(const Bench& bench, const Queries& queries, std::int64_t k) {
  INFO(queries.values.rows << " queries, k " << k << ", excluded row " << queries.excluded_row);
  NeighborLists wanted(queries.values.rows, k);
  bench.expected->search(queries, wanted);
  bench.on_each([&](Points& points) {
    NeighborLists found(queries.values.rows, k);
    points.search(queries, found);
    check_same(wanted, found);
    if (queries.excluded_row != 0 || queries.values.rows != points.rows()) return;
    if (const auto joined = points.self_join({.neighbors = k, .measure = queries.measure})) check_same(wanted, *joined);
  });
}

void check_radius(const Bench& bench, const Queries& queries, double limit) {
  RadiusLists wanted(queries.values.rows, limit, 1 << 20);
  wanted.first_row = 3;
  bench.expected->search_radius(queries, wanted);
  const auto sort = [](RadiusLists& lists) {
    for (std::vector<Neighbor>& list : lists.rows) std::sort(list.begin(), list.end());
  };
  sort(wanted);
  bench.on_each([&](Points& points) {
    RadiusLists found(queries.values.rows, limit, std::numeric_limits<std::int64_t>::max());
    found.first_row = 3;
    points.search_radius(queries, found);
    sort(found);
    CHECK(found.counts == wanted.counts);
    for (std::size_t q = 0; q < wanted.rows.size(); ++q) {
      const auto same = [](const Neighbor& a, const Neighbor& b) { return a.row == b.row && a.distance == b.distance; };
      CHECK(std::equal(found.rows[q].begin(), found.rows[q].end(), wanted.rows[q].begin(), wanted.rows[q].end(), same));
    }
    RadiusLists counted(queries.values.rows, limit, 0);  // counts alone
    counted.first_row = 3;
    points.search_radius(queries, counted);
    CHECK(counted.counts == wanted.counts);
  });
}

/// Rows with columns uniform on [0, 1).
Matrix<double> uniform(std::int64_t n, std::int64_t d) { return kinds()[1].make(n, d, 7); }

/// Distances per row of the join of a set in itself, on a CPU with two threads.
double distances_per_row(const Matrix<double>& values, std::int64_t k, const ForcedPaths& forced = kForceTrees) {
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  const DataPlan plan = make_plan(*reference_points(values.view()));
  for (const Tested& tested : tested_backends({.threads = 2}, forced)) {
    if (tested.name != "cpu") continue;
    const auto points = tested.backend->hold({view_of(stored), 0});
    points->prepare(plan);
    const auto found = points->self_join({.neighbors = k});
    REQUIRE(found.has_value());
    return static_cast<double>(found->candidates) / static_cast<double>(values.rows());
  }
  return 0.0;
}

}  // namespace

TEST_CASE("lists of a tree equal the definition for every kind, type and measure", "[tree]") {
  const std::vector<Tested> backends = every_screen(1, 1, {}, kForceTrees);
  for (const Kind& kind : kinds()) {
    for (const Stored as : storages(kind)) {
      for (const Shape s : {Shape{1, 1, 1}, Shape{16, 2, 15}, Shape{33, 1, 5}, Shape{257, 3, 10}, Shape{131, 9, 40}}) {
        for (const Measure measure : kMeasures) {
          INFO(kind.name << ", " << name_of(as) << ", n " << s.n << ", d " << s.d << ", measure "
                         << static_cast<int>(measure));
          const Bench bench(kind, as, s, backends);
          const Matrix<double> outside = centroids_near(bench.values.view(), 37);
          check_search(bench, {outside.view(), -1, measure}, std::min<std::int64_t>(s.k, s.n));
          if (s.n > 1) check_search(bench, {bench.values.view(), 0, measure}, std::min<std::int64_t>(s.k, s.n - 1));
        }
      }
    }
  }
}

TEST_CASE("lists of a tree equal the definition for every number of columns and neighbours", "[tree]") {
  const std::vector<Tested> backends = every_screen(1, 1, {}, kForceTrees);
  for (const int kind : {0, 2, 10}) {
    for (const std::int64_t d : {1, 2, 3, 4, 5, 6, 7, 8, 17, 32, 33}) {
      INFO(kinds()[kind].name << ", d " << d);
      const Bench bench(kinds()[kind], kind == 2 ? Stored::bytes : Stored::float64, {300, d, 0}, backends);
      for (const std::int64_t k : {1, 31, 32, 100, 299}) check_search(bench, {bench.values.view(), 0}, k);
      const Bench narrow(kinds()[kind], Stored::float32, {300, d, 0}, backends);
      const Matrix<double> outside = centroids_near(narrow.values.view(), 40);
      check_search(narrow, {outside.view(), -1}, 10);
    }
  }
}

TEST_CASE("rows within a radius from a tree equal the definition", "[tree]") {
  const std::vector<Tested> backends = every_screen(1, 1, {}, kForceTrees);
  for (const Kind& kind : kinds()) {
    for (const Shape s : {Shape{400, 3, 0}, Shape{150, 17, 0}}) {
      for (const Measure measure : kMeasures) {
        INFO(kind.name << ", d " << s.d << ", measure " << static_cast<int>(measure));
        const Bench bench(kind, storages(kind).back(), s, backends);
        NeighborLists near(s.n, 12);
        bench.expected->search({bench.values.view(), 0, measure}, near);
        for (const double limit : {near.distance(5, 11), near.distance(7, 0), 0.0}) {  // with rows at the limit
          check_radius(bench, {bench.values.view(), 0, measure}, limit);
          check_radius(bench, {bench.values.view().middle(10, 30), -1, measure}, limit);
        }
      }
    }
  }
}

TEST_CASE("many ties on a grid give the lowest rows", "[tree]") {
  const std::vector<Tested> backends = every_screen(1, 1, {}, kForceTrees);
  for (const std::int64_t values : {3, 12}) {  // few and many places
    Kind kind = kinds()[2];
    const Bench bench(kind, Stored::float32, {3000, 2, 0}, backends);
    Matrix<double> grid(3000, 2);
    for (std::int64_t i = 0; i < 3000; ++i) {
      grid(i, 0) = static_cast<double>(i * 7919 % values);
      grid(i, 1) = static_cast<double>(i * 104'729 / 3 % values);
    }
    const PointsMatrix stored = as_class(grid.view(), ValueClass::f32);
    const auto expected = reference_points(grid.view());
    const DataPlan plan = make_plan(*expected);
    for (const std::int64_t k : {1, 10, 100, 1000}) {
      NeighborLists wanted(500, k);
      const Queries queries{grid.view().middle(100, 500), 100};
      expected->search(queries, wanted);
      for (const Tested& tested : backends) {
        INFO(tested.name << ", k " << k);
        const auto points = tested.backend->hold({view_of(stored), 0});
        points->prepare(plan);
        NeighborLists found(500, k);
        points->search(queries, found);
        check_same(wanted, found);
      }
    }
  }
}

TEST_CASE("far queries, and queries that float32 does not hold, equal the definition", "[tree]") {
  const std::vector<Tested> backends = every_screen(1, 1, {}, kForceTrees);
  const Bench bench(kinds()[0], Stored::float32, {900, 3, 0}, backends);
  for (const double far : {1e-9, 0.1, 1e4, 1e15, 1e30, 1e39, 1e100}) {
    INFO("at " << far);
    Matrix<double> queries = centroids_near(bench.values.view(), 60);
    for (std::int64_t q = 0; q < 60; q += 7) {
      for (double& v : queries.row(q)) v += far;
    }
    check_search(bench, {std::as_const(queries).view(), -1}, 10);
  }
}

TEST_CASE("trees of parts of the rows merge into the same lists", "[tree]") {
  for (const std::int64_t k : {12, 60}) {
    const Matrix<double> values = kinds()[2].make(700, 3, 3);
    const auto whole = reference_points(values.view());
    NeighborLists wanted(700, k);
    whole->search({values.view(), 0}, wanted);
    const DataPlan plan = make_plan(*whole);
    for (const Tested& tested : every_screen(1, 1, {}, kForceTrees)) {
      INFO(tested.name);
      NeighborLists found(700, k);
      for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{300, 400}, {0, 7}, {7, 293}}) {
        const auto part = tested.backend->hold({values.view().middle(first, count), first});
        part->prepare(plan);
        part->search({values.view(), 0}, found);
      }
      check_same(wanted, found);
    }
  }
}

// Enough rows for several levels that all threads split.
TEST_CASE("a tree is the same for any number of threads", "[tree]") {
  const Matrix<double> values = kinds()[0].make(150'000, 2, 3);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  const DataPlan plan = make_plan(*reference_points(values.view()));
  std::vector<NeighborLists> all;
  for (const int threads : {1, 2, 5}) {
    for (const Tested& tested : tested_backends({.threads = threads}, kForceTrees)) {
      if (tested.name != "cpu") continue;
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(plan);
      all.push_back(*points->self_join({.neighbors = 4}));
    }
  }
  for (const NeighborLists& each : all) {
    check_same(all.front(), each);
    CHECK(each.candidates == all.front().candidates);
  }
  const auto expected = reference_points(values.view());
  NeighborLists wanted(40, 4);
  expected->search({values.view().middle(77'000, 40), 77'000}, wanted);
  for (std::int64_t q = 0; q < 40; ++q) {
    CHECK(
        std::equal(wanted.index.row(q).begin(), wanted.index.row(q).end(), all.front().index.row(77'000 + q).begin()));
  }
}

TEST_CASE("a row is compared with few others if columns are few", "[tree]") {
  struct Case {
    std::int64_t columns;
    double most;
  };
  for (const Case c : {Case{1, 150}, Case{2, 260}, Case{3, 600}, Case{5, 4000}}) {
    INFO(c.columns << " columns");
    double before = 0.0;
    for (const std::int64_t n : {1000, 10'000, 100'000}) {
      const double count = distances_per_row(uniform(n, c.columns), 10);
      INFO("n " << n << ": " << count);
      CHECK(count <= c.most);
      if (n == 100'000 && c.columns < 5) CHECK(count <= 1.3 * before);  // as good as constant
      before = count;
    }
  }
}

TEST_CASE("clusters, outliers, equal rows and constant columns do not make a row be compared with more", "[tree]") {
  constexpr std::int64_t kRows = 20'000;
  CHECK(distances_per_row(kinds()[0].make(kRows, 3, 5), 10) <= 800);
  Matrix<double> values = uniform(kRows, 3);
  for (std::int64_t i = 0; i < kRows; i += 1000) values(i, i / 1000 % 3) = 1e6;
  CHECK(distances_per_row(values, 10) <= 800);
  for (std::int64_t i = 0; i < kRows; ++i) values(i, 1) = 5.0;
  CHECK(distances_per_row(values, 10) <= 600);
  for (std::int64_t i = 0; i < kRows; ++i) std::copy_n(values.row(i % 400).data(), 3, values.row(i).data());
  CHECK(distances_per_row(values, 10) <= 800);
  for (std::int64_t i = 0; i < kRows; ++i) std::copy_n(values.row(0).data(), 3, values.row(i).data());
  CHECK(distances_per_row(values, 10) <= 800);
}

TEST_CASE("queries beside many equal rows are compared with few of them", "[tree]") {
  constexpr std::int64_t kRows = 40'000, kQueries = 400, kNeighbors = 10;
  Matrix<double> values(kRows, 2), queries(kQueries, 2);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) values(i, j) = static_cast<double>((j == 0 ? i : i / 3) % 3);
  }
  for (std::int64_t i = 0; i < queries.size(); ++i) queries.data()[i] = values.data()[i] * 1.001;
  const Queries beside{std::as_const(queries).view()};
  NeighborLists wanted(kQueries, kNeighbors);
  reference_points(values.view())->search(beside, wanted);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  for (const Tested& tested : every_screen(1, 1, {}, kForceTrees)) {
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0});
    points->prepare(make_plan(*points));
    NeighborLists found(kQueries, kNeighbors);
    points->search(beside, found);
    check_same(wanted, found);
    if (tested.name.starts_with("cpu")) CHECK(found.candidates <= 1000 * kQueries);
  }
}

TEST_CASE("columns that depend on three are searched like three", "[tree]") {
  const Matrix<double> three = uniform(20'000, 3), weights = uniform(3, 24);
  Matrix<double> values(20'000, 24);
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    for (std::int64_t j = 0; j < 24; ++j) {
      double sum = 0.0;
      for (std::int64_t l = 0; l < 3; ++l) sum += three(i, l) * weights(l, j);
      values(i, j) = static_cast<double>(static_cast<float>(sum));
    }
  }
  CHECK(distances_per_row(values, 10) <= 1200);
}

TEST_CASE("trees are chosen for few columns and not for columns of noise", "[tree]") {
  CHECK(distances_per_row(uniform(60'000, 3), 10, {}) <= 700);
  const Matrix<double> noise = kinds()[1].make(60'000, 16, 7);
  const PointsMatrix stored = as_class(noise.view(), ValueClass::f32);
  const DataPlan plan = make_plan(*reference_points(noise.view()));
  for (const Tested& tested : tested_backends({.threads = 2})) {
    if (tested.name != "cpu") continue;
    const auto points = tested.backend->hold({view_of(stored), 0});
    points->prepare(plan);
    CHECK(!points->self_join({.neighbors = 10}));  // nor a symmetric join for so few columns
  }
}

TEST_CASE("a join by a tree reports its progress, and an exception thrown by the observer ends it", "[tree]") {
  const std::vector<Tested> backends = tested_backends({.threads = 2}, kForceTrees);
  const Bench bench(kinds()[0], Stored::float32, {20'000, 3, 0}, backends);
  for (const Actual& actual : bench.actual) {
    if (actual.name != "cpu") continue;
    std::vector<std::int64_t> reported;
    SelfJoin join{.neighbors = 5, .progress = [&](std::int64_t rows) { reported.push_back(rows); }};
    REQUIRE(actual.points->self_join(join).has_value());
    CHECK(std::is_sorted(reported.begin(), reported.end()));
    REQUIRE(reported.size() > 1);
    CHECK(reported.back() == 20'000);
    join.progress = [](std::int64_t) { throw std::runtime_error("enough"); };
    CHECK_THROWS_WITH(actual.points->self_join(join), "enough");
  }
}

TEST_CASE("a tree that does not fit in memory is not made", "[tree]") {
  const std::vector<Tested> backends = tested_backends({}, {.self_join = true, .trees = true});
  const Bench bench(kinds()[0], Stored::float32, {300, 3, 0}, backends);
  for (const Actual& actual : bench.actual) {
    if (actual.name == "cpu") CHECK(!actual.points->self_join({.neighbors = 3, .bytes = 5000}));
  }
}
