// Trees and cells over the rows of a search: on every backend the lists are those of the definition, and a query
// computes few distances where the rows have few columns or are in clusters.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/points/composed_points.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr ForcedPaths kForceTrees{.trees = true};
constexpr ForcedPaths kForceCells{.cells = true};

void check(const Bench& bench, const Queries& queries, std::int64_t k) {
  NeighborLists expected_lists(queries.values.rows, k);
  bench.expected->search(queries, expected_lists);
  bench.on_each([&](const Points& points) {
    for (int turn = 0; turn < 2; ++turn) {  // the second turn has the tree of the first
      INFO("k " << k << ", turn " << turn);
      NeighborLists actual_lists(queries.values.rows, k);
      points.search(queries, actual_lists);
      check_same(expected_lists, actual_lists);
    }
  });
}

Matrix<double> copy_of(MatrixView<const double> values) {
  Matrix<double> copy(values.rows, values.columns);
  std::copy_n(values.data, values.size(), copy.data());
  return copy;
}

/// Rows around 50 centres at a distance of the order of 16, in float32.
Matrix<double> clusters(std::int64_t n, std::int64_t d, std::uint64_t seed, double spread) {
  const Matrix<double> centers = kinds()[1].make(50, d, seed), noise = kinds()[1].make(n, d, seed + 1);
  Matrix<double> values(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      values(i, j) = static_cast<float>(16 * centers(i % 50, j) + spread * noise(i, j));
    }
  }
  return values;
}
Matrix<double> loose_clusters(std::int64_t n, std::int64_t d, std::uint64_t seed) { return clusters(n, d, seed, 0.1); }
Matrix<double> tight_clusters(std::int64_t n, std::int64_t d, std::uint64_t seed) { return clusters(n, d, seed, 0.01); }

/// One row in a thousand is 10^4 times as long.
Matrix<double> outliers(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 7; i < n; i += 1000) {
    for (double& v : values.row(i)) v = static_cast<float>(1e4 * v);
  }
  return values;
}
/// Columns of very different scale.
Matrix<double> scales(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    values(i, 0) = static_cast<float>(1e4 * values(i, 0));
    values(i, d - 1) = static_cast<float>(100 * values(i, d - 1));
  }
  return values;
}
/// Few different values, so that most distances tie.
Matrix<double> coarse_grid(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] = std::nearbyint(3 * values.data()[i]) + 0.0;
  return values;
}

const std::vector<Kind>& structured_kinds() {
  static const std::vector<Kind> table{{"loose clusters", true, loose_clusters},
                                       {"tight clusters", true, tight_clusters},
                                       {"outliers", true, outliers},
                                       {"scales", true, scales},
                                       {"coarse grid", true, coarse_grid, true}};
  return table;
}

std::vector<Tested> gpus(const ForcedPaths& forced) {
  std::vector<Tested> backends = tested_backends({}, forced);
  std::erase_if(backends, [](const Tested& each) { return each.name.rfind("cuda", 0) != 0; });
  return backends;
}

/// Every backend twice: with trees, and with cells.
std::vector<Tested> trees_and_cells() {
  std::vector<Tested> backends = tested_backends({}, kForceTrees);
  for (Tested& each : tested_backends({}, kForceCells))
    backends.push_back({each.name + ", cells", std::move(each.backend)});
  return backends;
}

void check_kinds(const std::vector<Kind>& tested, const std::vector<Shape>& shapes) {
  const std::vector<Tested> backends = trees_and_cells();
  for (const Kind& kind : tested) {
    for (const Shape s : shapes) {
      for (const Stored stored : storages(kind)) {
        INFO(kind.name << ", " << name_of(stored) << ", n " << s.n << ", d " << s.d);
        const Bench bench(kind, stored, s, backends);
        const MatrixView<const double> rows = bench.values.view();
        const Matrix<double> queries = centroids_near(rows, 20);
        check(bench, {queries.view()}, s.k);
        const std::int64_t count = std::min<std::int64_t>(40, s.n);
        check(bench, {rows.middle(s.n - count, count)}, s.k);
        if (s.k < s.n) check(bench, {rows.middle(s.n - count, count), s.n - count}, s.k);
      }
    }
  }
}

}  // namespace

