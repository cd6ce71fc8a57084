// Neighbour searches large enough for the fp16 screen of a GPU, on every backend against the definition.
#include <algorithm>

#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

std::vector<Stored> floating_storages(const Kind& kind) {
  if (kind.exact_in_float32) return {Stored::float32, Stored::float64};
  return {Stored::float64};
}

MatrixView<const double> rows_of(const Bench& base, std::int64_t first, std::int64_t count) {
  return base.values.view().middle(first, count);
}

/// Checks two equal searches: the second reuses the prepared state of the first.
void check(const Bench& base, const Queries& queries, std::int64_t k) {
  NeighborLists expected(queries.values.rows, k);
  base.expected->search(queries, expected);
  base.on_each([&](const Points& points) {
    for (int turn = 0; turn < 2; ++turn) {
      INFO(queries.values.rows << " queries, k " << k << ", turn " << turn);
      NeighborLists actual(queries.values.rows, k);
      points.search(queries, actual);
      check_same(expected, actual);
    }
  });
}

}  // namespace

// Whole and partial tiles, narrow and wide rows, one group per neighbour and many.
TEST_CASE("neighbours among thousands of rows equal the definition", "[search]") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : kinds()) {
    for (const Shape s :
         {Shape{2600, 5, 10}, Shape{2611, 33, 20}, Shape{2049, 64, 30}, Shape{2600, 129, 1}, Shape{1021, 321, 10}}) {
      INFO(kind.name << ", n " << s.n << ", d " << s.d);
      const Bench base(kind, floating_storages(kind), s, backends);
      for (const std::int64_t count : {1, 20}) {
        const Matrix<double> queries = centroids_near(base.values.view(), count);
        check(base, {queries.view(), -1}, s.k);
      }
      check(base, {rows_of(base, s.n - 10, 10), s.n - 10}, s.k);
      // On a GPU two groups of warps share a tile, and rows are too wide for registers.
      if (s.d > 300) check(base, {rows_of(base, 0, 70), 0}, s.k);
    }
  }
}

TEST_CASE("neighbours by cells equal the definition", "[search][cells]") {
  const std::vector<Tested> backends = every_backend({}, {.cells = true});
  for (const Kind& kind : kinds()) {
    for (const Shape s :
         {Shape{1300, 5, 10}, Shape{1025, 64, 30}, Shape{401, 321, 1}, Shape{50, 7, 2}, Shape{51, 20, 3}}) {
      INFO(kind.name << ", n " << s.n << ", d " << s.d);
      const Bench base(kind, storages(kind), s, backends);
      const Matrix<double> queries = centroids_near(base.values.view(), 100);
      check(base, {queries.view(), -1}, s.k);
      check(base, {rows_of(base, s.n - 10, 10), s.n - 10}, s.k);
      check(base, {rows_of(base, 0, s.n / 3), 0}, s.n / 40);
    }
  }
}

// On the CPU the last of several searches read quantized rows, unless these leave too many rows.
TEST_CASE("repeated searches of few queries equal the definition", "[search]") {
  const std::vector<Tested> backends = every_backend();
  for (const std::size_t kind : {1, 4, 5, 8, 9, 10, 12, 14}) {
    const Shape s{8800, 120, 10};
    INFO(kinds()[kind].name);
    const Bench base(kinds()[kind], floating_storages(kinds()[kind]).front(), s, backends);
    const Matrix<double> near = centroids_near(base.values.view(), 2);
    Matrix<double> far = centroids_near(base.values.view(), 1);
    for (double& v : far.row(0)) v = 1e4 * v + 1e3;
    for (int turn = 0; turn < 3; ++turn) check(base, {near.view(), -1}, s.k);
    check(base, {rows_of(base, s.n - 1, 1), s.n - 1}, s.k);
    check(base, {std::as_const(far).view(), -1}, s.k);
  }
}

TEST_CASE("neighbours by inner product among thousands of rows equal the definition", "[search]") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : kinds()) {
    const Stored stored = storages(kind).back();
    for (const Shape s : {Shape{2611, 33, 20}, Shape{1021, 130, 3}}) {
      INFO(kind.name << ", " << name_of(stored) << ", n " << s.n << ", d " << s.d);
      const Bench base(kind, stored, s, backends);
      const Matrix<double> queries = centroids_near(base.values.view(), 16);
      check(base, {queries.view(), -1, Measure::inner_product}, s.k);
      check(base, {rows_of(base, s.n - 3, 3), s.n - 3, Measure::inner_product}, s.k);
    }
  }
}

// The length of a query does not affect its neighbours, but it does affect the screen: lengths of zero, far below the
// others, or so small that products underflow.
TEST_CASE("short, long and zero queries by inner product equal the definition", "[search]") {
  const std::vector<Tested> backends = every_backend();
  const Bench base(kinds()[1], Stored::float64, {2600, 24, 0}, backends);
  Matrix<double> queries = kinds()[1].make(60, 24, 4);
  const double lengths[] = {1.0, 1e-8, 1e8, 0.0, 1e-160, 1e-300, 1e-310, 1e150};
  for (std::int64_t q = 0; q < 60; ++q) {
    for (double& v : queries.row(q)) v *= lengths[q % std::size(lengths)];
  }
  check(base, {std::as_const(queries).view(), -1, Measure::inner_product}, 10);
}

