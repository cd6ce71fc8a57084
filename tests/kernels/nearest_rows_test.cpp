// The rows nearest to the centroids on every backend: equal to the definition, and found with little work.
#include <algorithm>
#include <cmath>

#include "core/kmeans/result.h"
#include "core/kmeans/update.h"
#include "core/numbers/philox.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

bool same_rows(const NearestRows& expected, const NearestRows& actual) {
  return std::equal(expected.best.begin(), expected.best.end(), actual.best.begin(), actual.best.end(),
                    [](const Neighbor& a, const Neighbor& b) { return a.distance == b.distance && a.row == b.row; });
}

/// Assigns and measures, as after the last iteration, and adds the nearest rows.
void add_nearest(Points& points, const DataPlan& plan, MatrixView<const double> centroids, NearestRows& result) {
  Assignment assignment(centroids.rows);
  points.assign({centroids}, assignment);
  std::vector<Limbs> inertia(static_cast<std::size_t>(centroids.rows));
  points.measure({centroids, inertia_scale(plan, centroids), term_bits(plan.rows)}, inertia);
  find_nearest_rows(points, centroids, result);
}

/// Compares the nearest rows of all backends with the definition.
void check_nearest(const Bench& bench, MatrixView<const double> centroids) {
  NearestRows expected(centroids.rows);
  find_nearest_rows(*bench.expected, centroids, expected);  // a search by the definition
  bench.on_each([&](Points& points) {
    NearestRows actual(centroids.rows);
    add_nearest(points, bench.plan, centroids, actual);
    CHECK(same_rows(expected, actual));
  });
}

double uniform(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  return static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)) >> 11) *
         0x1p-53;
}

/// Values exact in float32, roughly normal, around 0 with this deviation.
double noise(double deviation, std::uint64_t seed, std::int64_t i, std::int64_t j) {
  double sum = -6.0;
  for (std::uint64_t part = 0; part < 12; ++part) sum += uniform(seed + part, i, j);
  return static_cast<double>(static_cast<float>(deviation * sum));
}

/// (n, d) rows around `blobs` centres at distances of about 10 sqrt(d), or around 0.
Matrix<double> rows_of(std::int64_t n, std::int64_t d, std::int64_t blobs, double deviation) {
  Matrix<double> rows(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      const double centre = blobs > 1 ? noise(7.0, 50, i % blobs, j) : 0.0;
      rows(i, j) = static_cast<double>(static_cast<float>(centre + noise(deviation, 1, i, j)));
    }
  }
  return rows;
}

/// The nearest rows after a few iterations, compared with the definition. Returns the work.
NearestRows nearest_after_run(const Tested& tested, const Matrix<double>& rows, std::int64_t k) {
  const PointsMatrix stored = as_class(rows.view(), ValueClass::f32);
  const std::unique_ptr<Points> points = tested.backend->hold({view_of(stored), 0});
  const KMeansResult result = run(*points, {.clusters = k, .max_iterations = 4});
  NearestRows expected(k), actual(k);
  find_nearest_rows(*reference_points(rows.view()), result.centroids.view(), expected);
  find_nearest_rows(*points, result.centroids.view(), actual);
  INFO(tested.name << ": " << actual.candidates << " candidates, " << actual.searched << " searched");
  CHECK(same_rows(expected, actual));
  for (std::int64_t c = 0; c < k; ++c) CHECK(result.nearest_row[c] == expected.best[c].row);
  return actual;
}

}  // namespace

TEST_CASE("nearest rows equal the definition", "[nearest-rows]") {
  const std::vector<Shape> shapes{{1, 1, 1},    {2, 3, 2},     {33, 1, 7},      {40, 5, 40},
                                  {257, 17, 7}, {521, 33, 60}, {1021, 129, 13}, {31, 1025, 7}};
  for (const BackendOptions& options : {BackendOptions{}, BackendOptions{.block_rows = 100}}) {
    for (const Shape shape : shapes) {
      const std::vector<Tested> backends = tested_backends(options);
      for (const Kind& kind : kinds()) {
        for (const Stored as : storages(kind)) {
          INFO(kind.name << ", " << name_of(as) << ", n " << shape.n << ", d " << shape.d << ", k " << shape.k);
          const Bench bench(kind, as, shape, backends);
          // Half of the centroids are rows, and the last repeats the first: there are ties and empty clusters.
          const Matrix<double> near = centroids_near(bench.values.view(), shape.k);
          check_nearest(bench, near.view());
        }
      }
    }
  }
}

TEST_CASE("nearest rows of every instruction set and screen", "[nearest-rows]") {
  const std::vector<Tested> backends = every_screen(70, 50);
  for (const int kind : {0, 2, 4, 6, 12}) {
    const Bench bench(kinds()[kind], Stored::float32, {700, 70, 50}, backends);
    const Matrix<double> near = centroids_near(bench.values.view(), 50);
    check_nearest(bench, near.view());
  }
}

