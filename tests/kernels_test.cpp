// Every verb of the seam on every backend against the definition: labels, neighbours, sums and distances must be equal.
#include <algorithm>
#include <cstring>

#include "core/data_plan.h"
#include "tests/cases.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

bool same(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// The reference and one backend, holding the same values and made ready.
struct Pair {
  Matrix<double> values;
  PointsMatrix stored;
  std::unique_ptr<Points> expected, actual;
  DataPlan plan;

  Pair(const Kind& kind, ValueClass c, Shape shape, Backend& backend)
      : values(kind.make(shape.n, shape.d, 11)),
        stored(as_class(values.view(), c)),
        expected(reference_points(values.view())),
        actual(backend.hold({view_of(stored), 0})),
        plan(make_plan(*expected)) {
    expected->prepare(plan);
    actual->prepare(plan);
  }
};

std::string describe(const Tested& tested, const Kind& kind, ValueClass c, Shape s) {
  return tested.name + ", " + kind.name + ", " + name_of(c) + ", n " + std::to_string(s.n) + ", d " +
         std::to_string(s.d) + ", k " + std::to_string(s.k);
}

/// body(pair, shape) for every kind of data and class that goes with it, on every backend.
template <class Body>
void on_everything(const std::vector<Shape>& all, const BackendOptions& options, const Body& body) {
  for (const Tested& tested : tested_backends(options)) {
    for (const Kind& kind : kinds()) {
      for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
        if (c == ValueClass::f32 && !kind.exact_in_float32) continue;
        for (const Shape shape : all) {
          INFO(describe(tested, kind, c, shape));
          Pair pair(kind, c, shape, *tested.backend);
          body(pair, shape);
        }
      }
    }
  }
}

/// A few shapes for the verbs that do not depend on all of n, d and k.
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
  const auto equal = [](const Limbs& a, const Limbs& b) { return a.high == b.high && a.low == b.low; };
  CHECK(std::equal(expected.inertia.begin(), expected.inertia.end(), actual.inertia.begin(), equal));
}

void check_same_lists(const NeighborLists& expected, const NeighborLists& actual) {
  const std::int64_t size = expected.index.size();
  const auto wrong = std::mismatch(expected.index.data(), expected.index.data() + size, actual.index.data());
  INFO("first wrong neighbour at place " << wrong.first - expected.index.data());
  CHECK((wrong.first == expected.index.data() + size));
  CHECK(same({expected.distance.data(), static_cast<std::size_t>(size)},
             {actual.distance.data(), static_cast<std::size_t>(size)}));
}

void assign_twice(Pair& pair, Shape shape) {
  const Matrix<double> first = centroids_near(pair.values.view(), shape.k);
  Matrix<double> second = centroids_near(pair.values.view(), shape.k);
  std::reverse(second.data(), second.data() + second.size());
  ClusterSums expected_sums(shape.k, shape.d, pair.plan.scales.limbs), actual_sums = expected_sums;
  for (const Matrix<double>* centroids : {&first, &first, static_cast<const Matrix<double>*>(&second)}) {
    const AssignRequest request{centroids->view(), inertia_scale(pair.plan, centroids->data(), shape.k),
                                term_bits(shape.n)};
    Assignment expected(shape.k), actual(shape.k);
    pair.expected->assign(request, expected);
    pair.actual->assign(request, actual);
    check_same_assignment(expected, actual);
    check_same_rows(*pair.expected, *pair.actual);
    pair.expected->add_moves(expected_sums);
    pair.actual->add_moves(actual_sums);
    CHECK(expected_sums.high == actual_sums.high);
    CHECK(expected_sums.low == actual_sums.low);
  }
  CHECK(pair.actual->rows() == shape.n);
}

}  // namespace

TEST_CASE("ranges and magnitudes are the definition's", "[kernels]") {
  on_everything(kFewShapes, {}, [](Pair& pair, Shape) {
    const DataPlan actual = make_plan(*pair.actual);
    CHECK(actual.range.minimum == pair.plan.range.minimum);
    CHECK(actual.range.maximum == pair.plan.range.maximum);
    CHECK(actual.scales.shift == pair.plan.scales.shift);
    CHECK(actual.scales.limbs == pair.plan.scales.limbs);
    CHECK(actual.mean == pair.plan.mean);
    CHECK(actual.screen.center == pair.plan.screen.center);
    CHECK(actual.screen.exponent == pair.plan.screen.exponent);
  });
}

