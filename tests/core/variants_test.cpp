// Variants of k-means on every backend: given labels, rules for empty clusters, frozen centroids, medoids.
#include <algorithm>
#include <cmath>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/seeding.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/points_everywhere.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

using Rows = std::vector<std::vector<double>>;

Rows rows_of(MatrixView<const double> values) {
  Rows rows;
  for (std::int64_t i = 0; i < values.rows; ++i) rows.emplace_back(values.row(i).begin(), values.row(i).end());
  return rows;
}

/// k-means in plain loops for integers, whose sums are exact. Clusters without rows keep their centroid or are dropped;
/// the first `frozen` centroids are fixed.
struct Plain {
  Rows centroids;
  std::vector<std::int32_t> labels;
  int dropped = 0;

  Plain(const Rows& points, Rows start, EmptyRule rule, std::size_t frozen, int iterations) : centroids(start) {
    for (int i = 0; i < iterations; ++i) {
      assign(points, rule, frozen);
      for (std::size_t c = frozen; c < centroids.size(); ++c) {
        std::vector<double> sum(points[0].size(), 0.0);
        double count = 0.0;
        for (std::size_t x = 0; x < points.size(); ++x) {
          if (labels[x] != static_cast<std::int32_t>(c)) continue;
          for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += points[x][j];
          ++count;
        }
        for (std::size_t j = 0; j < sum.size() && count > 0; ++j) centroids[c][j] = sum[j] / count;
      }
    }
    assign(points, rule, frozen);
  }

  void assign(const Rows& points, EmptyRule rule, std::size_t frozen) {
    labels.clear();
    for (const auto& x : points) {
      std::int32_t best = 0;
      std::vector<double> distance;
      for (const auto& c : centroids) {
        distance.push_back(reference_distance(x.data(), c.data(), static_cast<std::int64_t>(c.size())));
        if (distance.back() < distance[best]) best = static_cast<std::int32_t>(distance.size()) - 1;
      }
      labels.push_back(best);
    }
    for (auto c = static_cast<std::int32_t>(centroids.size()) - 1; c >= static_cast<std::int32_t>(frozen); --c) {
      if (rule != EmptyRule::drop || std::count(labels.begin(), labels.end(), c) > 0) continue;
      centroids.erase(centroids.begin() + c);
      for (std::int32_t& label : labels) label -= label > c ? 1 : 0;
      ++dropped;
    }
  }
};

Matrix<double> copy_of(MatrixView<const double> values) {
  Matrix<double> copy(values.rows, values.columns);
  std::copy(values.data, values.data + values.size(), copy.data());
  return copy;
}

/// Rows of the points and centroids far from them: most of the far ones get no row, some do later.
Matrix<double> start_with_empty(MatrixView<const double> values, std::int64_t k) {
  Matrix<double> start(k, values.columns);
  for (std::int64_t c = 0; c < k; ++c) {
    const auto row = values.row(c * 13 % values.rows);
    std::copy(row.begin(), row.end(), start.row(c).begin());
    if (c % 3 == 1) {
      for (double& x : start.row(c)) x += 60.0 * static_cast<double>(c);
    }
  }
  return start;
}

std::vector<Tested> backends_in_pieces() {
  std::vector<Tested> backends = every_backend();
  for (Tested& tested : tested_backends({.threads = 3, .block_rows = 100})) {
    backends.push_back({tested.name + " in small pieces", std::move(tested.backend)});
  }
  return backends;
}

}  // namespace

