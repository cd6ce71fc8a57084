// Points stored as bytes give the runs and searches of equal float32 points, and fp16 screens represent them exactly.
#include <cmath>
#include <cstring>

#include "core/neighbors/neighbors.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// The kinds of data that fit in bytes.
std::vector<Kind> byte_kinds() {
  std::vector<Kind> found;
  std::copy_if(kinds().begin(), kinds().end(), std::back_inserter(found), [](const Kind& kind) { return kind.bytes; });
  return found;
}

std::string describe(const Kind& kind, Shape s) {
  return std::string(kind.name) + ", n " + std::to_string(s.n) + ", d " + std::to_string(s.d) + ", k " +
         std::to_string(s.k);
}

/// Lists of the k nearest other rows.
NeighborLists neighbors(Points& points, PointsView queries, std::int64_t k) {
  points.prepare(make_plan(points));
  NeighborLists found(rows_of(queries), k);
  Observer nobody;
  nearest_neighbors(
      points, queries, {.neighbors = k, .base_is_queries = true, .block_queries = 100},
      [&](std::int64_t first, const NeighborLists& lists) {
        std::copy_n(lists.index.data(), lists.index.size(), found.index.row(first).data());
        std::copy_n(lists.distance.data(), lists.distance.size(), found.distance.row(first).data());
      },
      nobody);
  return found;
}

void check_same_lists(const NeighborLists& expected, const NeighborLists& actual) {
  CHECK(std::equal(expected.index.data(), expected.index.data() + expected.index.size(), actual.index.data()));
  CHECK(std::memcmp(expected.distance.data(), actual.distance.data(), expected.distance.size() * sizeof(double)) == 0);
}

}  // namespace

TEST_CASE("points stored as bytes are of class f32") {
  const Matrix<double> values = byte_kinds()[0].make(3, 4, 1);
  const PointsMatrix stored = stored_as(values.view(), Stored::bytes);
  CHECK(class_of(view_of(stored)) == ValueClass::f32);
  CHECK(std::holds_alternative<Matrix<std::uint8_t>>(stored));
  Matrix<double> negative = byte_kinds()[0].make(3, 4, 1);
  negative(1, 2) = -128;
  CHECK(std::holds_alternative<Matrix<std::int8_t>>(stored_as(negative.view(), Stored::bytes)));
}

// Few columns, which one thread can hold, and many; widths with and without a factor of four; few clusters, and so many
// that a GPU computes group minima first; random starts, and empty clusters.
TEST_CASE("a run on bytes equals the run on float32") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : byte_kinds()) {
    for (const Shape s : {Shape{700, 1, 5},
                          {701, 2, 9},
                          {700, 3, 4},
                          {702, 4, 30},
                          {650, 7, 6},
                          {650, 8, 12},
                          {651, 16, 7},
                          {640, 17, 20},
                          {600, 64, 10},
                          {1021, 130, 9},
                          {1300, 64, 520}}) {
      const Matrix<double> values = kind.make(s.n, s.d, 5);
      for (const Init init : {Init::kmeans_plus_plus, Init::first}) {
        const KMeansOptions options{
            .clusters = s.k, .init = init, .max_iterations = 12, .tolerance = 0, .keep_distances = true};
        INFO(describe(kind, s) << (init == Init::first ? ", first rows" : ", k-means++"));
        const KMeansResult expected = run(*reference_points(values.view()), options);
        const PointsMatrix floats = stored_as(values.view(), Stored::float32),
                           bytes = stored_as(values.view(), Stored::bytes);
        for (const Tested& tested : backends) {
          INFO(tested.name);
          check_same(expected, run(*tested.backend->hold({view_of(floats), 0}), options));
          check_same(expected, run(*tested.backend->hold({view_of(bytes), 0}), options));
        }
      }
    }
  }
}

TEST_CASE("bytes that do not stay on the device give the same run") {
  for (const std::int64_t block : {7, 256}) {
    BackendOptions options;
    options.block_rows = block;
    const std::vector<Tested> backends = every_backend(options);
    for (const Kind& kind : byte_kinds()) {
      for (const Shape s : {Shape{700, 3, 4}, {701, 33, 9}, {1000, 64, 300}}) {
        const Matrix<double> values = kind.make(s.n, s.d, 6);
        const KMeansOptions wanted{.clusters = s.k, .max_iterations = 5, .keep_distances = true};
        const KMeansResult expected = run(*reference_points(values.view()), wanted);
        const PointsMatrix bytes = stored_as(values.view(), Stored::bytes);
        for (const Tested& tested : backends) {
          INFO(describe(kind, s) << ", " << tested.name << ", blocks of " << block);
          check_same(expected, run(*tested.backend->hold({view_of(bytes), 0}), wanted));
        }
      }
    }
  }
}

TEST_CASE("neighbours among bytes equal those among float32") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : byte_kinds()) {
    for (const Shape s : {Shape{300, 1, 4}, {301, 3, 9}, {400, 16, 20}, {401, 33, 5}, {500, 128, 10}}) {
      const Matrix<double> values = kind.make(s.n, s.d, 7);
      const PointsMatrix floats = stored_as(values.view(), Stored::float32),
                         bytes = stored_as(values.view(), Stored::bytes);
      const NeighborLists expected = neighbors(*reference_points(values.view()), view_of(floats), s.k);
      for (const Tested& tested : backends) {
        INFO(describe(kind, s) << ", " << tested.name);
        const auto base = tested.backend->hold({view_of(bytes), 0});
        check_same_lists(expected, neighbors(*base, view_of(bytes), s.k));
        check_same_lists(expected, neighbors(*base, view_of(floats), s.k));
      }
    }
  }
}

// fp16 has eleven significant bits. Any centre would be correct; with this one the screen certifies more rows.
TEST_CASE("the centre of the screen keeps whole numbers of ten bits exact in fp16, and does not move others") {
  const auto exact_in_halves = [](double v) {
    int exponent = 0;
    const double bits = std::ldexp(std::frexp(v, &exponent), 11);
    return bits == std::rint(bits);
  };
  const auto all_exact = [&](const Matrix<double>& values) {
    const DataPlan plan = make_plan(*reference_points(values.view()));
    for (std::int64_t i = 0; i < values.rows(); ++i) {
      for (std::int64_t j = 0; j < values.columns(); ++j) {
        const double seen =
            std::ldexp(values(i, j), -plan.screen.exponent) - static_cast<double>(plan.screen.center[j]);
        if (!exact_in_halves(seen)) return false;
      }
    }
    return true;
  };
  for (const Kind& kind : byte_kinds()) {
    INFO(kind.name);
    for (const std::int64_t n : {2, 33, 1021}) CHECK(all_exact(kind.make(n, 9, 3)));
  }
  Matrix<double> wide = byte_kinds()[1].make(257, 9, 3);  // whole numbers of ten bits, far from zero
  for (std::int64_t i = 0; i < wide.size(); ++i) wide.data()[i] = 1e6 + std::floor(4 * wide.data()[i]);
  CHECK(all_exact(wide));

  const Matrix<double> fractions = kinds()[0].make(500, 9, 3);
  const DataPlan plan = make_plan(*reference_points(fractions.view()));
  for (std::int64_t j = 0; j < 9; ++j) {
    CHECK(plan.screen.center[j] == static_cast<float>(std::ldexp(plan.mean[j], -plan.screen.exponent)));
  }
}
