// Points whose rows are read again in each pass give the bits of points in memory, in few passes.
#include "core/points/streamed_points.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/result.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/memory_reader.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

std::unique_ptr<Backend> cpu(const ForcedPaths& forced = {}) {
  for (const BackendEntry& entry : backends()) {
    if (std::string(entry.name) == "cpu") return entry.open({.threads = 2}, forced);
  }
  FAIL("no CPU backend");
  return nullptr;
}

constexpr std::int64_t kRows = 301, kBlock = 37;

/// Runs points without and with some rows in memory.
void check_streamed(Backend& backend, const Matrix<double>& values, const KMeansOptions& options) {
  const KMeansResult expected = run(*backend.hold({values.view(), 0}), options);
  for (const std::int64_t held : {0, 100}) {
    INFO("held " << held);
    MemoryReader reader(values.view(), kBlock);
    StreamedPoints points(backend, {reader.part(0, held), &reader, {}});
    check_same(expected, run(points, options));
  }
}

}  // namespace

// With local screens, which begin with the labels of the assignment before, blocks of other rows take over the choice.
TEST_CASE("streamed points take other paths with the same bits", "[streamed]") {
  const Matrix<double> values = kinds().front().make(kRows, 5, 3);
  const KMeansOptions options{
      .clusters = 40, .init = Init::random, .max_iterations = 20, .tolerance = 0.0, .keep_distances = true};
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(cpu({.local_screen = true}));
  all.push_back(cpu({.bounds = true, .local_screen = true}));
  for (const BackendEntry& entry : backends()) {
    if (entry.missing({}).empty()) all.push_back(entry.open({}, {.local_screen = true}));
  }
  for (const auto& backend : all) {
    INFO(backend->device().name);
    check_streamed(*backend, values, options);
  }
}

TEST_CASE("k-means of streamed points has the bits of points in memory", "[streamed]") {
  const auto backend = cpu();
  for (const Kind& kind : kinds()) {
    const Matrix<double> values = kind.make(kRows, 5, 3);
    const PointsMatrix stored = stored_as(values.view(), storages(kind).back());
    for (const Init init : {Init::kmeans_plus_plus, Init::kmeans_parallel, Init::farthest, Init::random, Init::first}) {
      for (const double unit : {0.0, 1.0, 0.3}) {
        std::vector<double> row_weights;
        for (std::int64_t i = 0; unit > 0 && i < kRows; ++i)
          row_weights.push_back(unit * static_cast<double>(1 + i % 7));
        const Weights weights = unit > 0 ? checked_weights(row_weights, "weights") : equal_weights(kRows);
        const KMeansOptions options{.clusters = 12,
                                    .init = init,
                                    .runs = 2,
                                    .max_iterations = 20,
                                    .tolerance = 0.0,
                                    .keep_distances = true,
                                    .keep_medoids = true};
        const auto resident = backend->hold({view_of(stored), 0, nullptr, row_weights});
        const KMeansResult expected = run(*resident, weights, options);
        for (const std::int64_t held : {std::int64_t{0}, std::int64_t{100}, kRows}) {
          INFO(kind.name << ", init " << static_cast<int>(init) << ", unit of weights " << unit << ", held " << held);
          MemoryReader reader(view_of(stored), kBlock);
          StreamedPoints points(*backend, {reader.part(0, held), &reader, row_weights});
          const KMeansResult actual = run(points, weights, options);
          check_same(expected, actual);
          CHECK(actual.nearest_row == expected.nearest_row);
          CHECK(std::equal(actual.distances.begin(), actual.distances.end(), expected.distances.begin()));
        }
      }
    }
  }
}

TEST_CASE("empty clusters of streamed points are treated as in memory", "[streamed]") {
  const auto backend = cpu();
  const Matrix<double> values = kinds().front().make(kRows, 3, 3);
  Matrix<double> given(6, 3);  // three centroids are far from all rows
  for (std::int64_t c = 0; c < 6; ++c) {
    for (std::int64_t j = 0; j < 3; ++j) given(c, j) = c < 3 ? values(c * 50, j) : 1e3 + static_cast<double>(c);
  }
  for (const EmptyRule rule : {EmptyRule::relocate, EmptyRule::keep, EmptyRule::drop}) {
    KMeansOptions options{
        .clusters = 6, .init = Init::given, .max_iterations = 20, .tolerance = 0.0, .keep_distances = true};
    options.given = std::as_const(given).view();
    options.empty = rule;
    check_streamed(*backend, values, options);
  }
}

