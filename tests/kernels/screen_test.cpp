// Screens on data that challenges their certificate: labels and distances must be those of the definition on every
// path.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/numbers/screen.h"
#include "core/points/data_plan.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"
#include "tests/support/truncation.h"

using namespace kith;
using namespace kith::test;

namespace {

/// An approximately normal number, determined by the arguments.
double noise(std::uint64_t seed, std::int64_t i, std::int64_t j) { return 2 * centered_sum(seed, i, j); }

double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

template <class Value>
Matrix<double> filled(std::int64_t rows, std::int64_t columns, const Value& value) {
  Matrix<double> m(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) m(i, j) = value(i, j);
  }
  return m;
}

/// Points and centroids of one test.
struct Problem {
  Matrix<double> points;     // (n, d)
  Matrix<double> centroids;  // (k, d)
};

using MakeProblem = Problem (*)(Shape);

/// Points halfway between two centroids, except for a fraction closeness(i) towards either. The centroids lie close
/// together, so many of them compete.
template <class Closeness>
Problem halfway(Shape s, std::uint64_t seed, const Closeness& closeness) {
  Problem problem;
  problem.centroids = filled(s.k, s.d, [&](auto c, auto j) { return as_float(noise(seed, c, j)); });
  const auto& at = problem.centroids;
  problem.points = filled(s.n, s.d, [&](auto i, auto j) {
    const std::int64_t a = i % s.k, b = (i * 7 + 1) % s.k;
    const double side = static_cast<double>(i % 5 - 2) * closeness(i);
    return as_float((at(a, j) + at(b, j)) / 2 + side * (at(a, j) - at(b, j)));
  });
  return problem;
}
/// From one part in 10 to one in 10^8: on both sides of what a screen can certify.
Problem ties_of_all_degrees(Shape s) {
  return halfway(s, 18, [](std::int64_t i) { return std::pow(10.0, -1 - 0.1 * static_cast<double>(i % 71)); });
}
Problem near_ties(Shape s) {
  return halfway(s, 1, [](std::int64_t) { return 1e-7; });
}
/// Pairs of centroids one part in 10^12 apart.
Problem nearest_ties(Shape s) {
  Problem problem = near_ties(s);
  auto& at = problem.centroids;
  for (std::int64_t c = 1; c < s.k; c += 2) {
    for (std::int64_t j = 0; j < s.d; ++j) at(c, j) = at(c - 1, j) * (1 + 1e-12 * noise(2, c, j));
  }
  return problem;
}

Problem far_from_zero(Shape s) {
  return {filled(s.n, s.d, [](auto i, auto j) { return as_float(1e6 + noise(3, i, j)); }),
          filled(s.k, s.d, [](auto c, auto j) { return 1e6 + noise(4, c, j) / 2; })};
}

/// Columns from 1e-6 to 1e6. The centroids come in threes that are equal in the largest columns.
Problem columns_of_all_scales(Shape s) {
  Problem problem;
  problem.centroids = filled(s.k, s.d, [](auto c, auto j) { return noise(5, j % 13 == 12 ? c / 3 : c, j); });
  const auto& at = problem.centroids;
  const auto scale = [&](std::int64_t j) { return std::pow(10.0, static_cast<double>(j % 13 - 6)); };
  problem.points = filled(s.n, s.d, [&](auto i, auto j) {
    const double between = (at(i % s.k, j) + at((i + 1) % s.k, j)) / 2;
    return as_float(scale(j) * (between + 1e-3 * noise(6, i, j)));
  });
  for (std::int64_t c = 0; c < s.k; ++c) {
    for (std::int64_t j = 0; j < s.d; ++j) problem.centroids(c, j) *= scale(j);
  }
  return problem;
}

/// Few clusters far apart, each of many centroids that fp16 hardly separates.
Problem tight_clusters(Shape s) {
  const auto center = [](std::int64_t c, std::int64_t j) { return 10 * noise(18, c % 5, j); };
  return {filled(s.n, s.d, [&](auto i, auto j) { return as_float(center(i, j) + noise(19, i, j)); }),
          filled(s.k, s.d, [&](auto c, auto j) { return center(c, j) + noise(20, c, j); })};
}