// Whole and partial leaves, one level of boxes and several, lists in one register and in four.
TEST_CASE("neighbours in trees and cells equal the definition", "[search][cells]") {
  check_kinds(kinds(), {{1, 1, 1},
                        {31, 2, 5},
                        {32, 4, 32},
                        {33, 3, 33},
                        {1024, 5, 10},
                        {1025, 1, 128},
                        {1100, 8, 100},
                        {700, 16, 1},
                        {700, 17, 10},
                        {1021, 33, 20},
                        {300, 130, 7},
                        {260, 512, 10},
                        {260, 513, 10},
                        {200, 784, 40},
                        {100, 3840, 10},
                        {100, 3841, 10}});
}

TEST_CASE("neighbours of structured rows in trees and cells equal the definition", "[search][cells]") {
  check_kinds(structured_kinds(), {{5000, 3, 10}, {5000, 40, 100}, {2000, 128, 10}, {3000, 2, 1}, {1500, 784, 10}});
}

/// Half of the rows are in a dense blob, which is among the others.
Matrix<double> blob_in_noise(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 0; i < n; i += 2) {
    for (double& v : values.row(i)) v = static_cast<float>(1.0 + 0.01 * v);
  }
  return values;
}
/// Three dense blobs.
Matrix<double> three_blobs(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> values = kinds()[1].make(n, d, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    for (double& v : values.row(i)) v = static_cast<float>(static_cast<double>(i % 3) + 0.01 * v);
  }
  return values;
}

const std::vector<Kind>& dense_kinds() {
  static const std::vector<Kind> table{{"blob in noise", true, blob_in_noise}, {"three blobs", true, three_blobs}};
  return table;
}

// Cells of all rows, and of rows that repeat.
TEST_CASE("neighbours of dense blobs in trees and cells equal the definition", "[search][cells]") {
  check_kinds(dense_kinds(), {{9000, 24, 10}, {9000, 72, 128}, {1500, 784, 10}});
}

/// Compares lists of some rows of a join with the definition.
void check_join(const Bench& bench, std::int64_t k, bool include_self, bool must_join) {
  constexpr std::int64_t kChecked = 40;
  const MatrixView<const double> rows = bench.values.view();
  const std::int64_t count = std::min(kChecked, rows.rows);
  for (const Actual& actual : bench.actual) {
    const auto found = actual.points->self_join({.neighbors = k, .include_self = include_self});
    INFO(actual.name << ", k " << k << (include_self ? ", each row in its own list" : ""));
    if (must_join) REQUIRE(found.has_value());
    if (!found) continue;
    for (const std::int64_t first : {std::int64_t{0}, (rows.rows - count) / 2, rows.rows - count}) {
      NeighborLists expected(count, k), part(count, k);
      bench.expected->search({rows.middle(first, count), include_self ? -1 : first}, expected);
      std::copy_n(found->distance.row(first).data(), part.distance.size(), part.distance.data());
      std::copy_n(found->index.row(first).data(), part.index.size(), part.index.data());
      check_same(expected, part);
    }
  }
}

/// GPUs, each alone and as three parts.
std::vector<Tested> gpus_and_parts(const ForcedPaths& forced) {
  std::vector<Tested> all = gpus(forced);
  for (const BackendEntry& entry : backends()) {
    if (!entry.has_gpus || !entry.missing({}).empty()) continue;
    std::vector<std::unique_ptr<Backend>> parts;
    for (int p = 0; p < 3; ++p) parts.push_back(entry.open(options_of_part(entry, p), forced));
    all.push_back({std::string(entry.name) + ", three parts", std::make_unique<ComposedBackend>(std::move(parts), 16)});
  }
  return all;
}

// Rows of the device as queries: in all rows, and in cells of them, where those of a part begin within a tile.
TEST_CASE("joins of rows on the device equal the definition", "[search][cells]") {
  for (const ForcedPaths& forced : {ForcedPaths{}, kForceCells}) {
    const std::vector<Tested> tested = gpus_and_parts(forced);
    if (tested.empty()) return;
    const auto check_all = [&](const std::vector<Kind>& some, Shape s, bool must_join) {
      for (const Kind& kind : some) {
        for (const Stored stored : storages(kind)) {
          INFO(kind.name << ", " << name_of(stored) << ", n " << s.n << ", d " << s.d
                         << (forced.cells ? ", cells" : ""));
          const Bench bench(kind, stored, s, tested);
          check_join(bench, s.k, false, must_join);
          check_join(bench, 1, true, must_join);
        }
      }
    };
    for (const Shape s : {Shape{2, 40, 1}, Shape{1021, 33, 20}, Shape{2000, 130, 10}}) check_all(kinds(), s, false);
    for (const Shape s : {Shape{5000, 40, 100}, Shape{3001, 128, 10}}) check_all(structured_kinds(), s, false);
    check_all(dense_kinds(), {9000, 72, 10}, forced.cells);
  }
}