TEST_CASE("an iteration of streamed points reads each row once", "[streamed]") {
  const auto backend = cpu();
  const Matrix<double> values = kinds().front().make(kRows, 5, 3);
  MemoryReader reader(values.view(), kBlock);
  StreamedPoints points(*backend, {reader.part(0, 50), &reader, {}});
  const KMeansResult result = run(points, {.clusters = 8, .init = Init::first, .tolerance = 0.0});
  REQUIRE(result.iterations > 2);
  CHECK(reader.passes <= result.iterations + 6);
}

TEST_CASE("points that are only searched are read once, in blocks of any size", "[streamed]") {
  const auto backend = cpu();
  for (const Kind& kind : kinds()) {
    const Matrix<double> values = kind.make(kRows, 4, 3);
    const auto resident = backend->hold({values.view(), 0});
    resident->prepare(make_plan(*resident));
    const Queries queries{.values = values.view().middle(90, 40)};
    NeighborLists expected(40, 7);
    resident->search(queries, expected);
    const double limit = expected.distance(0, 6);
    RadiusLists within(40, limit, 1 << 20);
    resident->search_radius(queries, within);
    for (const std::int64_t block : {std::int64_t{1}, kBlock, kRows}) {
      for (const std::int64_t held : {std::int64_t{0}, std::int64_t{64}, kRows}) {
        INFO(kind.name << ", blocks of " << block << ", held " << held);
        MemoryReader reader(values.view(), block);
        const StreamedPoints points(*backend, {.held = reader.part(0, held), .reader = &reader, .only_searched = true});
        CHECK(reader.passes == 0);
        CHECK(points.plan().rows == held);
        NeighborLists actual(40, 7);
        if (kind.name == std::string("tiny float64")) {  // whose squared distances lose their digits
          CHECK_THROWS_AS(points.search(queries, actual), Error);
          continue;
        }
        points.search(queries, actual);
        CHECK(reader.passes == (held < kRows ? 1 : 0));
        check_same(expected, actual);
        RadiusLists found(40, limit, 1 << 20);
        points.search_radius(queries, found);
        CHECK(within.counts == found.counts);
      }
    }
  }
}

TEST_CASE("points that are only searched are refused if distances between their blocks leave the range of float64") {
  const auto backend = cpu();
  Matrix<double> values(100, 3);
  for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] = i < 150 ? 1e154 : -1e154;
  const Matrix<double> query(1, 3);
  for (const std::int64_t held : {0, 20}) {
    MemoryReader reader(values.view(), 10);
    const StreamedPoints points(*backend, {.held = reader.part(0, held), .reader = &reader, .only_searched = true});
    NeighborLists lists(1, 2);
    CHECK_THROWS_AS(points.search({.values = query.view()}, lists), Error);
  }
}

TEST_CASE("searches of streamed points merge the lists of their blocks", "[streamed]") {
  const auto backend = cpu();
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const Matrix<double> values = kind.make(kRows, 4, 3);
    const auto resident = backend->hold({values.view(), 0});
    MemoryReader reader(values.view(), kBlock);
    StreamedPoints points(*backend, {reader.part(0, 64), &reader, {}});
    const DataPlan plan = make_plan(*resident);
    resident->prepare(plan);
    points.prepare(make_plan(points));
    const Queries queries{.values = values.view().middle(90, 40), .excluded_row = 90};
    NeighborLists expected(40, 7), actual(40, 7);
    resident->search(queries, expected);
    reader.passes = 0;
    points.search(queries, actual);
    CHECK(reader.passes == 1);
    CHECK(std::equal(expected.index.data(), expected.index.data() + expected.index.size(), actual.index.data()));
    CHECK(std::memcmp(expected.distance.data(), actual.distance.data(), 40 * 7 * sizeof(double)) == 0);

    const double limit = expected.distance(0, 6);
    RadiusLists within(40, limit, 1 << 20), found(40, limit, 1 << 20);
    resident->search_radius(queries, within);
    points.search_radius(queries, found);
    CHECK(within.counts == found.counts);
    for (std::size_t q = 0; q < 40; ++q) {
      std::sort(within.rows[q].begin(), within.rows[q].end());
      std::sort(found.rows[q].begin(), found.rows[q].end());
      CHECK(
          std::equal(within.rows[q].begin(), within.rows[q].end(), found.rows[q].begin(), found.rows[q].end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.row == b.row && a.distance == b.distance; }));
    }

    Matrix<double> all(40, kRows), by_block(40, kRows);
    resident->all_distances(queries, all.view());
    points.all_distances(queries, by_block.view());
    CHECK(std::memcmp(all.data(), by_block.data(), static_cast<std::size_t>(all.size()) * sizeof(double)) == 0);
  }
}