TEST_CASE("nearest rows of empty, repeated and distant centroids", "[nearest-rows]") {
  const std::vector<Tested> backends = tested_backends();
  for (const int kind : {0, 2, 3, 4, 16}) {
    INFO(kinds()[kind].name);
    const Bench bench(kinds()[kind], Stored::float32, {900, 6, 40}, backends);
    Matrix<double> centroids = centroids_near(bench.values.view(), 40);
    for (std::int64_t c = 0; c < 40; ++c) {
      for (std::int64_t j = 0; j < 6; ++j) {
        if (c % 4 == 1) centroids(c, j) = centroids(c - 1, j);                 // repeats the one before
        if (c % 4 == 2) centroids(c, j) = 1e9 + static_cast<double>(c);        // far from all rows
        if (c == 39) centroids(c, j) = static_cast<double>(j % 2) * 3e15 - 7;  // farther
      }
    }
    check_nearest(bench, centroids.view());
  }
}

TEST_CASE("nearest rows of several blocks of points merge", "[nearest-rows]") {
  for (const int kind : {0, 2, 3, 4}) {
    const Matrix<double> rows = kinds()[kind].make(1000, 9, 3);
    const Matrix<double> centroids = centroids_near(rows.view(), 24);
    const std::unique_ptr<Points> all = reference_points(rows.view());
    const DataPlan plan = make_plan(*all);
    NearestRows expected(24);
    find_nearest_rows(*all, centroids.view(), expected);
    for (const Tested& tested : tested_backends()) {
      INFO(kinds()[kind].name << ", " << tested.name);
      for (const bool forward : {true, false}) {
        NearestRows actual(24);
        for (std::int64_t part = 0; part < 4; ++part) {
          const std::int64_t first = 250 * (forward ? part : 3 - part);
          const PointsMatrix stored = as_class(rows.view().middle(first, 250), ValueClass::f32);
          const std::unique_ptr<Points> points = tested.backend->hold({view_of(stored), first});
          points->prepare(plan);
          add_nearest(*points, plan, centroids.view(), actual);
        }
        CHECK(same_rows(expected, actual));
      }
    }
  }
}

TEST_CASE("nearest rows are found with little work", "[nearest-rows]") {
  constexpr std::int64_t kRows = 20000, kClusters = 100;
  for (const Tested& tested : tested_backends()) {
    for (const std::int64_t d : {3, 32}) {
      const NearestRows of_noise = nearest_after_run(tested, rows_of(kRows, d, 1, 1.0), kClusters);
      CHECK(of_noise.searched == 0);
      CHECK(of_noise.candidates <= 4 * kRows);
      for (const double deviation : {1.0, 0.01}) {
        const NearestRows of_blobs = nearest_after_run(tested, rows_of(kRows, d, kClusters, deviation), kClusters);
        CHECK(of_blobs.searched == 0);
        CHECK(of_blobs.candidates <= kRows);
      }
    }
  }
}

TEST_CASE("nearest rows of a tight cluster within wide ones", "[nearest-rows]") {
  for (const Tested& tested : tested_backends()) {
    for (const double deviation : {0.3, 0.01}) {
      Matrix<double> rows = rows_of(6000, 24, 1, 1.0);
      for (std::int64_t i = 0; i < 6000; i += 2) {
        for (std::int64_t j = 0; j < 24; ++j) rows(i, j) = noise(deviation, 90, i, j);
      }
      // The tight rows are nearest to all centroids; they may be searched, but not all pairs are measured.
      for (const std::int64_t k : {8, 150}) {
        const NearestRows nearest = nearest_after_run(tested, rows, k);
        if (nearest.searched == 0) CHECK(nearest.candidates <= 2 * max_nearest_candidates(6000, k) + k * k);
      }
    }
  }
}

// The centroids of a few far rows lie between these, where rows of many clusters may be nearest.
TEST_CASE("nearest rows of heavy-tailed rows take few distances", "[nearest-rows]") {
  constexpr std::int64_t kRows = 20000, kColumns = 64, kClusters = 512;
  Matrix<double> rows(kRows, kColumns);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      const double tail = std::sqrt(-std::log(uniform(80, i, j) + 0x1p-60));
      rows(i, j) = static_cast<double>(static_cast<float>(noise(1.0, 1, i, j) / (tail + 0x1p-30)));
    }
  }
  for (const Tested& tested : tested_backends()) {
    const NearestRows nearest = nearest_after_run(tested, rows, kClusters);
    if (!tested.name.starts_with("cpu")) continue;
    CHECK(nearest.searched == 0);
    CHECK(nearest.candidates <= kRows);
  }
}