/// Centroids up to 1e7 times as far away as the points: their fp16 values overflow.
Problem far_centroids(Shape s) {
  return {filled(s.n, s.d, [](auto i, auto j) { return as_float(noise(8, i, j)); }),
          filled(s.k, s.d, [](auto c, auto j) {
            return noise(9, c, j) * (c % 3 == 0 ? 1.0 : std::pow(10.0, static_cast<double>(c % 8)));
          })};
}

/// One large column; the columns that separate the clusters underflow in fp16.
Problem vanishing_columns(Shape s) {
  return {filled(s.n, s.d, [](auto i, auto j) { return as_float(j == 0 ? noise(10, i, j) : 1e-11 * noise(11, i, j)); }),
          filled(s.k, s.d, [](auto c, auto j) { return j == 0 ? noise(10, c % 3, j) : 1e-11 * noise(12, c, j); })};
}

/// Every row and every centroid several times: ties go to the lowest index.
Problem repeated(Shape s) {
  return {filled(s.n, s.d, [](auto i, auto j) { return as_float(noise(13, i % 11, j)); }),
          filled(s.k, s.d, [&](auto c, auto j) { return as_float(noise(13, (s.k - c) % 5, j)); })};
}

/// Integers, so that many distances are exactly equal.
Problem lattice(Shape s) {
  return {filled(s.n, s.d, [](auto i, auto j) { return std::floor(noise(14, i, j)); }),
          filled(s.k, s.d, [](auto c, auto j) { return std::floor(noise(15, c, j)) + 0.5; })};
}

/// Two centroids at exactly the same distance from a row, one of them longer; either may come first.
Problem ties_of_lengths(Shape s) {
  const auto row = [](std::int64_t m, std::int64_t j) { return 4 * std::floor(8 * noise(21, m, j)); };
  const std::int64_t pairs = (s.k + 1) / 2;
  return {filled(s.n, s.d, [&](auto i, auto j) { return row(i % pairs, j); }), filled(s.k, s.d, [&](auto c, auto j) {
            const std::int64_t m = c / 2, sign = (c + m) % 2 == 0 ? 1 : -1;
            return row(m, j) * (1 + static_cast<double>(sign * (m % 3 + 1)) / 4);
          })};
}

/// Tensor cores lose small products beside a large one. Rows come with their negatives, so the screen's center is 0 and
/// fp16 represents rows and centroids exactly: only the accumulation has errors.
Problem lost_products(Shape s) {
  const Matrix<double> rows = truncating_rows({s.n, s.d}), centroids = truncating_centroids({s.k, s.d});
  return {
      filled(s.n, s.d,
             [&](auto i, auto j) { return i == s.n - 1 && s.n % 2 == 1 ? 0.0 : (i % 2 ? -1 : 1) * rows(i / 2, j); }),
      filled(s.k, s.d, [&](auto c, auto j) { return (c % 2 ? -1 : 1) * centroids(c / 2, j); })};
}

/// Centroids so close together that quantized scores certify few rows.
Problem dense_centroids(Shape s) {
  return {filled(s.n, s.d, [](auto i, auto j) { return as_float(noise(20, i, j)); }),
          filled(s.k, s.d, [](auto c, auto j) { return as_float(noise(20, c, j)); })};
}

/// A search for the points nearest to the centroids, with enough rows for the fp16 search of a GPU, and its lists.
struct ExpectedSearch {
  MatrixView<const double> queries;
  NeighborLists expected;

  ExpectedSearch(const Points& reference, const Problem& problem)
      : queries(problem.centroids.view().middle(0, std::min<std::int64_t>(problem.centroids.rows(), 100))),
        expected(empty(problem.points.rows())) {
    reference.search({queries}, expected);
  }
  NeighborLists empty(std::int64_t n) const { return {queries.rows, std::clamp<std::int64_t>(n / 65, 1, 10)}; }
  void check(const Points& points) const {
    NeighborLists result = empty(points.rows());
    points.search({queries}, result);
    const std::int64_t size = expected.index.size();
    const auto wrong = std::mismatch(expected.index.data(), expected.index.data() + size, result.index.data());
    INFO("first wrong neighbour at place " << wrong.first - expected.index.data());
    CHECK((wrong.first == expected.index.data() + size));
    CHECK(std::memcmp(expected.distance.data(), result.distance.data(), size * sizeof(double)) == 0);
  }
};