TEST_CASE("set_labels() gives the state of the definition", "[variants]") {
  const std::vector<Tested> backends = backends_in_pieces();
  for (const Shape shape : {Shape{1, 1, 1}, Shape{33, 1, 7}, Shape{257, 17, 7}, Shape{521, 33, 200}}) {
    for (const int kind : {0, 10}) {
      const Bench bench(kinds()[kind], Stored::float64, shape, backends);
      const Matrix<double> centroids = centroids_near(bench.values.view(), shape.k);
      std::vector<std::int32_t> labels(shape.n);
      for (std::int64_t i = 0; i < shape.n; ++i) labels[i] = static_cast<std::int32_t>((i * 7 + 1) % shape.k);
      const auto sums_of = [&](Points& points) {
        Assignment ignored(shape.k);
        ClusterSums sums(shape.k, shape.d, bench.plan.scales.limbs);
        points.reset();
        points.assign({std::as_const(centroids).view()}, ignored);
        points.update_sums(sums);
        points.set_labels(labels);
        points.update_sums(sums);
        return sums;
      };
      const ClusterSums expected = sums_of(*bench.expected);
      bench.on_each([&](Points& points) {
        const ClusterSums moved = sums_of(points);
        CHECK(moved.high == expected.high);
        CHECK(moved.low == expected.low);
        points.reset();
        points.set_labels(labels);
        ClusterSums fresh(shape.k, shape.d, bench.plan.scales.limbs);
        points.update_sums(fresh);
        CHECK(fresh.high == expected.high);
        CHECK(fresh.low == expected.low);
        std::vector<std::int32_t> held(shape.n);
        points.labels(held);
        CHECK(held == labels);
        Assignment again(shape.k), correct(shape.k);
        points.assign({std::as_const(centroids).view()}, again);
        bench.expected->assign({std::as_const(centroids).view()}, correct);
        CHECK(again.changed == correct.changed);
        CHECK(again.counts == correct.counts);
      });
    }
  }
}

TEST_CASE("empty clusters are kept or dropped as in plain loops", "[variants]") {
  const std::vector<Tested> backends = backends_in_pieces();
  int dropped = 0, kept = 0;
  for (const Shape shape : {Shape{40, 1, 6}, Shape{400, 3, 20}, Shape{300, 40, 50}}) {
    const Matrix<double> values = kinds()[2].make(shape.n, shape.d, 5);
    const Matrix<double> start = start_with_empty(values.view(), shape.k);
    for (const EmptyRule rule : {EmptyRule::keep, EmptyRule::drop}) {
      for (const int iterations : {1, 2, 9}) {
        const KMeansOptions options{.clusters = shape.k,
                                    .init = Init::given,
                                    .given = start.view(),
                                    .max_iterations = iterations,
                                    .tolerance = 0.0,
                                    .empty = rule,
                                    .keep_distances = true};
        const KMeansResult expected = run(*reference_points(values.view()), options);
        const Plain plain(rows_of(values.view()), rows_of(start.view()), rule, 0,
                          static_cast<int>(expected.iterations));
        CHECK(rows_of(expected.centroids.view()) == plain.centroids);
        CHECK(std::equal(plain.labels.begin(), plain.labels.end(), expected.labels.begin()));
        CHECK(expected.centroids.rows() == shape.k - plain.dropped);
        dropped += plain.dropped;
        kept += static_cast<int>(expected.empty_clusters);
        CHECK((rule == EmptyRule::keep || expected.empty_clusters == 0));
        for (const Tested& tested : backends) {
          for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
            INFO(tested.name << ", " << name_of(c) << ", " << name_of(rule) << ", " << iterations << " iterations, d "
                             << shape.d);
            check_same(expected, on(*tested.backend, values, c, options));
          }
        }
      }
    }
  }
  CHECK(dropped > 20);
  CHECK(kept > 20);
}

TEST_CASE("an empty cluster ends the run with EmptyRule::error", "[variants]") {
  const Matrix<double> values = kinds()[2].make(50, 2, 5);
  Matrix<double> start = start_with_empty(values.view(), 4);
  const auto points = reference_points(values.view());
  KMeansOptions options{.clusters = 4, .init = Init::given, .given = std::as_const(start).view()};
  options.empty = EmptyRule::error;
  CHECK_THROWS_WITH(run(*points, options),
                    "iteration 1 left 1 of 4 clusters without rows, of which cluster 1 is the first; expected none");
  options.clusters = 1;
  options.given = std::as_const(start).view().middle(0, 1);
  CHECK(run(*points, options).counts == std::vector<std::int64_t>{50});
}

