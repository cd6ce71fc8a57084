// The symmetric join, which finds the neighbours of all rows of a set and computes each pair once: on every backend it
// gives the lists of the definition.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "core/neighbors/neighbors.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr ForcedPaths kForceJoin{.self_join = true};
/// The smallest blocks, few at a time, for two threads.
const BackendOptions kSmallBlocks{.threads = 2, .block_rows = 1};

/// For each row all rows in the order of its list, by definition. Lists are the beginnings.
struct Order {
  Order(const Bench& bench, Measure by) : measure(by), lists(bench.values.rows(), bench.values.rows()) {
    bench.expected->search({bench.values.view(), -1, measure}, lists);
  }
  Measure measure;
  NeighborLists lists;
};

NeighborLists first_of(const Order& order, const SelfJoin& join) {
  const std::int64_t n = order.lists.index.rows();
  NeighborLists wanted(n, join.neighbors);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t from = 0, to = 0; to < join.neighbors; ++from) {
      if (order.lists.index(i, from) == i && !join.include_self) continue;
      wanted.index(i, to) = order.lists.index(i, from);
      wanted.distance(i, to++) = order.lists.distance(i, from);
    }
  }
  return wanted;
}

/// k, and whether each row is included in its own list.
struct Wanted {
  std::int64_t neighbors;
  bool include_self;
};

void check(const Bench& bench, const Order& order, Wanted wanted) {
  // The join declines values too small for a screen, or too close to each other for inner products.
  const ScreenTransform& screen = bench.plan.screen;
  const bool is_far =
      order.measure == Measure::inner_product &&
      std::any_of(screen.center.begin(), screen.center.end(), [](float v) { return std::abs(v) > 1e6F; });
  const SelfJoin join{.neighbors = wanted.neighbors, .include_self = wanted.include_self, .measure = order.measure};
  const NeighborLists lists = first_of(order, join);
  INFO("k " << join.neighbors << (join.include_self ? ", each row in its own list" : ""));
  for (const Actual& actual : bench.actual) {
    INFO(actual.name);
    const auto found = actual.points->self_join(join);
    if (actual.name.rfind("cpu", 0) == 0 && screen.exponent >= -126 && !is_far) REQUIRE(found.has_value());
    if (found) check_same(lists, *found);
  }
}

void check_everything(Shape shape, const std::vector<Wanted>& all, const BackendOptions& options) {
  const std::vector<Tested> backends = every_screen(shape.d, shape.n, options, kForceJoin);
  for (const Kind& kind : kinds()) {
    std::vector<Stored> stored = storages(kind);
    if (shape.n > 100) stored.erase(stored.begin(), stored.end() - 1);  // slow
    const Bench bench(kind, stored, shape, backends);
    for (const Measure measure : {Measure::squared_euclidean, Measure::inner_product}) {
      INFO(kind.name << ", n " << shape.n << ", d " << shape.d
                     << (measure == Measure::inner_product ? ", inner product" : ""));
      const Order order(bench, measure);
      for (const Wanted& wanted : all) check(bench, order, wanted);
    }
  }
}

}  // namespace

TEST_CASE("a join of a few rows equals the definition", "[self_join]") {
  check_everything({1, 1, 0}, {{1, true}}, {});
  check_everything({2, 3, 0}, {{1, false}, {2, true}}, {});
  check_everything({65, 33, 0}, {{1, true}, {10, false}, {64, false}, {65, true}}, {});
}

TEST_CASE("a join of several blocks of rows equals the definition", "[self_join]") {
  check_everything({421, 65, 0}, {{10, false}}, kSmallBlocks);
}

// As many groups of rows as a GPU needs, with one limit each.
TEST_CASE("a join of several hundred rows equals the definition", "[self_join]") {
  check_everything({700, 5, 0}, {{1, false}, {2, true}}, {});
  check_everything({515, 260, 0}, {{3, false}}, {});
}

TEST_CASE("a sample of the rows bounds the lists of all rows", "[self_join]") {
  const std::vector<Tested> backends = every_backend({}, kForceJoin);
  const Bench bench(kinds()[0], Stored::float32, {6000, 40, 0}, backends);
  NeighborLists wanted(6000, 2);
  bench.expected->search({bench.values.view(), 0}, wanted);
  for (const Actual& actual : bench.actual) {
    INFO(actual.name);
    const auto found = actual.points->self_join({.neighbors = 2});
    if (actual.name == "cuda wgmma") REQUIRE(found.has_value());
    if (found) check_same(wanted, *found);
  }
}

