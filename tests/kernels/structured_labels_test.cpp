// Assignments of rows with structure (clusters, outliers, unscaled columns, duplicates) on every screen: the labels are
// those of the definition, and few distances are computed where clusters are apart.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <tuple>

#include "core/numbers/distance.h"
#include "core/points/data_plan.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/points_everywhere.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// An approximately normal number, determined by the arguments.
double noise(std::uint64_t seed, std::int64_t i, std::int64_t j) { return 1.7 * centered_sum(seed, i, j); }

/// A kind of data. value: of row i, column j. clustered: most centroids are far from most rows.
struct DataKind {
  const char* name;
  bool clustered;
  double (*value)(std::int64_t i, std::int64_t j);
};

double blob(std::int64_t blobs, double spread, std::int64_t i, std::int64_t j) {
  return noise(1, i * 7 % blobs, j) + spread * noise(2, i, j);
}

const std::vector<DataKind>& data_kinds() {
  static const std::vector<DataKind> all{
      {"blobs, spread 0.1", true, [](std::int64_t i, std::int64_t j) { return blob(20, 0.1, i, j); }},
      {"blobs, spread 0.01", true, [](std::int64_t i, std::int64_t j) { return blob(20, 0.01, i, j); }},
      {"few tight blobs", true, [](std::int64_t i, std::int64_t j) { return blob(5, 1e-4, i, j); }},
      {"scales", false,
       [](std::int64_t i, std::int64_t j) {
         return noise(3, i, j) * (j == 0 ? 1e4 : j == 1 ? 100.0 : 1.0);
       }},
      {"outliers", false, [](std::int64_t i, std::int64_t j) { return noise(4, i, j) * (i % 100 == 7 ? 1e4 : 1.0); }},
      {"blobs and outliers", false,
       [](std::int64_t i, std::int64_t j) { return i % 100 == 7 ? 1e4 * noise(4, i, j) : blob(20, 0.01, i, j); }},
      {"repeated rows", false, [](std::int64_t i, std::int64_t j) { return noise(5, i % 37, j); }},
      {"a blob in noise", false,
       [](std::int64_t i, std::int64_t j) { return i % 3 == 0 ? noise(6, i, j) : 3 + 0.001 * noise(6, i, j); }},
      {"blobs far from zero", true,
       [](std::int64_t i, std::int64_t j) {
         return 1000 + std::ldexp(std::rint(std::ldexp(blob(20, 0.01, i, j), 12)), -12);
       }},
  };
  return all;
}

Matrix<double> rows_of(const DataKind& kind, Shape s) {
  Matrix<double> rows(s.n, s.d);
  for (std::int64_t i = 0; i < s.n; ++i) {
    for (std::int64_t j = 0; j < s.d; ++j) rows(i, j) = static_cast<double>(static_cast<float>(kind.value(i, j)));
  }
  return rows;
}

/// Rows of the data, moved by `amount` of their distance from the next; every ninth repeats the one before.
Matrix<double> centroids_of(const Matrix<double>& rows, std::int64_t k, double amount) {
  Matrix<double> centroids(k, rows.columns());
  for (std::int64_t c = 0; c < k; ++c) {
    const std::int64_t i = (c % 9 == 8 ? c - 1 : c) * 3 % rows.rows(), next = (i + 20) % rows.rows();
    for (std::int64_t j = 0; j < rows.columns(); ++j) {
      centroids(c, j) = rows(i, j) + amount * (rows(next, j) - rows(i, j));
    }
  }
  return centroids;
}

/// The most distances that assigning rows near these labels may take: those within twice the distance of the label, of
/// the widest row of each label, and what completes a group of four.
std::int64_t most_distances(const Matrix<double>& rows, const Matrix<double>& centroids,
                            const std::vector<std::int32_t>& labels) {
  const std::int64_t d = rows.columns();
  std::vector<double> widest(static_cast<std::size_t>(centroids.rows()), 0.0);
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    double& own = widest[static_cast<std::size_t>(labels[i])];
    own = std::max(own, squared_distance(rows.row(i).data(), centroids.row(labels[i]).data(), d));
  }
  std::vector<std::int64_t> most;
  for (std::int64_t c = 0; c < centroids.rows(); ++c) {
    std::int64_t near = 3;
    for (std::int64_t other = 0; other < centroids.rows(); ++other) {
      const double between = squared_distance(centroids.row(c).data(), centroids.row(other).data(), d);
      near += between <= 4.001 * widest[static_cast<std::size_t>(c)] ? 1 : 0;
    }
    most.push_back(std::min(near, centroids.rows()));
  }
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < rows.rows(); ++i) total += most[static_cast<std::size_t>(labels[i])];
  return total;
}

