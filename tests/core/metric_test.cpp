// Cosine: normalised rows and centroids by the definition, and k-means of directions on every backend.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/kmeans.h"
#include "core/metric.h"
#include "core/neighbors.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

Matrix<double> copy_of(MatrixView<const double> values) {
  Matrix<double> copy(values.rows, values.columns);
  std::copy(values.data, values.data + values.size(), copy.data());
  return copy;
}

/// dot(x, x) by the definition.
double squared(std::span<const double> x) {
  const std::vector<double> zero(x.size(), 0.0);
  return reference_distance(x.data(), zero.data(), static_cast<std::int64_t>(x.size()));
}

std::string refused(double value, std::int64_t row) {
  Matrix<double> values(5, 3);
  std::fill(values.data(), values.data() + values.size(), 1.0);
  for (double& v : values.row(row)) v = value;
  try {
    normalize_rows(values.view(), {"points.h5:/train", 100});
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::data);
    return error.what();
  }
  return "";
}

/// Directions of the rows, rounded to the class.
PointsMatrix directions(const Matrix<double>& values, ValueClass c) {
  PointsMatrix stored = as_class(values.view(), c);
  if (auto* floats = std::get_if<Matrix<float>>(&stored)) normalize_rows(floats->view(), {"values", 0});
  if (auto* doubles = std::get_if<Matrix<double>>(&stored)) normalize_rows(doubles->view(), {"values", 0});
  return stored;
}

Matrix<double> as_doubles(const PointsMatrix& stored) {
  return std::visit(
      [](const auto& m) {
        Matrix<double> wide(m.rows(), m.columns());
        std::copy(m.data(), m.data() + m.size(), wide.data());
        return wide;
      },
      stored);
}

KMeansResult run_kmeans(Points& points, const KMeansOptions& options) {
  Observer ignored;
  const DataPlan plan = make_plan(points);
  points.prepare(plan);
  return kmeans(points, plan, options, ignored);
}

bool same_bytes(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("normalised rows equal the definition", "[metric]") {
  for (const std::int64_t d : {1, 3, 31, 32, 33, 129, 1025}) {
    for (const int kind : {0, 5, 6, 7, 8, 9}) {
      INFO(kinds()[kind].name << ", d " << d);
      Matrix<double> values = kinds()[kind].make(20, d, 3);
      for (std::int64_t i = 0; i < 20; ++i) values(i, i % d) = values(i, 0) == 0 ? 1.0 : values(i, 0);  // no zero row
      const Matrix<double> wide = as_doubles(directions(values, ValueClass::f64)),
                           narrow = as_doubles(directions(values, ValueClass::f32));
      for (std::int64_t i = 0; i < 20; ++i) {
        const double length = std::sqrt(squared(std::as_const(values).row(i)));
        for (std::int64_t j = 0; j < d; ++j) {
          CHECK(wide(i, j) == values(i, j) / length);
          CHECK(narrow(i, j) == static_cast<double>(static_cast<float>(values(i, j) / length)));
        }
      }
    }
  }
}

TEST_CASE("the error for a row without a direction names the row", "[metric]") {
  CHECK(refused(1e-3, 2).empty());
  CHECK(refused(0.0, 2).find("points.h5:/train: row 103 (counted from 1) is zero") == 0);
  CHECK(refused(-0.0, 4).find("row 105 (counted from 1) is zero") != std::string::npos);
  CHECK(refused(1e-170, 3).find("squared length of row 104") != std::string::npos);
  CHECK(refused(1e160, 0).find("squared length of row 101") != std::string::npos);
}

TEST_CASE("normalising centroids twice gives the same bits", "[metric]") {
  for (const std::int64_t d : {1, 2, 3, 17, 64, 1025}) {
    Matrix<double> centroids = kinds()[0].make(300, d, 4);
    normalize_centroids(centroids.view(), "centroids");
    const Matrix<double> once = copy_of(centroids.view());
    normalize_centroids(centroids.view(), "centroids");
    CHECK(same_bytes(once, centroids));
    for (std::int64_t c = 0; c < 300; ++c) CHECK(std::abs(squared(once.row(c)) - 1) <= 1e-12);
  }
}

TEST_CASE("rows that cancel do not change their centroid", "[metric]") {
  Matrix<double> means(2, 2), before(2, 2);
  means(0, 0) = 0.0, means(0, 1) = 0.0, means(1, 0) = 3.0, means(1, 1) = 4.0;
  before(0, 0) = 0.0, before(0, 1) = -1.0, before(1, 0) = 1.0, before(1, 1) = 0.0;
  normalize_means(means.view(), before.view());
  CHECK(means(0, 0) == 0.0);
  CHECK(means(0, 1) == -1.0);
  CHECK(means(1, 0) == 3.0 / 5);
  CHECK(means(1, 1) == 4.0 / 5);
}

TEST_CASE("cosine k-means equals the definition on every backend", "[metric]") {
  for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
    for (const int kind : {0, 1, 7}) {
      const PointsMatrix stored = directions(kinds()[kind].make(1021, 33, 6), c);
      const Matrix<double> values = as_doubles(stored);
      const KMeansOptions options{.clusters = 11, .seed = 5, .metric = Metric::cosine, .keep_distances = true};
      const KMeansResult expected = run_kmeans(*reference_points(values.view()), options);
      for (std::int64_t i = 0; i < 11; ++i) CHECK(std::abs(squared(expected.centroids.row(i)) - 1) <= 1e-12);
      for (const Tested& tested : every_backend()) {
        INFO(tested.name << ", " << kinds()[kind].name << ", " << name_of(c));
        const auto points = tested.backend->hold({view_of(stored), 0});
        const KMeansResult actual = run_kmeans(*points, options);
        CHECK(actual.labels == expected.labels);
        CHECK(same_bytes(actual.centroids, expected.centroids));
        CHECK(actual.distances == expected.distances);
        CHECK(actual.inertia == expected.inertia);
        CHECK(actual.iterations == expected.iterations);

        Observer ignored;
        Matrix<double> again = copy_of(actual.centroids.view());
        normalize_centroids(again.view(), "centroids");
        CHECK(assign_only(*points, make_plan(*points), again.view(), ignored).labels == expected.labels);
      }
    }
  }
}

// Rows of one direction count as lying on its centroid despite rounding, so relocation does not cycle.
TEST_CASE("k-means with more clusters than directions stops", "[metric]") {
  for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
    const PointsMatrix stored = directions(kinds()[4].make(200, 9, 6), c);  // five different rows
    const auto points = reference_points(as_doubles(stored).view());
    const KMeansResult result =
        run_kmeans(*points, {.clusters = 8, .init = Init::first, .tolerance = 0.0, .metric = Metric::cosine});
    CHECK(result.stopped_by == "labels");
    CHECK(result.empty_clusters == 3);
    CHECK(result.iterations < 10);
  }
}
