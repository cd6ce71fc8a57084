// Cosine: normalised rows and centroids by the definition, and k-means of directions on every backend.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/kmeans/kmeans.h"
#include "core/neighbors/neighbors.h"
#include "core/numbers/metric.h"
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
    write_directions<double>(values.view(), values.view(), {"points.h5:/train", 100});
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::data);
    return error.what();
  }
  return "";
}

/// Directions of the rows of this class.
Matrix<double> directions(const Matrix<double>& values, ValueClass c) {
  Matrix<double> out(values.rows(), values.columns());
  const PointsMatrix stored = as_class(values.view(), c);
  std::visit(
      [&]<class T>(const Matrix<T>& rows) {
        if constexpr (std::is_floating_point_v<T>) write_directions<T>(rows.view(), out.view(), {"values", 0});
      },
      stored);
  return out;
}

KMeansResult run_kmeans(Points& points, const KMeansOptions& options) {
  Observer ignored;
  const DataPlan plan = make_plan(points);
  points.prepare(plan);
  return kmeans(points, plan, options, ignored);
}

template <class T>
Matrix<double> values_of(const Matrix<T>& rows) {
  Matrix<double> wide(rows.rows(), rows.columns());
  std::copy(rows.data(), rows.data() + rows.size(), wide.data());
  return wide;
}
Matrix<double> values_of(const PointsMatrix& rows) {
  return std::visit([](const auto& m) { return values_of(m); }, rows);
}

bool same_bytes(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("directions equal the definition", "[metric]") {
  for (const std::int64_t d : {1, 3, 31, 32, 33, 129, 1025}) {
    for (const int kind : {0, 5, 6, 7, 8, 9}) {
      INFO(kinds()[kind].name << ", d " << d);
      Matrix<double> values = kinds()[kind].make(20, d, 3);
      for (std::int64_t i = 0; i < 20; ++i) values(i, i % d) = values(i, 0) == 0 ? 1.0 : values(i, 0);  // no zero row
      for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
        Matrix<double> rows = values_of(as_class(values.view(), c));
        const Matrix<double> actual = directions(values, c);
        for (std::int64_t i = 0; i < 20; ++i) {
          const double s = 1.0 / std::sqrt(squared(std::as_const(rows).row(i)));
          for (std::int64_t j = 0; j < d; ++j) CHECK(actual(i, j) == rows(i, j) * s);
        }
        // In their own memory.
        write_directions<double>(rows.view(), rows.view(), {"values", 0});
        CHECK(same_bytes(rows, actual));
      }
    }
  }
}

TEST_CASE("rows scaled to length 1 are rounded to their class", "[metric]") {
  Matrix<float> rows(3, 5);
  for (std::int64_t i = 0; i < rows.size(); ++i) rows.data()[i] = static_cast<float>(i % 7) - 2.5F;
  const Matrix<double> before = values_of(as_class(values_of(rows).view(), ValueClass::f32));
  normalize_rows(rows.view(), {"values", 0});
  for (std::int64_t i = 0; i < 3; ++i) {
    const double length = std::sqrt(squared(before.row(i)));
    for (std::int64_t j = 0; j < 5; ++j) CHECK(rows(i, j) == static_cast<float>(before(i, j) / length));
  }
}

TEST_CASE("rows without a direction are dropped if they may be", "[metric]") {
  Matrix<float> rows(4, 2);
  std::fill_n(rows.data(), rows.size(), 3.0F);
  rows(1, 0) = rows(1, 1) = 0.0F;
  rows(2, 1) = std::numeric_limits<float>::infinity();
  Matrix<double> out(4, 2);
  CHECK(write_directions<float>(rows.view(), out.view(), {"values", 0}, {.drops = true}) == 1);
  CHECK((std::isnan(out(1, 0)) && std::isnan(out(1, 1)) && std::isnan(out(2, 0)) && std::isnan(out(2, 1))));
  CHECK((out(0, 0) > 0.7 && out(3, 1) > 0.7));
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
      const Matrix<double> values = directions(kinds()[kind].make(1021, 33, 6), c);
      const KMeansOptions options{.clusters = 11, .seed = 5, .metric = Metric::cosine, .keep_distances = true};
      const KMeansResult expected = run_kmeans(*reference_points(values.view()), options);
      for (std::int64_t i = 0; i < 11; ++i) CHECK(std::abs(squared(expected.centroids.row(i)) - 1) <= 1e-12);
      for (const Tested& tested : every_backend()) {
        INFO(tested.name << ", " << kinds()[kind].name << ", " << name_of(c));
        const auto points = tested.backend->hold({values.view(), 0});
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
    const Matrix<double> values = directions(kinds()[4].make(200, 9, 6), c);  // five different rows
    const auto points = reference_points(values.view());
    const KMeansResult result =
        run_kmeans(*points, {.clusters = 8, .init = Init::first, .tolerance = 0.0, .metric = Metric::cosine});
    CHECK(result.stopped_by == "labels");
    CHECK(result.empty_clusters == 3);
    CHECK(result.iterations < 10);
  }
}
