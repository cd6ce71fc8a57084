// The same points held by the reference and by every backend, for tests that compare operations.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/points/data_plan.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

namespace kith::test {

/// One backend's points under test.
struct Actual {
  std::string name;
  std::unique_ptr<Points> points;
};

/// The reference and every backend, prepared with the same values.
struct Bench {
  Matrix<double> values;
  std::vector<PointsMatrix> stored;
  std::unique_ptr<Points> expected;
  std::vector<Actual> actual;
  DataPlan plan;

  Bench(const Kind& kind, Stored as, Shape shape, const std::vector<Tested>& backends)
      : Bench(kind, std::vector<Stored>{as}, shape, backends) {}
  /// Every backend holds the values in each of these types.
  Bench(const Kind& kind, const std::vector<Stored>& types, Shape shape, const std::vector<Tested>& backends)
      : Bench(kind.make(shape.n, shape.d, 11), types, backends) {}
  Bench(Matrix<double> made, const std::vector<Stored>& types, const std::vector<Tested>& backends)
      : values(std::move(made)), expected(reference_points(values.view())), plan(make_plan(*expected)) {
    expected->prepare(plan);
    for (const Stored as : types) stored.push_back(stored_as(values.view(), as));  // held until the end
    for (std::size_t type = 0; type < types.size(); ++type) {
      for (const Tested& tested : backends) {
        const std::string name = types.size() > 1 ? tested.name + ", " + name_of(types[type]) : tested.name;
        actual.push_back({name, tested.backend->hold({view_of(stored[type]), 0})});
        actual.back().points->prepare(plan);
      }
    }
  }

  /// Calls check(points) for every backend; messages name the backend.
  template <class Check>
  void on_each(const Check& check) const {
    for (const Actual& one : actual) {
      INFO(one.name);
      check(*one.points);
    }
  }
};

/// Checks that lists have the same rows and the same bits of D.
inline void check_same(const NeighborLists& wanted, const NeighborLists& found) {
  const std::int64_t size = wanted.index.size();
  REQUIRE(found.index.size() == size);
  const auto wrong = std::mismatch(wanted.index.data(), wanted.index.data() + size, found.index.data());
  INFO("first wrong neighbour at place " << wrong.first - wanted.index.data());
  CHECK((wrong.first == wanted.index.data() + size));
  CHECK(std::memcmp(wanted.distance.data(), found.distance.data(), size * sizeof(double)) == 0);
}

}  // namespace kith::test
