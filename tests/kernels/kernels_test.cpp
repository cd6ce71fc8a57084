// Every operation of Points on every backend against the definition: labels, neighbours, sums and distances are equal.
#include <algorithm>
#include <cstring>

#include "core/points/data_plan.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/points_everywhere.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

bool same(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::string describe(const Kind& kind, Shape s) {
  return std::string(kind.name) + ", n " + std::to_string(s.n) + ", d " + std::to_string(s.d) + ", k " +
         std::to_string(s.k);
}

/// How many rows an operation multiplies with the rows of a shape.
using Others = std::int64_t (*)(Shape);
std::int64_t no_others(Shape) { return 0; }
std::int64_t centroids(Shape s) { return s.k; }
std::int64_t base_rows(Shape s) { return s.n; }

/// Calls body(bench, shape) for every kind of data, in every storage type that holds it exactly, on every backend.
template <class Body>
void on_everything(const std::vector<Shape>& all, Others others, const BackendOptions& options, const Body& body) {
  for (const Shape shape : all) {
    const std::vector<Tested> backends = every_screen(shape.d, others(shape), options);
    for (const Kind& kind : kinds()) {
      INFO(describe(kind, shape));
      Bench bench(kind, storages(kind), shape, backends);
      body(bench, shape);
    }
  }
}

bool has_gpu() {
  const std::vector<Tested> opened = tested_backends();
  return std::any_of(opened.begin(), opened.end(), [](const Tested& one) { return one.name != "cpu"; });
}

/// A few shapes for the operations that do not depend on all of n, d and k.
const std::vector<Shape> kFewShapes{{1, 1, 1},     {2, 3, 2},     {33, 1, 7},   {257, 17, 7},
                                    {1021, 33, 7}, {255, 129, 7}, {31, 1025, 7}};

void check_same_rows(const Points& expected, const Points& actual) {
  const auto n = static_cast<std::size_t>(expected.rows());
  std::vector<std::int32_t> expected_labels(n), actual_labels(n);
  expected.labels(expected_labels);
  actual.labels(actual_labels);
  const auto wrong = std::mismatch(expected_labels.begin(), expected_labels.end(), actual_labels.begin());
  INFO("first wrong label at row " << wrong.first - expected_labels.begin());
  CHECK((wrong.first == expected_labels.end()));
  std::vector<double> expected_distances(n), actual_distances(n);
  expected.distances(expected_distances);
  actual.distances(actual_distances);
  CHECK(same(expected_distances, actual_distances));
}

void check_same_assignment(const Assignment& expected, const Assignment& actual) {
  CHECK(expected.counts == actual.counts);
  CHECK(expected.changed == actual.changed);
}

/// The inertia sums for the labels of the points.
std::vector<Limbs> measured(Points& points, const DataPlan& plan, MatrixView<const double> centroids) {
  std::vector<Limbs> inertia(centroids.rows);
  points.measure({centroids, inertia_scale(plan, centroids), term_bits(plan.rows)}, inertia);
  return inertia;
}

void check_same_limbs(const std::vector<Limbs>& expected, const std::vector<Limbs>& actual) {
  const auto equal = [](const Limbs& a, const Limbs& b) { return a.high == b.high && a.low == b.low; };
  CHECK(std::equal(expected.begin(), expected.end(), actual.begin(), equal));
}

void check_same_lists(const NeighborLists& expected, const NeighborLists& actual) {
  const std::int64_t size = expected.index.size();
  const auto wrong = std::mismatch(expected.index.data(), expected.index.data() + size, actual.index.data());
  INFO("first wrong neighbour at place " << wrong.first - expected.index.data());
  CHECK((wrong.first == expected.index.data() + size));
  CHECK(same({expected.distance.data(), static_cast<std::size_t>(size)},
             {actual.distance.data(), static_cast<std::size_t>(size)}));
}

/// Three consecutive assignments with their sums; the second changes no label.
void assign_thrice(Bench& bench, Shape shape) {
  const Matrix<double> first = centroids_near(bench.values.view(), shape.k);
  Matrix<double> last = centroids_near(bench.values.view(), shape.k);
  std::reverse(last.data(), last.data() + last.size());
  ClusterSums expected_sums(shape.k, shape.d, bench.plan.scales.limbs);
  std::vector<ClusterSums> actual_sums(bench.actual.size(), expected_sums);
  for (const Matrix<double>* centroids : {&first, &first, static_cast<const Matrix<double>*>(&last)}) {
    const AssignRequest request{centroids->view()};
    Assignment expected(shape.k);
    bench.expected->assign(request, expected);
    const std::vector<Limbs> inertia = measured(*bench.expected, bench.plan, request.centroids);
    bench.expected->update_sums(expected_sums);
    auto sums = actual_sums.begin();
    bench.on_each([&](Points& points) {
      Assignment actual(shape.k);
      points.assign(request, actual);
      check_same_assignment(expected, actual);
      check_same_limbs(inertia, measured(points, bench.plan, request.centroids));
      check_same_rows(*bench.expected, points);
      points.update_sums(*sums);
      CHECK(expected_sums.high == sums->high);
      CHECK(expected_sums.low == sums->low);
      ++sums;
    });
  }
}

/// The same for some kinds of data.
void assign_some_thrice(const std::vector<int>& which, Stored as, Shape shape, const std::vector<Tested>& backends) {
  for (const int kind : which) {
    INFO(describe(kinds()[kind], shape));
    Bench bench(kinds()[kind], as, shape, backends);
    assign_thrice(bench, shape);
  }
}

}  // namespace