// Failures 1, 3, 4, 10, 21, 42, 49, 50, 52, 53, 57: offsets, wide columns, near duplicates, limits of the range, ties
// and every size around a tile.
TEST_CASE("labels, distances, counts, inertia and sums equal the definition", "[kernels][assign]") {
  on_everything(shapes(600'000), {}, assign_twice);
}

TEST_CASE("large k, large d", "[kernels][assign]") {
  for (const Tested& tested : tested_backends()) {
    for (const Shape shape :
         {Shape{1021, 33, 1000}, Shape{1021, 128, 64}, Shape{257, 4097, 7}, Shape{255, 1024, 255}}) {
      for (const int kind : {0, 2, 5}) {
        INFO(describe(tested, kinds()[kind], ValueClass::f32, shape));
        Pair pair(kinds()[kind], ValueClass::f32, shape, *tested.backend);
        assign_twice(pair, shape);
      }
    }
  }
}

// Failure 47: any block size, the same answer.
TEST_CASE("blocks of rows do not change an assignment", "[kernels][assign]") {
  BackendOptions options;
  for (const std::int64_t block : {1, 7, 48, 100}) {
    options.block_rows = block;
    on_everything({{257, 17, 7}, {33, 3, 33}}, options, assign_twice);
  }
}

TEST_CASE("seeding verbs equal the definition", "[kernels][seeding]") {
  on_everything(kFewShapes, {}, [](Pair& pair, Shape shape) {
    pair.expected->forget();
    pair.actual->forget();
    const Matrix<double> seeds = centroids_near(pair.values.view(), 4);
    for (std::int64_t s = 0; s < 3; ++s) {
      const double largest = pair.expected->lower(seeds.row(s));
      CHECK(pair.actual->lower(seeds.row(s)) == largest);
      if (!(largest > 0)) return;
      const FixedScale scale = fixed_scale(term_bits(shape.n) - exponent_above(largest));
      const std::int64_t total = pair.expected->total(scale);
      CHECK(pair.actual->total(scale) == total);
      for (const std::int64_t target : {std::int64_t{0}, total / 3, total / 2, total - 1}) {
        CHECK(pair.actual->draw(scale, target) == pair.expected->draw(scale, target));
      }
      const Matrix<double> candidates = centroids_near(pair.values.view(), 9);
      std::vector<std::int64_t> expected(9, 5), actual(9, 5);
      pair.expected->add_trial_totals(candidates.view(), scale, expected);
      pair.actual->add_trial_totals(candidates.view(), scale, actual);
      CHECK(expected == actual);
    }
  });
}

TEST_CASE("farthest rows and relabelling equal the definition (failures 23, 25)", "[kernels]") {
  on_everything(kFewShapes, {}, [](Pair& pair, Shape shape) {
    const Matrix<double> centroids = centroids_near(pair.values.view(), shape.k);
    const AssignRequest request{centroids.view(), inertia_scale(pair.plan, centroids.data(), shape.k),
                                term_bits(shape.n)};
    Assignment expected(shape.k), actual(shape.k);
    pair.expected->assign(request, expected);
    pair.actual->assign(request, actual);
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, shape.n + 3}) {
      const auto a = pair.expected->farthest(count), b = pair.actual->farthest(count);
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const FarRow& x, const FarRow& y) {
        return x.distance == y.distance && x.row == y.row && x.label == y.label;
      }));
    }
    ClusterSums expected_sums(shape.k, shape.d, pair.plan.scales.limbs), actual_sums = expected_sums;
    for (Points* points : {pair.expected.get(), pair.actual.get()}) points->relabel(shape.n / 2, 0);
    pair.expected->add_moves(expected_sums);
    pair.actual->add_moves(actual_sums);
    CHECK(expected_sums.high == actual_sums.high);
    CHECK(expected_sums.low == actual_sums.low);
    check_same_rows(*pair.expected, *pair.actual);
    std::vector<std::int64_t> rows{shape.n - 1, 0, shape.n / 2};
    Matrix<double> copied(3, shape.d);
    pair.actual->copy_rows(rows, copied.view());
    for (std::int64_t i = 0; i < 3; ++i) CHECK(same(copied.row(i), pair.values.row(rows[i])));
  });
}

// Failures 5, 7, 55, 57: a query that is a row, few and many queries, k up to n, ties by index.
TEST_CASE("neighbours equal the definition", "[kernels][search]") {
  on_everything({{1, 1, 1}, {33, 1, 7}, {257, 17, 10}, {1021, 33, 10}, {255, 129, 255}, {257, 3, 256}, {31, 1025, 7}},
                {}, [](Pair& pair, Shape shape) {
                  for (const std::int64_t queries : {std::int64_t{1}, std::int64_t{19}, std::int64_t{100}}) {
                    const Matrix<double> values = centroids_near(pair.values.view(), queries);
                    NeighborLists expected(queries, shape.k), actual(queries, shape.k);
                    pair.expected->search({values.view(), -1}, expected);
                    pair.actual->search({values.view(), -1}, actual);
                    check_same_lists(expected, actual);
                  }
                });
}