TEST_CASE("lists of structured rows equal the definition on the path that a backend prefers", "[search]") {
  const std::vector<Tested> backends = every_backend();
  for (const Kind& kind : structured_kinds()) {
    for (const Shape s : {Shape{20011, 3, 10}, Shape{20011, 40, 100}, Shape{9000, 128, 10}}) {
      INFO(kind.name << ", n " << s.n << ", d " << s.d);
      const Bench bench(kind, Stored::float32, s, backends);
      const MatrixView<const double> rows = bench.values.view();
      const Matrix<double> queries = centroids_near(rows, 30);
      check(bench, {queries.view()}, s.k);
      check(bench, {rows.middle(0, 30), 0}, s.k);  // one of them is an outlier
    }
  }
}

TEST_CASE("queries far outside trees and cells equal the definition", "[search][cells]") {
  const std::vector<Tested> backends = trees_and_cells();
  for (const Stored stored : {Stored::float32, Stored::float64}) {
    const Bench bench(kinds()[0], stored, {3000, 5, 10}, backends);
    for (const double far : {1e2, 1e15, 1e30, 1e39, 1e100}) {
      INFO(name_of(stored) << ", at " << far);
      Matrix<double> queries = centroids_near(bench.values.view(), 20);
      for (std::int64_t q = 0; q < 20; q += 3) {
        for (double& v : queries.row(q)) v += q % 2 == 0 ? far : -far;
      }
      check(bench, {std::as_const(queries).view()}, 10);
    }
  }
}