TEST_CASE("ranges and magnitudes equal the definition", "[kernels]") {
  on_everything(kFewShapes, no_others, {}, [](Bench& bench, Shape) {
    bench.on_each([&](Points& points) {
      const DataPlan actual = make_plan(points);
      CHECK(actual.range.minimum == bench.plan.range.minimum);
      CHECK(actual.range.maximum == bench.plan.range.maximum);
      CHECK(actual.scales.shift == bench.plan.scales.shift);
      CHECK(actual.scales.limbs == bench.plan.scales.limbs);
      CHECK(actual.mean == bench.plan.mean);
      CHECK(actual.warnings == bench.plan.warnings);
      CHECK(actual.screen.center == bench.plan.screen.center);
      CHECK(actual.screen.exponent == bench.plan.screen.exponent);
    });
  });
}

// Offsets, wide columns, near duplicates, limits of the range, ties, and every size around a tile.
TEST_CASE("labels, distances, counts, inertia and sums equal the definition", "[kernels][assign]") {
  on_everything(shapes(600'000), centroids, {}, assign_thrice);
}

TEST_CASE("assignment of many rows equals the definition", "[kernels][assign]") {
  const std::vector<Tested> backends = every_backend();
  for (const Shape shape : {Shape{40000, 12, 7}, Shape{20011, 5, 130}}) {
    assign_some_thrice({0, 2, 10}, Stored::float32, shape, backends);
    assign_some_thrice({2, 16, 17}, Stored::bytes, shape, backends);
  }
}

TEST_CASE("assignment with large k and large d equals the definition", "[kernels][assign]") {
  const std::vector<Tested> backends = every_backend();
  for (const Shape shape : {Shape{1021, 33, 1000}, Shape{1021, 128, 64}, Shape{257, 4097, 7}, Shape{255, 1024, 255}}) {
    assign_some_thrice({0, 2, 5}, Stored::float32, shape, backends);
    assign_some_thrice({2, 16, 17}, Stored::bytes, shape, backends);
  }
}

TEST_CASE("blocks of rows do not change an assignment", "[kernels][assign]") {
  BackendOptions options;
  for (const std::int64_t block : {1, 7, 48, 100}) {
    options.block_rows = block;
    on_everything({{257, 17, 7}, {33, 3, 33}}, centroids, options, assign_thrice);
  }
}

// A device is sent the rows block by block and keeps their fp16 copies.
TEST_CASE("rows that do not stay on the device give the same assignment", "[kernels][assign]") {
  if (!has_gpu()) return;
  BackendOptions options;
  for (const std::int64_t block : {256, 512}) {
    options.block_rows = block;
    on_everything({{257, 17, 7}, {1021, 64, 33}, {600, 129, 260}}, centroids, options, assign_thrice);
  }
}

// Device memory for part of the points only, with little working memory.
TEST_CASE("little device memory does not change an assignment", "[kernels][assign]") {
  if (!has_gpu()) return;
  BackendOptions options;
  for (const std::int64_t bytes : {3 << 20, 6 << 20, 8 << 20, 12 << 20}) {
    options.device_memory = bytes;
    assign_some_thrice({0}, Stored::float32, {9000, 128, 20}, every_backend(options));  // 4.6 MB
  }
}

TEST_CASE("seeding operations equal the definition", "[kernels][seeding]") {
  on_everything(kFewShapes, no_others, {}, [](Bench& bench, Shape shape) {
    const Matrix<double> seeds = centroids_near(bench.values.view(), 4),
                         candidates = centroids_near(bench.values.view(), 9);
    bench.expected->reset();
    bench.on_each([](Points& points) { points.reset(); });
    for (std::int64_t s = 0; s < 3; ++s) {
      double largest = bench.expected->update_min_distance(seeds.row(s));
      bench.on_each([&](Points& points) { CHECK(points.update_min_distance(seeds.row(s)) == largest); });
      if (!(largest > 0)) return;
      const FixedScale scale = fixed_scale(term_bits(shape.n) - exponent_above(largest));
      const std::int64_t total = bench.expected->total_min_distance(scale);
      std::vector<std::int64_t> expected(9, 5);
      bench.expected->try_candidates(candidates.view(), scale, expected);
      const std::vector<std::int64_t> targets{0, total / 3, total / 2, total - 1};
      std::vector<std::int64_t> expected_rows(4), rows(4);
      bench.expected->draw_rows(scale, targets, expected_rows);
      bench.on_each([&](Points& points) {
        CHECK(points.total_min_distance(scale) == total);
        points.draw_rows(scale, targets, rows);
        CHECK(expected_rows == rows);
        std::vector<std::int64_t> actual(9, 5);
        points.try_candidates(candidates.view(), scale, actual);
        CHECK(expected == actual);
      });
      largest = bench.expected->commit_candidate(2 * s + 1);
      bench.on_each([&](Points& points) {
        CHECK(points.commit_candidate(2 * s + 1) == largest);
        check_same_rows(*bench.expected, points);
      });
    }
  });
}

TEST_CASE("farthest rows, relabelling and copies equal the definition", "[kernels]") {
  on_everything(kFewShapes, no_others, {}, [](Bench& bench, Shape shape) {
    const Matrix<double> centroids = centroids_near(bench.values.view(), shape.k);
    const AssignRequest request{std::as_const(centroids).view()};
    Assignment ignored(shape.k);
    bench.expected->assign(request, ignored);
    measured(*bench.expected, bench.plan, request.centroids);
    const std::vector<FarRow> far = bench.expected->farthest(shape.n);
    ClusterSums expected_sums(shape.k, shape.d, bench.plan.scales.limbs);
    bench.expected->relabel(shape.n / 2, 0);
    bench.expected->update_sums(expected_sums);
    bench.on_each([&](Points& points) {
      points.assign(request, ignored);
      measured(points, bench.plan, request.centroids);
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, shape.n + 3}) {
        const std::vector<FarRow> actual = points.farthest(count);
        REQUIRE(actual.size() == static_cast<std::size_t>(std::min(count, shape.n)));
        CHECK(std::equal(actual.begin(), actual.end(), far.begin(), [](const FarRow& x, const FarRow& y) {
          return x.distance == y.distance && x.row == y.row && x.label == y.label;
        }));
      }
      ClusterSums actual_sums(shape.k, shape.d, bench.plan.scales.limbs);
      points.relabel(shape.n / 2, 0);
      points.update_sums(actual_sums);
      CHECK(expected_sums.high == actual_sums.high);
      CHECK(expected_sums.low == actual_sums.low);
      check_same_rows(*bench.expected, points);
      const std::vector<std::int64_t> rows{shape.n - 1, 0, shape.n / 2};
      Matrix<double> copied(3, shape.d);
      points.copy_rows(rows, copied.view());
      for (std::int64_t i = 0; i < 3; ++i) CHECK(same(copied.row(i), bench.values.row(rows[i])));
    });
  });
}