TEST_CASE("a set searched in itself leaves each row out of its own list", "[kernels][search]") {
  on_everything({{2, 3, 1}, {257, 17, 10}, {256, 2, 255}, {1021, 5, 3}}, {}, [](Pair& pair, Shape shape) {
    NeighborLists expected(shape.n, shape.k), actual(shape.n, shape.k);
    pair.expected->search({pair.values.view(), 0}, expected);
    pair.actual->search({pair.values.view(), 0}, actual);
    check_same_lists(expected, actual);
    const std::int64_t first = shape.n / 3, count = shape.n - first;
    NeighborLists expected_part(count, shape.k), actual_part(count, shape.k);
    const MatrixView<const double> part = std::as_const(pair.values).view().middle(first, count);
    pair.expected->search({part, first}, expected_part);
    pair.actual->search({part, first}, actual_part);
    check_same_lists(expected_part, actual_part);
  });
}

TEST_CASE("blocks of the base searched in turn merge to the same lists (failure 47)", "[kernels][search]") {
  for (const Tested& tested : tested_backends()) {
    const Matrix<double> values = kinds()[2].make(500, 9, 3);
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const auto whole = reference_points(values.view());
    NeighborLists expected(500, 12), actual(500, 12);
    whole->search({values.view(), 0}, expected);
    const auto& floats = std::get<Matrix<float>>(stored);
    const DataPlan plan = make_plan(*whole);
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{300, 200}, {0, 100}, {100, 200}}) {
      const auto part = tested.backend->hold({floats.view().middle(first, count), first});
      part->prepare(plan);
      part->search({values.view(), 0}, actual);
    }
    INFO(tested.name);
    check_same_lists(expected, actual);
  }
}

// Failure 55: k beyond the fast selection's reach.
TEST_CASE("k of 2049 and of all rows", "[kernels][search]") {
  for (const Tested& tested : tested_backends()) {
    const Shape shape{5000, 4, 0};
    Pair pair(kinds()[2], ValueClass::f32, shape, *tested.backend);
    for (const std::int64_t k : {1025, 2049, 5000}) {
      const Matrix<double> queries = centroids_near(pair.values.view(), 20);
      NeighborLists expected(20, k), actual(20, k);
      pair.expected->search({queries.view(), -1}, expected);
      pair.actual->search({queries.view(), -1}, actual);
      INFO(tested.name << ", k " << k);
      check_same_lists(expected, actual);
    }
  }
}

TEST_CASE("distance matrices equal the definition (failure 6)", "[kernels]") {
  on_everything(kFewShapes, {}, [](Pair& pair, Shape shape) {
    const Matrix<double> queries = centroids_near(pair.values.view(), 5);
    Matrix<double> expected(5, shape.n), actual(5, shape.n);
    pair.expected->all_distances(queries.view(), expected.view());
    pair.actual->all_distances(queries.view(), actual.view());
    CHECK(same({expected.data(), static_cast<std::size_t>(expected.size())},
               {actual.data(), static_cast<std::size_t>(actual.size())}));
  });
}

// Failures 1, 27: centroids and queries so far away that the screen's float32 overflows.
TEST_CASE("far centroids and queries", "[kernels]") {
  for (const Tested& tested : tested_backends()) {
    const Shape shape{257, 17, 5};
    Pair pair(kinds()[0], ValueClass::f32, shape, *tested.backend);
    for (const double far : {1e6, 1e15, 1e30, 1e100}) {
      Matrix<double> centroids = centroids_near(pair.values.view(), shape.k);
      for (double& v : centroids.row(3)) v += far;
      for (double& v : centroids.row(1)) v -= far;
      INFO(tested.name << ", " << far);
      const AssignRequest request{centroids.view(), inertia_scale(pair.plan, centroids.data(), shape.k),
                                  term_bits(shape.n)};
      Assignment expected(shape.k), actual(shape.k);
      pair.expected->assign(request, expected);
      pair.actual->assign(request, actual);
      check_same_assignment(expected, actual);
      check_same_rows(*pair.expected, *pair.actual);
      Matrix<double> queries = centroids_near(pair.values.view(), 60);
      for (std::int64_t q = 0; q < 60; q += 3) {
        for (double& v : queries.row(q)) v += far;
      }
      NeighborLists expected_lists(60, 10), actual_lists(60, 10);
      pair.expected->search({queries.view(), -1}, expected_lists);
      pair.actual->search({queries.view(), -1}, actual_lists);
      check_same_lists(expected_lists, actual_lists);
    }
  }
}