// Rows of many columns without structure: a query gives up and becomes a fallback query.
TEST_CASE("queries that would visit much of a tree equal the definition", "[search][cells]") {
  const std::vector<Tested> backends = trees_and_cells();
  const Bench bench(kinds()[1], Stored::float32, {20'000, 40, 10}, backends);
  const MatrixView<const double> rows = bench.values.view();
  for (const std::int64_t k : {10, 100}) check(bench, {rows.middle(0, 40), 0}, k);
}

// Every row is repeated: more rows tie than a list has entries, and the lowest row numbers win. Also without memory for
// cells, which such rows need.
TEST_CASE("repeated rows in trees and cells equal the definition", "[search][cells]") {
  const std::vector<Tested> backends = trees_and_cells(), others = tested_backends();
  static std::int64_t different = 0;  // the maker of a kind has no other arguments
  const Kind repeated{"repeated rows", true, [](std::int64_t n, std::int64_t d, std::uint64_t seed) {
                        Matrix<double> values = kinds()[1].make(n, d, seed);
                        for (std::int64_t i = different; i < n; ++i) {
                          const auto from = values.row(i % different);
                          std::copy(from.begin(), from.end(), values.row(i).begin());
                        }
                        return values;
                      }};
  for (const std::int64_t count : {1, 3, 300}) {
    different = count;
    const Bench bench(repeated, Stored::float32, {12'000, 4, 10}, backends);
    const Bench without(repeated, Stored::float32, {12'000, 4, 10}, others);
    for (const std::int64_t k : {1, 10, 100}) {
      check(bench, {bench.values.view().middle(500, 40), 500}, k);
      check(without, {.values = without.values.view().middle(500, 40), .excluded_row = 500, .cell_bytes = 0}, k);
    }
  }
}

// The last queries of a batch are fewer, some exclude themselves, some find only rows as far as those that they have,
// and some give up.
TEST_CASE("many queries in a tree equal the definition", "[search][cells]") {
  const std::vector<Tested> backends = gpus(kForceTrees);
  if (backends.empty()) return;
  std::vector<Kind> tested = structured_kinds();
  tested.push_back(kinds()[0]);
  for (const Kind& kind : tested) {
    for (const Shape s : {Shape{3000, 33, 10}, Shape{2000, 130, 100}, Shape{700, 512, 1}}) {
      for (const Stored stored : storages(kind)) {
        INFO(kind.name << ", " << name_of(stored) << ", n " << s.n << ", d " << s.d);
        const Bench bench(kind, stored, s, backends);
        const MatrixView<const double> rows = bench.values.view();
        const Matrix<double> queries = centroids_near(rows, 261);
        check(bench, {queries.view()}, s.k);
        check(bench, {rows.middle(100, 300), 100}, s.k);
      }
    }
  }
  const Bench noise(kinds()[1], Stored::float32, {20'000, 40, 10}, backends);
  for (const std::int64_t k : {10, 100}) check(noise, {noise.values.view().middle(0, 300), 0}, k);
}

TEST_CASE("trees and cells over blocks of the base merge into the same lists", "[search][cells]") {
  const std::vector<Tested> backends = trees_and_cells();
  for (const Kind& kind : {kinds()[0], kinds()[2], kinds()[3]}) {
    const Matrix<double> values = kind.make(2100, 3, 5);
    const std::unique_ptr<Points> whole = reference_points(values.view());
    const DataPlan plan = make_plan(*whole);
    whole->prepare(plan);
    for (const std::int64_t k : {1, 10, 100}) {
      INFO(kind.name << ", k " << k);
      const Queries queries{values.view().middle(890, 40), 890};  // rows of two blocks
      NeighborLists expected_lists(40, k);
      whole->search(queries, expected_lists);
      for (const Tested& tested : backends) {
        INFO(tested.name);
        NeighborLists actual_lists(40, k);
        for (const auto& [first, count] : {std::pair{1400, 700}, std::pair{0, 900}, std::pair{900, 500}}) {
          const Matrix<double> part = copy_of(values.view().middle(first, count));
          const PointsMatrix stored = stored_as(part.view(), Stored::float32);
          const auto points = tested.backend->hold({view_of(stored), first});
          points->prepare(plan);
          points->search(queries, actual_lists);
        }
        check_same(expected_lists, actual_lists);
      }
    }
  }
}

// Counts of the work: a tree whose boxes are wrong gives right lists slowly.
TEST_CASE("a query computes few distances in a tree of boxes", "[search][cells]") {
  const std::vector<Tested> backends = trees_and_cells();
  struct Bound {
    Kind kind;
    Shape shape;
    std::int64_t candidates;  // per query
  };
  for (const Bound& bound :
       {Bound{kinds()[1], {50'000, 1, 10}, 100}, Bound{kinds()[1], {50'000, 3, 10}, 600},
        Bound{kinds()[3], {50'000, 3, 10}, 100}, Bound{structured_kinds()[0], {20'000, 64, 10}, 1600},
        Bound{structured_kinds()[1], {20'000, 64, 10}, 1600}, Bound{structured_kinds()[3], {20'000, 2, 10}, 600}}) {
    INFO(bound.kind.name << ", d " << bound.shape.d);
    const Bench bench(bound.kind, Stored::float32, bound.shape, backends);
    for (const Actual& actual : bench.actual) {
      if (actual.name.rfind("cuda", 0) != 0) continue;  // the backends with trees
      for (const std::int64_t queries : {200, 400}) {
        NeighborLists actual_lists(queries, bound.shape.k);
        actual.points->search({bench.values.view().middle(1000, queries), 1000}, actual_lists);
        CHECK(actual_lists.fallback_queries == 0);
        CHECK(actual_lists.candidates > 0);
        CHECK(actual_lists.candidates <= queries * bound.candidates);
      }
    }
  }
}

// In fp16 the rows of a dense blob are all alike, unless its center is subtracted first.
TEST_CASE("a query computes few distances where rows are in dense blobs", "[search][cells]") {
  for (const Tested& tested : tested_backends({}, kForceCells)) {
    if (tested.name.rfind("cuda", 0) != 0) continue;  // the CPU's cells have their own bound (structured_work_test)
    for (const Kind& kind : dense_kinds()) {
      INFO(tested.name << ", " << kind.name);
      const Matrix<double> values = kind.make(120'000, 64, 11);
      const PointsMatrix stored = stored_as(values.view(), Stored::float32);
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(make_plan(*points));
      NeighborLists actual_lists(2000, 10);
      points->search({values.view().middle(1000, 2000), 1000}, actual_lists);
      CHECK(actual_lists.fallback_queries == 0);
      CHECK(actual_lists.candidates <= 2000 * 200);
    }
  }
}