void check_one(const Problem& problem, const std::vector<Stored>& storages, const std::vector<Tested>& backends) {
  const std::int64_t n = problem.points.rows(), k = problem.centroids.rows();
  const auto reference = reference_points(problem.points.view());
  const DataPlan plan = make_plan(*reference);
  reference->prepare(plan);
  const AssignRequest request{problem.centroids.view()};
  const MeasureRequest measured{problem.centroids.view(), inertia_scale(plan, problem.centroids.view()), term_bits(n)};
  std::vector<Limbs> inertia(k);
  Assignment expected(k);
  reference->assign(request, expected);
  std::vector<std::int32_t> labels(n), result_labels(n);
  std::vector<double> distances(n), result_distances(n);
  reference->measure(measured, inertia);
  reference->labels(labels);
  reference->distances(distances);
  const ExpectedSearch lists(*reference, problem);
  for (const Stored as : storages) {
    const PointsMatrix stored = stored_as(problem.points.view(), as);
    for (const Tested& tested : backends) {
      INFO(tested.name << ", " << name_of(as));
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(plan);
      Assignment result(k);
      points->assign(request, result);
      std::vector<Limbs> result_inertia(k);
      points->measure(measured, result_inertia);
      points->labels(result_labels);
      points->distances(result_distances);
      const auto wrong = std::mismatch(labels.begin(), labels.end(), result_labels.begin());
      INFO("first wrong label at row " << wrong.first - labels.begin());
      CHECK((wrong.first == labels.end()));
      CHECK(std::memcmp(distances.data(), result_distances.data(), n * sizeof(double)) == 0);
      CHECK(result.counts == expected.counts);
      CHECK(std::equal(inertia.begin(), inertia.end(), result_inertia.begin(),
                       [](const Limbs& a, const Limbs& b) { return a.high == b.high && a.low == b.low; }));
      lists.check(*points);
    }
  }
}

void check(MakeProblem make, const std::vector<Stored>& storages, const std::vector<Shape>& shapes) {
  const std::vector<Tested> backends = every_backend();
  for (const Shape s : shapes) {
    INFO("n " << s.n << ", d " << s.d << ", k " << s.k);
    check_one(make(s), storages, backends);
  }
}

const std::vector<Stored> kBoth{Stored::float32, Stored::float64};

/// Rows and clusters around the sizes of tiles; columns around multiples of 64 and the supported layouts; few clusters,
/// and enough for group minima on GPUs; rows of few columns.
const std::vector<Shape> kShapes{{1, 1, 1},
                                 {31, 2, 3},
                                 {33, 17, 1},
                                 {129, 63, 1021},
                                 {1021, 3, 1021},
                                 {1021, 65, 7},
                                 {129, 128, 64},
                                 {129, 320, 33},
                                 {33, 448, 129},
                                 {257, 770, 9},
                                 {129, 1025, 7},
                                 {129, 31, 129},
                                 {129, 128, 1021},
                                 {129, 129, 1100},
                                 {33, 320, 1600},
                                 // few columns and few centroids, around the limit of 16 numbered columns
                                 {1021, 1, 40},
                                 {1021, 2, 17},
                                 {700, 4, 33},
                                 {700, 5, 16},
                                 {257, 8, 130},
                                 {700, 6, 100},
                                 {515, 7, 128},
                                 {300, 3, 513},
                                 {700, 16, 100},
                                 {130, 15, 1000},
                                 {600, 64, 10}};

}  // namespace

