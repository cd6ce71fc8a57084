// Cells of the rows of a search on a GPU (kernels/cuda/search/cells.h): batches of queries on the device.
#include <cmath>
#include <utility>

#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr std::int64_t kSmallest = 40;  // rows of the smallest blob, which are the first ones

/// Dense blobs: most rows, a quarter of them, and kSmallest.
Matrix<double> uneven_blobs(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    const double center = i < kSmallest ? 2.0 : i % 4 == 0 ? 1.0 : 0.0;
    for (double& v : values.row(i)) v = static_cast<float>(center + 0.01 * v);
  }
  return values;
}

constexpr std::int64_t kCopies = 2000;  // of one row

/// Many dense blobs of which each touches others, so that queries need several cells; and so many copies of a row that
/// they exceed the candidates of a list.
Matrix<double> many_blobs(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  constexpr std::int64_t kBlobs = 60;
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_copy = i % 17 == 3 && i < 17 * kCopies;
    for (std::int64_t j = 0; j < d; ++j) {
      const double center = static_cast<double>(i * 7 % kBlobs) * 0.02 + (j == i % kBlobs % d ? 1.0 : 0.0);
      values(i, j) = static_cast<float>(is_copy ? 0.5 : center + 0.01 * values(i, j));
    }
  }
  return values;
}

/// Queries at distances from none to 10^4 times the size of all blobs, and one that fp16 and float32 cannot hold.
Matrix<double> far_queries(MatrixView<const double> rows) {
  Matrix<double> queries = centroids_near(rows, 100);
  for (std::int64_t q = 0; q < queries.rows(); ++q) {
    for (double& v : queries.row(q)) v += 0.1 * (std::pow(10.0, static_cast<double>(q % 6)) - 1.0);
  }
  queries(3, 0) = 1e40;
  return queries;
}

void check(const Bench& bench, const Queries& queries, std::int64_t k) {
  INFO("k " << k << ", " << queries.values.rows << " queries, excluded " << queries.excluded_row);
  NeighborLists expected_lists(queries.values.rows, k);
  bench.expected->search(queries, expected_lists);
  bench.on_each([&](const Points& points) {
    NeighborLists actual_lists(queries.values.rows, k);
    points.search(queries, actual_lists);
    check_same(expected_lists, actual_lists);
  });
}

}  // namespace

// Cells without queries, cells with fewer rows than a list has entries, queries that exclude themselves or a row of
// another cell, queries far from all cells, and several batches.
TEST_CASE("batches of queries in cells of uneven size equal the definition", "[search][cells]") {
  std::vector<Tested> backends = tested_backends({}, {.cells = true});
  std::erase_if(backends,
                [](const Tested& each) { return !each.name.starts_with("cuda"); });  // others have batches of their own
  if (backends.empty()) return;
  const Kind uneven{"uneven blobs", true, uneven_blobs};
  for (const Stored stored : {Stored::float32, Stored::float64}) {
    INFO(name_of(stored));
    const Bench bench(uneven, stored, {9000, 72, 10}, backends);
    const MatrixView<const double> rows = bench.values.view();
    const Matrix<double> far = far_queries(rows);
    for (const std::int64_t k : {std::int64_t{1}, kSmallest, kSmallest + 1, std::int64_t{128}}) {
      check(bench, {rows.middle(0, 300), 0}, k);
      check(bench, {rows.middle(0, 300), 1}, k);
      check(bench, {rows.middle(0, kSmallest)}, k);
      check(bench, {far.view()}, k);
    }
    constexpr std::int64_t kThreeBatches = 7'000'000;  // bytes; less than that does not hold a tree, nor cells
    check(bench, {.values = rows.middle(0, 1200), .excluded_row = 0, .working_bytes = kThreeBatches}, 100);
  }
}

// Cells whose lists are merged, and queries with more candidates than fit.
TEST_CASE("queries of many cells at once equal the definition", "[search][cells]") {
  std::vector<Tested> backends = tested_backends({}, {.cells = true});
  std::erase_if(backends, [](const Tested& each) { return !each.name.starts_with("cuda"); });
  if (backends.empty()) return;
  const Kind many{"many blobs", true, many_blobs};
  for (const std::int64_t d : {std::int64_t{12}, std::int64_t{72}}) {
    const Bench bench(many, Stored::float32, {60'000, d, 10}, backends);
    const MatrixView<const double> rows = bench.values.view();
    const Matrix<double> near = centroids_near(rows, 200);
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{10}, std::int64_t{20}}) {
      check(bench, {rows.middle(100, 500), 100}, k);
      check(bench, {near.view()}, k);
    }
    constexpr std::int64_t kLittle = 40'000'000;  // bytes
    check(bench, {.values = rows.middle(0, 700), .excluded_row = 0, .working_bytes = kLittle}, 10);
  }
}