struct Labelled {
  Assignment assignment;
  std::vector<std::int32_t> labels;
};

Labelled assigned(Points& points, const Matrix<double>& centroids) {
  Labelled result{Assignment(centroids.rows()), std::vector<std::int32_t>(static_cast<std::size_t>(points.rows()))};
  points.assign({centroids.view()}, result.assignment);
  points.labels(result.labels);
  return result;
}

/// Many centroids, few columns, and columns beyond one tile; lists of all other centroids, and of the nearest ones.
const std::vector<Shape> kShapes{{1021, 24, 64}, {700, 130, 70}, {515, 64, 800}, {1021, 5, 200}, {401, 6, 3100}};

/// Rows, centroids of consecutive assignments, and the labels of the definition.
struct Problem {
  Matrix<double> rows;
  DataPlan plan;
  std::vector<Matrix<double>> centroids;
  std::vector<Labelled> expected;

  Problem(const DataKind& kind, Shape s) : rows(rows_of(kind, s)) {
    const auto reference = reference_points(rows.view());
    plan = make_plan(*reference);
    reference->prepare(plan);
    for (const double amount : {0.0, 0.0, 1e-3, 0.2}) {
      const bool repeats = expected.size() == 1;
      centroids.push_back(centroids_of(rows, s.k, amount));
      expected.push_back(repeats ? expected.front() : assigned(*reference, centroids.back()));
    }
  }
};

/// Made once for all paths.
const Problem& problem_of(const DataKind& kind, Shape s) {
  static std::map<std::tuple<const char*, std::int64_t, std::int64_t, std::int64_t>, Problem> made;
  return made.try_emplace({kind.name, s.n, s.d, s.k}, kind, s).first->second;
}