TEST_CASE("rows that differ from their mean only by its rounding are not relocated", "[variants]") {
  const std::vector<Tested> backends = backends_in_pieces();
  const std::vector<double> different{0.1, 0.7, 1e5, 1.0 / 3};
  for (const auto& [rows, distinct, k] : {std::tuple{3, 1, 2}, {7, 1, 4}, {30, 3, 8}, {97, 4, 40}}) {
    Matrix<double> values(rows, 2);
    for (std::int64_t i = 0; i < rows; ++i) {
      values(i, 0) = different[i % distinct];
      values(i, 1) = 7 * different[(i + 1) % distinct];
    }
    for (const Init init : {Init::kmeans_plus_plus, Init::first, Init::random}) {
      const KMeansOptions options{
          .clusters = k, .init = init, .max_iterations = 50, .tolerance = 0.0, .keep_distances = true};
      const KMeansResult expected = run(*reference_points(values.view()), options);
      INFO(rows << " rows, " << distinct << " of them different, k " << k);
      CHECK(expected.stopped_by == "labels");
      CHECK(expected.empty_clusters == k - distinct);
      for (const Tested& tested : backends) check_same(expected, on(*tested.backend, values, ValueClass::f64, options));
    }
  }
  // A difference of one float32 ulp is more than the rounding of a mean.
  Matrix<double> near(3, 1);
  near(0, 0) = near(1, 0) = 0.1F;
  near(2, 0) = std::nextafter(0.1F, 1.0F);
  const Matrix<double> start = copy_of(near.view().middle(0, 2));
  const KMeansOptions options{.clusters = 2, .init = Init::given, .given = start.view()};
  CHECK(run(*reference_points(near.view()), options).counts == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("frozen centroids keep their bits", "[variants]") {
  const std::vector<Tested> backends = backends_in_pieces();
  for (const Shape shape : {Shape{60, 1, 5}, Shape{400, 3, 12}, Shape{300, 40, 40}}) {
    const Matrix<double> values = kinds()[2].make(shape.n, shape.d, 9);
    const Matrix<double> start = start_with_empty(values.view(), shape.k);
    for (const std::int64_t frozen : {std::int64_t{1}, shape.k / 2, shape.k}) {
      for (const EmptyRule rule : {EmptyRule::relocate, EmptyRule::keep, EmptyRule::drop}) {
        const KMeansOptions options{.clusters = shape.k,
                                    .init = Init::given,
                                    .frozen = start.view().middle(0, frozen),
                                    .given = start.view().middle(frozen, shape.k - frozen),
                                    .max_iterations = 30,
                                    .tolerance = 0.0,
                                    .empty = rule,
                                    .keep_distances = true};
        const KMeansResult expected = run(*reference_points(values.view()), options);
        CHECK(std::equal(start.data(), start.data() + frozen * shape.d, expected.centroids.data()));
        CHECK(expected.frozen == frozen);
        if (rule != EmptyRule::relocate) {
          const Plain plain(rows_of(values.view()), rows_of(start.view()), rule, static_cast<std::size_t>(frozen),
                            static_cast<int>(expected.iterations));
          CHECK(rows_of(expected.centroids.view()) == plain.centroids);
          CHECK(std::equal(plain.labels.begin(), plain.labels.end(), expected.labels.begin()));
        } else if (expected.stopped_by == "labels" && expected.inertia > 0) {  // else every row lies on a centroid
          CHECK(std::count(expected.counts.begin() + frozen, expected.counts.end(), 0) == 0);
        }
        for (const Tested& tested : backends) {
          INFO(tested.name << ", frozen " << frozen << ", " << name_of(rule) << ", d " << shape.d);
          check_same(expected, on(*tested.backend, values, ValueClass::f32, options));
        }
      }
    }
  }
}

TEST_CASE("initialisation counts frozen centroids as chosen", "[variants]") {
  const std::vector<Tested> backends = every_backend();
  for (const Shape shape : {Shape{300, 2, 9}, Shape{400, 35, 24}}) {
    const Matrix<double> values = kinds()[1].make(shape.n, shape.d, 9);
    const std::int64_t frozen = shape.k / 3;
    const Matrix<double> given = copy_of(values.view().middle(7, frozen));
    // Rows that are frozen centroids have distance 0 and are not chosen again.
    Warnings silent;
    const auto points = reference_points(values.view());
    points->prepare(make_plan(*points));
    const auto seeds =
        greedy_kmeans_plus_plus(*points, equal_weights(points->rows()), shape.k - frozen, {4, 0}, silent, given.view());
    CHECK(static_cast<std::int64_t>(seeds.size()) == shape.k - frozen);
    for (const std::int64_t row : seeds) CHECK((row < 7 || row >= 7 + frozen));
    for (const Init init : {Init::kmeans_plus_plus, Init::random, Init::first}) {
      for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
        Matrix<double> directions = copy_of(values.view());
        if (metric == Metric::cosine) write_directions<double>(directions.view(), directions.view(), {"values", 0});
        const KMeansOptions options{.clusters = shape.k,
                                    .init = init,
                                    .frozen = given.view(),
                                    .runs = 2,
                                    .seed = 4,
                                    .metric = metric,
                                    .keep_distances = true};
        const KMeansResult expected = run(*reference_points(directions.view()), options);
        for (const Tested& tested : backends) {
          INFO(tested.name << ", " << name_of(metric) << ", d " << shape.d);
          check_same(expected, on(*tested.backend, directions, ValueClass::f64, options));
        }
      }
    }
  }
}

TEST_CASE("frozen centroids of the wrong shape are refused", "[variants]") {
  const Matrix<double> values = kinds()[0].make(20, 4, 2);
  const auto points = reference_points(values.view());
  const auto refused = [&](std::int64_t k, MatrixView<const double> frozen, const std::string& why) {
    CHECK_THROWS_WITH(run(*points, {.clusters = k, .init = Init::first, .frozen = frozen}), why);
  };
  const Matrix<double> narrow = kinds()[0].make(2, 3, 1), far = kinds()[0].make(1, 4, 1);
  refused(3, narrow.view(), "frozen centroids: expected at most 3 x 4 (clusters, columns), found 2 x 3");
  refused(1, values.view().middle(0, 2), "frozen centroids: expected at most 1 x 4 (clusters, columns), found 2 x 4");
  Matrix<double> away = copy_of(far.view());
  away(0, 0) = 1e160;
  refused(2, std::as_const(away).view(),
          "centroids lie so far from the points that squared distances leave the range of float64; move them closer");
}

TEST_CASE("a run continues with a frozen centroid far from all rows", "[variants]") {
  const Matrix<double> values = kinds()[1].make(500, 3, 2);
  for (const double place : {1e3, 1e9, 1e20}) {
    Matrix<double> away(1, 3);
    std::fill(away.data(), away.data() + 3, place);
    const KMeansOptions options{.clusters = 6, .frozen = std::as_const(away).view(), .tolerance = 0.0};
    const KMeansResult result = run(*reference_points(values.view()), options);
    CHECK(result.counts[0] == 0);
    CHECK(std::count(result.counts.begin(), result.counts.end(), 0) == 1);
    CHECK(result.stopped_by == "labels");
  }
}

TEST_CASE("medoids are the rows nearest to the centroids", "[variants]") {
  const Matrix<double> values = kinds()[0].make(300, 5, 2);
  for (const Tested& tested : every_backend()) {
    const KMeansResult result = on(*tested.backend, values, ValueClass::f32, {.clusters = 8, .keep_medoids = true});
    REQUIRE(result.medoids.rows() == 8);
    for (std::int64_t c = 0; c < 8; ++c) {
      double nearest = INFINITY;
      std::int64_t row = -1;
      for (std::int64_t i = 0; i < 300; ++i) {
        const double distance = reference_distance(values.row(i).data(), result.centroids.row(c).data(), 5);
        if (distance < nearest) nearest = distance, row = i;
      }
      CHECK(result.nearest_row[c] == row);
      CHECK(std::equal(values.row(row).begin(), values.row(row).end(), result.medoids.row(c).begin()));
    }
  }
}