namespace {

/// Compares the k nearest neighbours of some queries on every backend with the reference.
void check_search(const Bench& bench, const Queries& queries, std::int64_t k) {
  NeighborLists expected(queries.values.rows, k);
  bench.expected->search(queries, expected);
  bench.on_each([&](Points& points) {
    NeighborLists actual(queries.values.rows, k);
    points.search(queries, actual);
    check_same_lists(expected, actual);
  });
}

}  // namespace

// Queries that are rows, few and many queries, k up to n, ties by index.
TEST_CASE("neighbours equal the definition", "[kernels][search]") {
  on_everything({{1, 1, 1}, {33, 1, 7}, {257, 17, 10}, {1021, 33, 10}, {255, 129, 255}, {257, 3, 256}, {31, 1025, 7}},
                base_rows, {}, [](Bench& bench, Shape shape) {
                  for (const std::int64_t queries : {std::int64_t{1}, std::int64_t{19}, std::int64_t{100}}) {
                    const Matrix<double> values = centroids_near(bench.values.view(), queries);
                    check_search(bench, {values.view(), -1}, shape.k);
                  }
                });
}

TEST_CASE("a self-search excludes each row from its own list", "[kernels][search]") {
  on_everything({{2, 3, 1}, {257, 17, 10}, {256, 2, 255}, {1021, 5, 3}}, base_rows, {}, [](Bench& bench, Shape shape) {
    check_search(bench, {bench.values.view(), 0}, shape.k);
    const std::int64_t first = shape.n / 3;
    check_search(bench, {std::as_const(bench.values).view().middle(first, shape.n - first), first}, shape.k);
  });
}