TEST_CASE("neighbours among tens of thousands of rows equal the definition", "[search]") {
  const std::vector<Tested> backends = every_backend();
  for (const Shape s : {Shape{40000, 12, 10}, Shape{40011, 12, 100}, Shape{70001, 6, 1025}, Shape{9000, 200, 60}}) {
    for (const int kind : {0, 2, 5, 10}) {
      INFO(kinds()[kind].name << ", n " << s.n << ", d " << s.d);
      const Bench base(kinds()[kind], Stored::float32, s, backends);
      const Matrix<double> queries = centroids_near(base.values.view(), 36);  // queries that share tiles on a GPU
      check(base, {queries.view(), -1}, s.k);
    }
  }
}

TEST_CASE("neighbours equal the definition for k from 1 to 8192 and to the number of rows", "[search]") {
  const std::vector<Tested> backends = every_backend();
  const Bench base(kinds()[1], Stored::float32, {140'000, 6, 0}, backends);
  const Matrix<double> queries = centroids_near(base.values.view(), 3);
  for (const std::int64_t k : {1, 10, 100, 1025, 2049, 139'999, 140'000}) check(base, {queries.view(), -1}, k);
}

// Some queries are far outside the base, or outside the range of fp16.
TEST_CASE("a mixture of far and near queries equals the definition", "[search]") {
  const std::vector<Tested> backends = every_backend();
  const Bench base(kinds()[0], Stored::float32, {2600, 17, 0}, backends);
  for (const double far : {1e2, 1e4, 1e15, 1e30, 1e100}) {
    INFO("at " << far);
    Matrix<double> queries = centroids_near(base.values.view(), 60);
    for (std::int64_t q = 0; q < 60; q += 7) {
      for (double& v : queries.row(q)) v += far;
    }
    check(base, {std::as_const(queries).view(), -1}, 10);
  }
}

// Every row is repeated forty times: more rows tie than a list, or the candidate buffer, holds.
TEST_CASE("lists that end among many ties equal the definition", "[search]") {
  Matrix<double> values = kinds()[1].make(12'000, 20, 3);
  for (const std::int64_t different : {300, 3}) {
    for (std::int64_t i = different; i < values.rows(); ++i) {
      std::copy(values.row(i % different).begin(), values.row(i % different).end(), values.row(i).begin());
    }
    Matrix<double> copy(values.rows(), values.columns());
    std::copy_n(values.data(), values.size(), copy.data());
    const std::vector<Tested> backends = every_backend();
    const Bench base(std::move(copy), {Stored::float32}, backends);
    for (const std::int64_t k : {10, 100}) check(base, {rows_of(base, 500, 20), 500}, k);
  }
}

// Not enough memory for fp16 rows, for their group minima, or for all points.
TEST_CASE("little device memory does not change lists", "[search]") {
  std::vector<Tested> backends;
  for (const std::int64_t bytes : {3 << 20, 6 << 20, 9 << 20, 12 << 20, 20 << 20}) {
    for (Tested& tested : tested_backends({.device_memory = bytes})) {
      backends.push_back({tested.name + " with " + std::to_string(bytes) + " bytes", std::move(tested.backend)});
    }
  }
  const Bench base(kinds()[0], Stored::float32, {9000, 128, 0}, backends);  // 4.6 MB as float32
  const Matrix<double> queries = centroids_near(base.values.view(), 100);
  check(base, {queries.view(), -1}, 20);
}

TEST_CASE("lists of well-separated rows need no fallback queries on any path", "[search]") {
  const std::vector<Tested> backends = every_backend();
  const Bench base(kinds()[1], Stored::float32, {20011, 40, 0}, backends);
  const Matrix<double> queries = kinds()[1].make(300, 40, 20);
  base.on_each([&](const Points& points) {
    NeighborLists lists(queries.rows(), 10);
    points.search({queries.view()}, lists);
    CHECK(lists.fallback_queries == 0);
    CHECK(lists.candidates <= 20 * queries.rows());
  });
}

// A device searches rows that it does not hold in parts of several blocks, one after another.
TEST_CASE("searches of rows that are sent equal the definition", "[search]") {
  BackendOptions options;
  options.block_rows = 256;
  const std::vector<Tested> backends = tested_backends(options, {.fp16_by_block = true});
  for (const std::size_t kind : {std::size_t{0}, std::size_t{2}, std::size_t{5}}) {
    for (const Shape s : {Shape{2600, 33, 20}, Shape{1021, 129, 300}}) {
      INFO(kinds()[kind].name << ", n " << s.n << ", d " << s.d);
      const Bench base(kinds()[kind], Stored::float64, s, backends);
      check(base, {rows_of(base, 100, 70), 100}, s.k);
      check(base, {rows_of(base, 100, 70), -1, Measure::inner_product}, s.k);
      check(base, {rows_of(base, 7, 3), 7}, s.k);
    }
  }
}