TEST_CASE("ties of all degrees", "[screen]") { check(ties_of_all_degrees, kBoth, kShapes); }
TEST_CASE("near ties, one part in 1e7 apart", "[screen]") { check(near_ties, kBoth, kShapes); }
TEST_CASE("near ties, one part in 1e12 apart", "[screen]") { check(nearest_ties, kBoth, kShapes); }
TEST_CASE("points 1e6 from zero, 1 apart", "[screen]") { check(far_from_zero, kBoth, kShapes); }
TEST_CASE("columns of all scales", "[screen]") { check(columns_of_all_scales, kBoth, kShapes); }
TEST_CASE("centroids that overflow in fp16", "[screen]") { check(far_centroids, kBoth, kShapes); }
TEST_CASE("columns that underflow in fp16", "[screen]") { check(vanishing_columns, kBoth, kShapes); }
TEST_CASE("repeated rows and centroids", "[screen]") { check(repeated, kBoth, kShapes); }
TEST_CASE("exact ties on a lattice", "[screen]") {
  check(lattice, {Stored::float32, Stored::float64, Stored::bytes}, kShapes);
}

TEST_CASE("exact ties between centroids of different lengths", "[screen]") { check(ties_of_lengths, kBoth, kShapes); }

TEST_CASE("small products beside large ones", "[screen]") {
  std::vector<Shape> shapes = kShapes;
  for (const std::int64_t d : {16, 31, 256, 700, 2048, 4097}) shapes.push_back({641, d, 330});
  for (const std::int64_t d : {16, 64, 128, 200}) shapes.push_back({257, d, 1200});
  check(lost_products, kBoth, shapes);
}

TEST_CASE("few columns against many centroids", "[screen]") {
  check(dense_centroids, {Stored::float32}, {{6007, 2, 4096}, {2003, 1, 6500}});
}

TEST_CASE("tight clusters of many centroids each", "[screen]") {
  check(tight_clusters, {Stored::float32}, {{1021, 128, 1100}, {515, 300, 320}, {515, 64, 1500}, {1021, 96, 40}});
}

// A screen that certifies nothing would pass all tests above.
TEST_CASE("rows of separate clusters are certified on every path", "[screen]") {
  const Shape s{1021, 72, 40};  // enough for low-precision screens on the CPU
  const auto center = [](std::int64_t c, std::int64_t j) { return 30 * noise(16, c, j); };
  const Matrix<double> values =
      filled(s.n, s.d, [&](auto i, auto j) { return as_float(center(i % s.k, j) + noise(17, i, j)); });
  const Matrix<double> centroids = filled(s.k, s.d, center);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  for (const Tested& tested : every_backend()) {
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0});
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    Assignment result(s.k);
    points->assign({centroids.view()}, result);
    CHECK(result.screened == s.n);
    CHECK(result.ambiguous * 50 <= s.n);
  }
}

// A cluster of one outlying row has a long centroid. If its margin applied to all rows, most would be ambiguous.
TEST_CASE("a few long centroids do not make most rows ambiguous on the CPU", "[screen]") {
  const Shape s{1021, 72, 256};
  const auto center = [](std::int64_t c, std::int64_t j) { return noise(22, c, j) * (c % 32 == 5 ? 16.0 : 0.5); };
  const Matrix<double> values =
      filled(s.n, s.d, [&](auto i, auto j) { return as_float(center(i % s.k, j) + noise(23, i, j) / 2); });
  const Matrix<double> centroids = filled(s.k, s.d, center);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  for (const Tested& tested : every_backend()) {
    if (tested.name.rfind("cpu", 0) != 0) continue;
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0});
    points->prepare(make_plan(*points));
    Assignment result(s.k);
    points->assign({centroids.view()}, result);
    CHECK(result.screened == s.n);
    CHECK(result.ambiguous * 50 <= s.n);
  }
}

TEST_CASE("the requested screen is used, and unknown screens are refused by name", "[screen]") {
  for (const Tested& tested : tested_backends()) {
    const std::vector<std::string> screens = tested.backend->device().screens;
    if (screens.empty()) continue;
    const auto entry = std::find_if(backends().begin(), backends().end(),
                                    [&](const BackendEntry& e) { return tested.name == e.name; });
    CHECK(tested.backend->device().description.find(screens.front() + " screen") != std::string::npos);
    BackendOptions options;
    for (const std::string& screen : screens) {
      options.screen = screen;
      CHECK(entry->open(options, {})->device().description.find(screen + " screen") != std::string::npos);
    }
    options.screen = "abacus";
    try {
      entry->open(options, {});
      FAIL("opened");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::device);
      for (const std::string& screen : screens) CHECK(std::string(error.what()).find(screen) != std::string::npos);
    }
  }
}