TEST_CASE("searching the base block by block gives the same lists", "[kernels][search]") {
  const Matrix<double> values = kinds()[2].make(500, 9, 3);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  const auto whole = reference_points(values.view());
  NeighborLists expected(500, 12);
  whole->search({values.view(), 0}, expected);
  const auto& floats = std::get<Matrix<float>>(stored);
  const DataPlan plan = make_plan(*whole);
  for (const Tested& tested : every_backend()) {
    NeighborLists actual(500, 12);
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{300, 200}, {0, 100}, {100, 200}}) {
      const auto part = tested.backend->hold({floats.view().middle(first, count), first});
      part->prepare(plan);
      part->search({values.view(), 0}, actual);
    }
    INFO(tested.name);
    check_same_lists(expected, actual);
  }
}

// k above the limit of the fast selection.
TEST_CASE("neighbours equal the definition for k of 2049 and of all rows", "[kernels][search]") {
  const std::vector<Tested> backends = every_backend();
  const Bench bench(kinds()[2], Stored::float32, {5000, 4, 0}, backends);
  const Matrix<double> queries = centroids_near(bench.values.view(), 20);
  for (const std::int64_t k : {1025, 2049, 5000}) {
    INFO("k " << k);
    check_search(bench, {queries.view(), -1}, k);
  }
}

TEST_CASE("distance matrices equal the definition", "[kernels]") {
  on_everything(kFewShapes, no_others, {}, [](Bench& bench, Shape shape) {
    const Matrix<double> queries = centroids_near(bench.values.view(), 5);
    Matrix<double> expected(5, shape.n), actual(5, shape.n);
    bench.expected->all_distances({queries.view()}, expected.view());
    bench.on_each([&](Points& points) {
      std::fill(actual.data(), actual.data() + actual.size(), -1.0);
      points.all_distances({queries.view()}, actual.view());
      CHECK(same({expected.data(), static_cast<std::size_t>(expected.size())},
                 {actual.data(), static_cast<std::size_t>(actual.size())}));
    });
  });
}

// Centroids and queries so far away that float32 overflows in the screen.
TEST_CASE("far centroids and queries equal the definition", "[kernels]") {
  const Shape shape{257, 17, 5};
  const std::vector<Tested> backends = every_backend();
  const Bench bench(kinds()[0], Stored::float32, shape, backends);
  for (const double far : {1e6, 1e15, 1e30, 1e100}) {
    INFO("at " << far);
    Matrix<double> centroids = centroids_near(bench.values.view(), shape.k),
                   queries = centroids_near(bench.values.view(), 60);
    for (double& v : centroids.row(3)) v += far;
    for (double& v : centroids.row(1)) v -= far;
    for (std::int64_t q = 0; q < 60; q += 3) {
      for (double& v : queries.row(q)) v += far;
    }
    const AssignRequest request{std::as_const(centroids).view()};
    bench.expected->reset();
    Assignment expected(shape.k);
    bench.expected->assign(request, expected);
    const std::vector<Limbs> inertia = measured(*bench.expected, bench.plan, request.centroids);
    bench.on_each([&](Points& points) {
      points.reset();
      Assignment actual(shape.k);
      points.assign(request, actual);
      check_same_assignment(expected, actual);
      check_same_limbs(inertia, measured(points, bench.plan, request.centroids));
      check_same_rows(*bench.expected, points);
    });
    check_search(bench, {queries.view(), -1}, 10);
  }
}