TEST_CASE("a join of rows that are nearly all equal equals the definition", "[self_join]") {
  const std::vector<Tested> backends = every_backend({}, kForceJoin);
  for (const int kind : {3, 4}) {
    const Bench bench(kinds()[kind], Stored::float32, {1021, 12, 0}, backends);
    const Order order(bench, Measure::squared_euclidean);
    check(bench, order, {1, false});
    check(bench, order, {10, false});
  }
}

TEST_CASE("a join of thousands of wide rows equals a search", "[self_join]") {
  const std::vector<Tested> backends = every_backend({}, kForceJoin);
  for (const int kind : {0, 5}) {
    const Bench bench(kinds()[kind], Stored::float32, {2000, 400, 0}, backends);
    for (const std::int64_t k : {10, 200}) {
      INFO(kinds()[kind].name << ", k " << k);
      NeighborLists wanted(2000, k);
      bench.actual.back().points->search({bench.values.view(), 0}, wanted);
      for (const Actual& actual : bench.actual) {
        INFO(actual.name);
        const auto found = actual.points->self_join({.neighbors = k});
        if (actual.name == "cuda wgmma" && kind == 0 && k == 10) REQUIRE(found.has_value());
        if (found) check_same(wanted, *found);
      }
    }
  }
}

TEST_CASE("rows with more ties than a list holds are searched, unless most rows are such", "[self_join]") {
  constexpr std::int64_t kRows = 18'000, kEqual = 1100;
  const std::vector<Tested> backends = tested_backends({}, kForceJoin);
  for (const bool all : {false, true}) {
    Matrix<double> values = kinds()[0].make(kRows, 5, 3);
    for (std::int64_t i = 1; i < (all ? kRows : kEqual); ++i) {
      std::copy_n(values.row(0).data(), 5, values.row(all ? i : i * 16).data());
    }
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const DataPlan plan = make_plan(*reference_points(values.view()));
    for (const Tested& tested : backends) {
      if (all && tested.name == "cpu") continue;  // it would search every row separately
      INFO(tested.name << (all ? ", all rows are equal" : ""));
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(plan);
      const auto found = points->self_join({.neighbors = 2});
      if (all) CHECK(!found);
      if (!found) continue;
      NeighborLists wanted(kRows, 2);
      points->search({values.view(), 0}, wanted);
      check_same(wanted, *found);
    }
  }
}

TEST_CASE("a join that does not fit in memory gives no lists", "[self_join]") {
  const std::vector<Tested> backends = tested_backends({}, kForceJoin);
  const Bench bench(kinds()[0], Stored::float32, {300, 20, 0}, backends);
  for (const Actual& actual : bench.actual) {
    if (actual.name == "cpu") CHECK(!actual.points->self_join({.neighbors = 3, .bytes = 20'000}));
  }
}

TEST_CASE("measures without a screen are not joined", "[self_join]") {
  const std::vector<Tested> backends = every_backend({}, kForceJoin);
  const Bench bench(kinds()[0], Stored::float32, {300, 20, 0}, backends);
  bench.on_each([](Points& points) {
    CHECK(!points.self_join({.neighbors = 3, .measure = Measure::manhattan}));
    CHECK(!points.self_join({.neighbors = 3, .measure = Measure::chebyshev}));
  });
}

TEST_CASE("a join reports its progress, and an exception thrown by the observer ends it", "[self_join]") {
  std::vector<Tested> backends = every_backend(kSmallBlocks, kForceJoin);
  for (Tested& tested : tested_backends({}, kForceJoin)) backends.push_back(std::move(tested));
  const Bench bench(kinds()[1], Stored::float32, {1021, 40, 0}, backends);
  const Order order(bench, Measure::squared_euclidean);
  bench.on_each([&](Points& points) {
    std::vector<std::int64_t> reported;
    SelfJoin join{.neighbors = 5, .progress = [&](std::int64_t rows) { reported.push_back(rows); }};
    const auto found = points.self_join(join);
    if (!found) return;
    CHECK(std::is_sorted(reported.begin(), reported.end()));
    REQUIRE(!reported.empty());
    CHECK(reported.back() <= 1021);
    join.progress = [](std::int64_t) { throw std::runtime_error("enough"); };
    CHECK_THROWS_WITH(points.self_join(join), "enough");
    join.progress = nullptr;
    check_same(first_of(order, join), *points.self_join(join));
  });
}
