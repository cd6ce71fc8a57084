// Inner product, Manhattan, Chebyshev: distances and lists equal the definition on every backend.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/neighbors/neighbors.h"
#include "core/numbers/distance.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr Measure kMeasures[] = {Measure::inner_product, Measure::manhattan, Measure::chebyshev};

bool equal_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

/// The same points on the reference and on every backend.
struct Held {
  std::unique_ptr<Points> expected;
  PointsMatrix stored;
  std::vector<std::pair<std::string, std::unique_ptr<Points>>> tested_points;

  Held(const Matrix<double>& values, Stored how, const std::vector<Tested>& backends)
      : expected(reference_points(values.view())), stored(stored_as(values.view(), how)) {
    expected->prepare(make_plan(*expected));
    for (const Tested& tested : backends) {
      tested_points.emplace_back(tested.name, tested.backend->hold({view_of(stored), 0}));
      tested_points.back().second->prepare(make_plan(*expected));
    }
  }

  void check_search(const Queries& queries, std::int64_t k) const {
    NeighborLists correct(queries.values.rows, k);
    expected->search(queries, correct);
    for (const auto& [name, points] : tested_points) {
      INFO(name << ", " << queries.values.rows << " queries, k " << k);
      NeighborLists actual(queries.values.rows, k);
      points->search(queries, actual);
      CHECK(std::equal(correct.index.data(), correct.index.data() + correct.index.size(), actual.index.data()));
      CHECK(equal_bits(correct.distance, actual.distance));
    }
  }

  void check_distances(const Queries& queries) const {
    Matrix<double> correct(queries.values.rows, expected->rows()), actual(queries.values.rows, expected->rows());
    expected->all_distances(queries, correct.view());
    for (const auto& [name, points] : tested_points) {
      INFO(name);
      points->all_distances(queries, actual.view());
      CHECK(equal_bits(correct, actual));
    }
  }
};

}  // namespace

TEST_CASE("distances in core/ equal those of the reference in every lane") {
  for (const Measure measure : kMeasures) {
    for (const std::int64_t d : {1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 64, 100}) {
      const Matrix<double> rows = kinds()[1].make(2, d, 5);
      INFO(static_cast<int>(measure) << ", d " << d);
      CHECK(distance_by(measure, rows.row(0).data(), rows.row(1).data(), d) ==
            reference_distance(measure, rows.row(0).data(), rows.row(1).data(), d));
    }
  }
  const double x[] = {1, -2, 0}, y[] = {3, 4, -5};
  CHECK(distance_by(Measure::inner_product, x, y, 3) == 5);
  CHECK(distance_by(Measure::manhattan, x, y, 3) == 13);
  CHECK(distance_by(Measure::chebyshev, x, y, 3) == 6);
  CHECK_FALSE(std::signbit(distance_by(Measure::inner_product, x, x + 2, 1)));  // 1 * 0 gives 0, not -0
}

TEST_CASE("distances and lists equal the definition for every measure") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : kinds()) {
    for (const Stored stored : storages(kind)) {
      for (const std::int64_t d : {3, 41}) {
        const std::int64_t n = 150;
        const Matrix<double> values = kind.make(n, d, 7);
        const Held held(values, stored, backends);
        const Matrix<double> others = centroids_near(values.view(), 20);
        for (const Measure measure : kMeasures) {
          INFO(kind.name << ", " << name_of(stored) << ", d " << d << ", measure " << static_cast<int>(measure));
          held.check_distances({others.view(), -1, measure});
          held.check_search({others.view(), -1, measure}, 10);
          held.check_search({values.view().middle(n - 12, 12), n - 12, measure}, n - 1);
        }
      }
    }
  }
}

TEST_CASE("lists are exact for few queries and k up to n among several tiles of rows") {
  const std::vector<Tested> backends = every_backend();
  for (const int kind : {1, 2, 4, 5}) {
    const Matrix<double> values = kinds()[kind].make(1100, 12, 3);
    const Held held(values, Stored::float32, backends);
    const Matrix<double> queries = centroids_near(values.view(), 20);
    for (const Measure measure : kMeasures) {
      INFO(kinds()[kind].name << ", measure " << static_cast<int>(measure));
      for (const std::int64_t count : {1, 19, 20})
        held.check_search({queries.view().middle(0, count), -1, measure}, 10);
      for (const std::int64_t k : {1, 1099, 1100}) held.check_search({queries.view().middle(0, 3), -1, measure}, k);
    }
  }
}

TEST_CASE("merged lists of two blocks equal the lists of all rows") {
  const Matrix<double> values = kinds()[1].make(301, 9, 3);
  const auto whole = reference_points(values.view());
  const DataPlan plan = make_plan(*whole);
  for (const Tested& tested : every_backend()) {
    INFO(tested.name);
    const PointsMatrix first = as_class(values.view().middle(0, 200), ValueClass::f64),
                       rest = as_class(values.view().middle(200, 101), ValueClass::f64);
    for (const Measure measure : kMeasures) {
      NeighborLists correct(40, 7), actual(40, 7);
      const Queries queries{values.view().middle(180, 40), 180, measure};
      whole->search(queries, correct);
      for (const auto& [rows, at] : {std::pair{&first, 0}, std::pair{&rest, 200}}) {
        const auto points = tested.backend->hold({view_of(*rows), at});
        points->prepare(plan);
        points->search(queries, actual);
      }
      CHECK(std::equal(correct.index.data(), correct.index.data() + correct.index.size(), actual.index.data()));
    }
  }
}

TEST_CASE("data whose inner products may leave the range of float64 are refused") {
  Matrix<double> values(2, 1);
  values(0, 0) = 1e150;
  values(1, 0) = -1e150;
  Matrix<double> queries(1, 1);
  queries(0, 0) = 1e200;
  const auto base = reference_points(values.view());
  CHECK_THROWS_WITH(check_queries(*base, PointsView(queries.view()), Measure::inner_product),
                    "inner products of these values may reach inf, beyond the range of float64; divide the values by a "
                    "power of two");
  CHECK_NOTHROW(check_queries(*base, PointsView(values.view()), Measure::inner_product));
  CHECK_NOTHROW(check_queries(*base, PointsView(queries.view()), Measure::manhattan));

  values(0, 0) = values(1, 0) = queries(0, 0) = 1e-140;
  const auto tiny = reference_points(values.view());
  CHECK_THROWS_WITH(
      check_queries(*tiny, PointsView(queries.view()), Measure::inner_product),
      "inner products of these values may reach 1e-280, so that most leave the range of float64; multiply "
      "the values by a power of two");
  queries(0, 0) = 0.0;
  CHECK_NOTHROW(check_queries(*tiny, PointsView(queries.view()), Measure::inner_product));
}
