// Neighbours of a set in itself by looking at each pair once, on every backend that does, against the definition.
#include <cstring>

#include "core/neighbors.h"
#include "tests/cases.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// Lists of all rows by the definition.
NeighborLists defined(const Points& reference, MatrixView<const double> values, const SelfJoin& join) {
  NeighborLists lists(values.rows, join.neighbors);
  reference.search({values, join.include_self ? -1 : 0, join.measure}, lists);
  return lists;
}

bool same(const NeighborLists& a, const NeighborLists& b) {
  const auto size = static_cast<std::size_t>(a.index.size());
  return a.index.size() == b.index.size() &&
         std::memcmp(a.index.data(), b.index.data(), size * sizeof(std::int64_t)) == 0 &&
         std::memcmp(a.distance.data(), b.distance.data(), size * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("lists of all rows equal the definition, each pair looked at once", "[self_join]") {
  const std::vector<Tested> backends = every_backend({.small_joins = true});
  for (const Kind& kind : kinds()) {
    for (const Stored stored : storages(kind)) {
      for (const Shape s : {Shape{1021, 33, 10}, Shape{700, 5, 1}, Shape{515, 260, 3}, Shape{33, 3, 32}}) {
        const Matrix<double> values = kind.make(s.n, s.d, 5);
        const auto reference = reference_points(values.view());
        const DataPlan plan = make_plan(*reference);
        const PointsMatrix rows = stored_as(values.view(), stored);
        for (const bool include_self : {false, true}) {
          const SelfJoin join{.neighbors = s.k, .include_self = include_self};
          const NeighborLists wanted = defined(*reference, values.view(), join);
          for (const Tested& tested : backends) {
            INFO(tested.name << ", " << kind.name << ", " << name_of(stored) << ", n " << s.n << ", d " << s.d << ", k "
                             << s.k << ", with itself " << include_self);
            const auto points = tested.backend->hold({view_of(rows), 0});
            points->prepare(plan);
            const auto found = points->self_join(join);
            if (found) CHECK(same(*found, wanted));
            // Of data without many equal distances.
            if (tested.name == "cuda wgmma" && kind.name == kinds()[0].name && s.n > 500) CHECK(found.has_value());
          }
        }
      }
    }
  }
}

TEST_CASE("a sample of the rows bounds the lists of all", "[self_join]") {
  const Matrix<double> values = kinds()[0].make(6000, 40, 9);
  const PointsMatrix rows = as_class(values.view(), ValueClass::f32);
  const auto reference = reference_points(values.view());
  const DataPlan plan = make_plan(*reference);
  const SelfJoin join{.neighbors = 2};
  const NeighborLists wanted = defined(*reference, values.view(), join);
  for (const Tested& tested : tested_backends({.small_joins = true})) {
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(rows), 0});
    points->prepare(plan);
    const auto found = points->self_join(join);
    if (found) CHECK(same(*found, wanted));
  }
}
