// Nearest neighbours: known ground truth, and the same lists for any grouping of the queries.
#include <algorithm>

#include "core/neighbors/neighbors.h"
#include "data/source.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

Matrix<std::int64_t> search(Points& base, PointsView queries, NeighborOptions options) {
  base.prepare(make_plan(base));
  Matrix<std::int64_t> actual(rows_of(queries), options.neighbors);
  Observer nobody;
  nearest_neighbors(
      base, queries, options,
      [&](std::int64_t first, const NeighborLists& lists) {
        std::copy(lists.index.data(), lists.index.data() + lists.index.size(), actual.row(first).data());
      },
      nobody);
  return actual;
}

bool same(const Matrix<std::int64_t>& actual, const Matrix<double>& truth) {
  return actual.rows() == truth.rows() && actual.columns() == truth.columns() &&
         std::equal(actual.data(), actual.data() + actual.size(), truth.data(),
                    [](std::int64_t a, double b) { return static_cast<double>(a) == b; });
}

PointsMatrix points(const std::string& location) { return data::read_all(*data::open_points(location)); }

Matrix<double> doubles(const std::string& location) {
  PointsMatrix all = data::read_all(*data::open_points(location, {data::Precision::f64, false}));
  return std::move(std::get<Matrix<double>>(all));
}

}  // namespace

TEST_CASE("500 queries among 20 000 embeddings give the known ground truth", "[neighbors][shared]") {
  const std::string folder = shared_data();
  if (folder.empty()) return;
  const std::string file = folder + "/descriptions.h5:";
  const PointsMatrix train = points(file + "/train"), test = points(file + "/test");
  const Matrix<double> truth = doubles(file + "/neighbors");
  for (const Tested& tested : tested_backends()) {
    INFO(tested.name);
    const auto base = tested.backend->hold({view_of(train), 0});
    CHECK(same(search(*base, view_of(test), {.neighbors = 100}), truth));
  }
}

TEST_CASE("the ten nearest neighbours of every digit are known, with ties by index", "[neighbors][shared]") {
  const std::string folder = shared_data();
  if (folder.empty()) return;
  const PointsMatrix digits = points(folder + "/digits.h5:/train");
  const Matrix<double> truth = doubles(folder + "/reference/digits.h5:/knn10/indices");
  for (const Tested& tested : tested_backends()) {
    INFO(tested.name);
    const auto base = tested.backend->hold({view_of(digits), 0});
    CHECK(same(search(*base, view_of(digits), {.neighbors = 10, .base_is_queries = true}), truth));
  }
}

TEST_CASE("any grouping of the queries gives the same lists", "[neighbors]") {
  const Matrix<double> values = kinds()[2].make(400, 6, 3);
  for (const Tested& tested : tested_backends()) {
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const auto base = tested.backend->hold({view_of(stored), 0});
    const Matrix<std::int64_t> whole = search(*base, view_of(stored), {.neighbors = 12, .base_is_queries = true});
    for (const std::int64_t block : {1, 19, 20, 399}) {
      const Matrix<std::int64_t> parts =
          search(*base, view_of(stored), {.neighbors = 12, .base_is_queries = true, .block_queries = block});
      INFO(tested.name << ", blocks of " << block);
      CHECK(std::equal(whole.data(), whole.data() + whole.size(), parts.data()));
    }
  }
}

TEST_CASE("ten thousand queries get the same lists on every path, and alone", "[neighbors]") {
  const PointsMatrix stored = as_class(kinds()[1].make(20000, 24, 3).view(), ValueClass::f32),
                     queries = as_class(kinds()[1].make(10000, 24, 5).view(), ValueClass::f32);
  const MatrixView<const float> few = std::get<Matrix<float>>(queries).view();
  Matrix<std::int64_t> first;
  for (const Tested& tested : every_backend()) {
    INFO(tested.name);
    const auto base = tested.backend->hold({view_of(stored), 0});
    const Matrix<std::int64_t> actual = search(*base, view_of(queries), {.neighbors = 10});
    if (first.size() == 0) first = search(*base, view_of(queries), {.neighbors = 10, .block_queries = 3000});
    CHECK(std::equal(first.data(), first.data() + first.size(), actual.data()));
    const Matrix<std::int64_t> alone = search(*base, few.middle(7000, 19), {.neighbors = 10});
    CHECK(std::equal(alone.data(), alone.data() + alone.size(), actual.row(7000).data()));
  }
}

TEST_CASE("a row is first in its own list unless excluded by its index", "[neighbors]") {
  const Matrix<double> values = kinds()[4].make(50, 6, 3);  // every row occurs ten times
  const auto base = reference_points(values.view());
  const PointsView view = values.view();
  const Matrix<std::int64_t> with =
      search(*base, view, {.neighbors = 10, .base_is_queries = true, .include_self = true});
  const Matrix<std::int64_t> without = search(*base, view, {.neighbors = 9, .base_is_queries = true});
  for (std::int64_t i = 0; i < 50; ++i) {
    CHECK(with(i, 0) == i % 5);
    CHECK(std::count(with.row(i).begin(), with.row(i).end(), i) == 1);
    CHECK(std::count(without.row(i).begin(), without.row(i).end(), i) == 0);
  }
}

TEST_CASE("lists of thousands of equal rows are ordered by index and take little memory", "[neighbors]") {
  Matrix<double> values(6000, 2);
  std::fill(values.data(), values.data() + values.size(), 0.5);
  for (const Tested& tested : every_backend()) {
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const auto base = tested.backend->hold({view_of(stored), 0});
    const Matrix<std::int64_t> actual = search(*base, view_of(stored), {.neighbors = 3, .base_is_queries = true});
    INFO(tested.name);
    for (const std::int64_t i : {0, 1, 2, 3, 5999}) {
      std::vector<std::int64_t> expected;
      for (std::int64_t row = 0; expected.size() < 3; ++row) {
        if (row != i) expected.push_back(row);
      }
      CHECK(std::equal(expected.begin(), expected.end(), actual.row(i).begin()));
    }
  }
}

TEST_CASE("k and column counts out of range are refused", "[neighbors]") {
  const Matrix<double> values = kinds()[0].make(10, 3, 3), wide = kinds()[0].make(2, 4, 3);
  const auto base = reference_points(values.view());
  const PointsView view = values.view();
  CHECK_THROWS_WITH(search(*base, view, {.neighbors = 11}), "k = 11 neighbours: expected 1 to 10, the number of rows");
  CHECK_THROWS_WITH(search(*base, view, {.neighbors = 10, .base_is_queries = true}),
                    "k = 10 neighbours: expected 1 to 9, the number of rows other than the query itself");
  CHECK_THROWS_WITH(search(*base, PointsView(wide.view()), {.neighbors = 1}),
                    "queries have 4 columns, the base has 3; expected the same number");
}