/// kinds: the number of kinds that are tried, the first ones.
void check_labels(const ForcedPaths& forced, const std::vector<Shape>& shapes, const BackendOptions& options = {},
                  std::ptrdiff_t kinds = std::numeric_limits<std::ptrdiff_t>::max()) {
  const std::vector<Tested> backends = every_backend(options, forced);
  for (const DataKind& kind : std::span(data_kinds()).first(std::min(kinds, std::ssize(data_kinds())))) {
    for (const Shape s : shapes) {
      INFO(kind.name << ", n " << s.n << ", d " << s.d << ", k " << s.k);
      const Problem& problem = problem_of(kind, s);
      for (const ValueClass as : {ValueClass::f32, ValueClass::f64}) {
        const PointsMatrix stored = as_class(problem.rows.view(), as);
        for (const Tested& tested : backends) {
          INFO(tested.name << ", " << name_of(as));
          const auto points = tested.backend->hold({view_of(stored), 0});
          points->prepare(problem.plan);
          for (std::size_t step = 0; step < problem.centroids.size(); ++step) {
            INFO("assignment " << step);
            const Labelled result = assigned(*points, problem.centroids[step]);
            CHECK((result.labels == problem.expected[step].labels));
            CHECK(result.assignment.counts == problem.expected[step].assignment.counts);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("rows with structure have the labels of the definition", "[structured][kernels]") {
  check_labels({}, kShapes);
}

TEST_CASE("rows with structure, assigned near their labels, have the labels of the definition",
          "[structured][kernels]") {
  check_labels({.local_screen = true}, kShapes);
  check_labels({.local_screen = true},
               {{1500, 128, 9}, {260, 300, 70}});  // more rows than one tile; more columns than one tile
  check_labels({.bounds = true, .local_screen = true}, {{1021, 24, 64}, {401, 6, 3100}});
}

// Rows that come in slabs, with guesses that share lists (even numbers of centroids) and that do not; beyond the limit
// of local screens; more lists than there is memory for.
TEST_CASE("wide rows, assigned near their labels, have the labels of the definition", "[structured][kernels]") {
  check_labels({.local_screen = true}, {{260, 784, 40}, {200, 257, 33}, {130, 3840, 20}, {70, 3841, 20}}, {}, 4);
  check_labels({.bounds = true, .local_screen = true}, {{300, 1601, 150}}, {}, 3);
  check_labels({.local_screen = true}, {{530, 3840, 520}}, {}, 1);
}

TEST_CASE("rows with structure in blocks have the labels of the definition", "[structured][kernels]") {
  for (const std::int64_t block : {100, 256}) {
    BackendOptions options;
    options.block_rows = block;
    check_labels({.local_screen = true}, {{1021, 24, 64}, {515, 64, 800}}, options);
  }
}

TEST_CASE("a GPU measures few distances of rows near their labels", "[structured][kernels]") {
  const Shape s{2000, 24, 128};
  for (const DataKind& kind : data_kinds()) {
    const Matrix<double> rows = rows_of(kind, s), centroids = centroids_of(rows, s.k, 0.0);
    const PointsMatrix stored = as_class(rows.view(), ValueClass::f32);
    for (const Tested& tested : every_backend({}, {.local_screen = true})) {
      if (!tested.name.starts_with("cuda")) continue;
      INFO(kind.name << ", " << tested.name);
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(make_plan(*points));
      const Labelled first = assigned(*points, centroids), second = assigned(*points, centroids);
      const std::int64_t most = most_distances(rows, centroids, first.labels);
      CHECK(first.assignment.screened == s.n);
      CHECK(second.assignment.screened == 0);
      CHECK(second.assignment.ambiguous == s.n);
      CHECK(second.assignment.candidates <= most);
      if (kind.clustered) {
        CHECK(4 * most <= s.n * s.k);  // so the bound says something
        CHECK(3 * first.assignment.candidates <= s.n * s.k);
      }
    }
  }
}

// One centroid far away makes products ambiguous for all rows, so that the next assignments of few columns take
// differences, down to rows and centroids that are equal or nearly so.
TEST_CASE("labels by differences equal the definition for every kind and type", "[structured][kernels]") {
  const std::vector<Tested> backends = every_backend();
  std::int64_t decided = 0;
  for (const Kind& kind : kinds()) {
    for (const Stored as : storages(kind)) {
      for (const std::int64_t d : {1, 2, 3, 4, 5, 16}) {
        INFO(kind.name << ", " << name_of(as) << ", d " << d);
        const Bench bench(kind, as, {300, d, 0}, backends);
        Matrix<double> centroids = centroids_near(bench.values.view(), 24);
        for (double& v : centroids.row(5)) v = 3e5 * (std::abs(v) + 1e-3);
        const AssignRequest request{.centroids = std::as_const(centroids).view()};
        Assignment expected(24);
        bench.expected->assign(request, expected);
        std::vector<std::int32_t> wanted(300), labels(300);
        bench.expected->labels(wanted);
        bench.on_each([&](Points& points) {
          std::int64_t first = 0;
          for (int turn = 0; turn < 3; ++turn) {
            Assignment assignment(24);
            points.assign(request, assignment);
            points.labels(labels);
            CHECK(labels == wanted);
            if (turn == 0) first = assignment.ambiguous;
            if (turn == 2 && assignment.ambiguous < first / 2) ++decided;
          }
        });
      }
    }
  }
  CHECK(decided > 50);  // otherwise this test shows nothing
}

// Squares of these values leave the range of float32, or differences of them underflow; a given centroid may do so too.
TEST_CASE("labels of few columns at the limits of float32 equal the definition", "[structured][kernels]") {
  struct Limit {
    const char* name;
    bool exact_in_float32;
    double (*value)(std::int64_t i, std::int64_t j);
  };
  const auto large = [](std::int64_t i, std::int64_t j) { return std::clamp(noise(31, i, j), -3.0, 3.0) * 1.1e38; };
  const auto small = [](std::int64_t i, std::int64_t j) { return noise(31, i % 150, j) * 1e-40; };
  const auto both = [](std::int64_t i, std::int64_t j) {
    return std::clamp(noise(31, i, j), -3.0, 3.0) * (i % 10 == 0 ? 1e38 : i % 10 < 5 ? 1.0 : 1e-42);
  };
  const auto offset = [](std::int64_t i, std::int64_t j) { return 3e38 + noise(31, i, j) * 1e32; };
  const auto wide = [](std::int64_t i, std::int64_t j) { return noise(31, i, j) * (i % 10 == 0 ? 1e150 : 1e120); };
  const Limit limits[] = {{"large", true, large},
                          {"small", true, small},
                          {"large and small", true, both},
                          {"large and close together", true, offset},
                          {"beyond float32", false, wide}};
  const std::vector<Tested> backends = every_backend();
  for (const Limit& limit : limits) {
    for (const Shape s : {Shape{300, 1, 40}, {300, 2, 40}, {300, 3, 600}, {300, 4, 9}, {300, 5, 40}, {300, 8, 100}}) {
      Matrix<double> rows(s.n, s.d);
      for (std::int64_t i = 0; i < s.n; ++i) {
        for (std::int64_t j = 0; j < s.d; ++j) {
          const double value = limit.value(i, j);
          rows(i, j) = limit.exact_in_float32 ? static_cast<double>(static_cast<float>(value)) : value;
        }
      }
      const auto reference = reference_points(std::as_const(rows).view());
      reference->prepare(make_plan(*reference));
      Matrix<double> centroids = centroids_of(rows, s.k, 0.1);
      for (const double far : {0.0, 1e25, 1e39, 1e150}) {
        if (far > 0.0) std::fill_n(centroids.row(s.k / 2).data(), s.d, far);
        const Labelled expected = assigned(*reference, centroids);
        for (const ValueClass as : {ValueClass::f32, ValueClass::f64}) {
          if (as == ValueClass::f32 && !limit.exact_in_float32) continue;
          const PointsMatrix stored = as_class(std::as_const(rows).view(), as);
          for (const Tested& tested : backends) {
            INFO(limit.name << ", " << name_of(as) << ", d " << s.d << ", k " << s.k << ", far " << far << ", "
                            << tested.name);
            const auto points = tested.backend->hold({view_of(stored), 0});
            points->prepare(make_plan(*points));
            for (int turn = 0; turn < 2; ++turn) CHECK((assigned(*points, centroids).labels == expected.labels));
          }
        }
      }
    }
  }
}

// All centroids are candidates of these rows, and there are more of them than a list of candidates holds.
TEST_CASE("long rows at equal distances from all centroids have the lowest label", "[structured][kernels]") {
  constexpr std::int64_t kRows = 530'000, kEvery = 64, kClusters = 520, kWidth = 40;
  std::vector<Tested> backends = every_backend();
  std::erase_if(backends, [](const Tested& tested) { return !tested.name.starts_with("cuda"); });
  if (backends.empty()) return;  // every_backend() says why
  std::mt19937_64 random(9);
  std::uniform_int_distribution<int> step(-8, 8);
  Matrix<double> centroids(kClusters, kWidth), values(kRows, kWidth);
  for (std::int64_t c = 0; c < kClusters; ++c) {
    centroids(c, 0) = 0.0;
    for (std::int64_t j = 1; j < kWidth; ++j) centroids(c, j) = random() % 2 == 0 ? 1.0 : -1.0;
  }
  std::vector<std::int32_t> wanted(kRows), labels(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) {
    const bool is_long = i % kEvery == kEvery - 1;
    const auto label = static_cast<std::int32_t>(is_long ? 0 : i % kClusters);
    wanted[static_cast<std::size_t>(i)] = label;
    for (std::int64_t j = 0; j < kWidth; ++j) values(i, j) = is_long ? 0.0 : centroids(label, j) + step(random) / 64.0;
    if (is_long) values(i, 0) = i / kEvery % 2 == 0 ? 100.0 : -100.0;
  }
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  for (const Tested& tested : backends) {
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0});
    points->prepare(make_plan(*points));
    Assignment assignment(kClusters);
    points->assign({centroids.view()}, assignment);
    points->labels(labels);
    CHECK(labels == wanted);
  }
}
