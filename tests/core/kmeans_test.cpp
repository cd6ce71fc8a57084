// k-means: complete runs against the reference backend and against known exact results, and each of its rules.
#include <algorithm>
#include <cmath>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/seeding.h"
#include "core/kmeans/update.h"
#include "core/numbers/distance.h"
#include "data/source.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

Matrix<double> doubles(const std::string& location) {
  const auto source = data::open_points(location, {data::Precision::f64, true});
  PointsMatrix all = data::read_all(*source);
  return std::move(std::get<Matrix<double>>(all));
}

double relative(double a, double b) { return std::abs(a - b) / std::max(std::abs(b), 1e-300); }

}  // namespace

// Complete runs on every kind of data, compared bit for bit.
TEST_CASE("complete runs equal those of the definition", "[kmeans]") {
  for (const Tested& tested : tested_backends()) {
    for (const Kind& kind : kinds()) {
      for (const Shape shape :
           {Shape{1, 3, 1}, Shape{33, 2, 7}, Shape{257, 17, 10}, Shape{64, 5, 64}, Shape{600, 33, 20}}) {
        const Matrix<double> values = kind.make(shape.n, shape.d, 4);
        for (const Init init : {Init::kmeans_plus_plus, Init::random, Init::first}) {
          KMeansOptions options;
          options.clusters = shape.k;
          options.init = init;
          options.seed = 3;
          options.runs = init == Init::first ? 1 : 2;
          options.max_iterations = 12;
          options.keep_distances = true;
          const KMeansResult expected = run(*reference_points(values.view()), options);
          for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
            if (c == ValueClass::f32 && !kind.exact_in_float32) continue;
            INFO(tested.name << ", " << kind.name << ", " << name_of(c) << ", n " << shape.n << ", d " << shape.d
                             << ", k " << shape.k << ", init " << static_cast<int>(init));
            check_same(expected, on(*tested.backend, values, c, options));
          }
        }
      }
    }
  }
}

TEST_CASE("the objective of an iteration is the inertia of its update", "[kmeans]") {
  for (const int kind : {0, 1, 2, 5}) {
    const Matrix<double> values = kinds()[kind].make(2000, 9, 5);
    const double spread = run(*reference_points(values.view()), {.clusters = 1}).inertia;
    const KMeansResult result =
        run(*reference_points(values.view()), {.clusters = 12, .max_iterations = 1000, .tolerance = 0});
    REQUIRE(result.stopped_by == "labels");
    CHECK(std::abs(result.history.back().inertia - result.inertia) <= 1e-9 * spread);
  }
}

// Subnormal squared distances lose most of their digits; this must not end a run as a rise of the objective.
TEST_CASE("rounding errors do not count as a rise of the objective", "[kmeans]") {
  for (const double scale : {1e-163, 1e-161, 1e-159, 1e-156, 1e-140, 1e140}) {
    for (const int kind : {0, 1, 5, 10}) {
      Matrix<double> values = kinds()[kind].make(700, 6, 3);
      for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] *= scale;
      const auto points = reference_points(values.view());
      CHECK_NOTHROW(run(*points, {.clusters = 25, .max_iterations = 100, .tolerance = 0}));
    }
  }
}

TEST_CASE("threads and blocks do not change a result", "[kmeans]") {
  const Matrix<double> values = kinds()[0].make(1021, 33, 8);
  KMeansOptions options;
  options.clusters = 17;
  options.keep_distances = true;
  const KMeansResult expected = run(*reference_points(values.view()), options);
  for (const int threads : {1, 2, 7}) {
    for (const std::int64_t block : {0, 1, 100}) {
      BackendOptions backend_options;
      backend_options.threads = threads;
      backend_options.block_rows = block;
      for (const Tested& tested : tested_backends(backend_options)) {
        INFO(tested.name << ", " << threads << " threads, blocks of " << block);
        check_same(expected, on(*tested.backend, values, ValueClass::f32, options));
      }
    }
  }
}

// Labels from an independent program, after up to hundreds of iterations (photo, k = 64: 556).
TEST_CASE("labels of the shared data equal those of an independent program", "[kmeans][shared]") {
  const std::string folder = shared_data();
  if (folder.empty()) return;
  struct Set {
    const char *file, *dataset;
    std::int64_t rows;
  };
  for (const Tested& tested : tested_backends()) {
    for (const Set set :
         {Set{"digits", "/train", 1797}, Set{"photo", "/pixels", 273280}, Set{"descriptions", "/train", 5000}}) {
      const auto source = data::open_points(folder + "/" + set.file + ".h5:" + set.dataset);
      Matrix<float> points(set.rows, source->columns());
      source->read(0, points.view());
      for (const std::string group : {"k10", "k64"}) {
        INFO(tested.name << ", " << set.file << ", " << group);
        const std::string answer = folder + "/reference/" + set.file + ".h5:/" + group + "/";
        const Matrix<double> initial = doubles(answer + "initial_centroids");
        KMeansOptions options;
        options.clusters = initial.rows();
        options.init = Init::given;
        options.given = initial.view();
        options.tolerance = 0;
        options.max_iterations = 1000;
        const auto held = tested.backend->hold({std::as_const(points).view(), 0});
        const KMeansResult result = run(*held, options);

        const Matrix<double> labels = doubles(answer + "labels"), changed = doubles(answer + "changed");
        CHECK(std::equal(result.labels.begin(), result.labels.end(), labels.data(), labels.data() + labels.size()));
        CHECK(result.iterations == changed.rows());
        CHECK(std::equal(
            result.history.begin(), result.history.end(), changed.data(),
            [](const IterationRecord& record, double want) { return static_cast<double>(record.changed) == want; }));
        const Matrix<double> centroids = doubles(answer + "centroids"), counts = doubles(answer + "counts");
        CHECK(std::equal(result.counts.begin(), result.counts.end(), counts.data()));
        double worst = 0;
        for (std::int64_t i = 0; i < centroids.size(); ++i) {
          worst = std::max(worst, std::abs(result.centroids.data()[i] - centroids.data()[i]));
        }
        CHECK(worst <= 1e-12 * 255);
        CHECK(result.stopped_by == "labels");
      }
    }
  }
}

// Row numbers from an independent program in another language, written from docs/contract.md alone.
TEST_CASE("initial centroids are the rows that the contract draws", "[kmeans]") {
  const auto source = data::open_points(KITH_SOURCE_DIR "/samples/digits.h5:/train");
  const PointsMatrix digits = data::read_all(*source);
  using Rows = std::vector<std::int64_t>;
  Warnings ignored;
  for (const Tested& tested : tested_backends()) {
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(digits), 0});
    points->prepare(make_plan(*points));
    CHECK(greedy_kmeans_plus_plus(*points, equal_weights(1797), 10, {0, 0}, ignored) ==
          Rows{1582, 1245, 1453, 448, 61, 178, 1625, 818, 1409, 983});
    CHECK(greedy_kmeans_plus_plus(*points, equal_weights(1797), 7, {12345678901, 3}, ignored) ==
          Rows{923, 1098, 1002, 1567, 1454, 152, 497});
  }
  CHECK(random_rows(1797, 10, {0, 0}) == Rows{1582, 651, 575, 747, 1247, 54, 1452, 83, 1130, 308});
  CHECK(random_rows(1797, 6, {42, 2}) == Rows{934, 1587, 640, 1691, 1784, 645});
}

TEST_CASE("k = n gives every row its own cluster", "[kmeans]") {
  const Matrix<double> values = kinds()[1].make(50, 3, 2);
  const KMeansResult result = run(*reference_points(values.view()), {.clusters = 50});
  CHECK(result.inertia == 0.0);
  CHECK(result.empty_clusters == 0);
}

TEST_CASE("a run with fewer distinct rows than clusters ends with a warning", "[kmeans]") {
  for (const int kind : {3, 4}) {
    const Matrix<double> values = kinds()[kind].make(40, 3, 2);
    Warnings warnings;
    const KMeansResult result = run(*reference_points(values.view()), {.clusters = 9}, warnings);
    CHECK(result.inertia == 0.0);
    CHECK(result.empty_clusters == (kind == 3 ? 8 : 4));
    CHECK(warnings.said.size() == 1);
    for (std::int64_t i = 0; i < result.centroids.size(); ++i) CHECK(std::isfinite(result.centroids.data()[i]));
  }
}

TEST_CASE("the error for k out of range names k and n", "[kmeans]") {
  const Matrix<double> values = kinds()[0].make(10, 2, 2);
  const auto points = reference_points(values.view());
  for (const std::int64_t k : {0, -1, 11}) {
    CHECK_THROWS_WITH(run(*points, {.clusters = k}),
                      "k = " + std::to_string(k) + " clusters: expected 1 to 10, the number of rows");
  }
}

TEST_CASE("an empty cluster takes the farthest row", "[kmeans]") {
  Matrix<double> values(6, 1);
  for (std::int64_t i = 0; i < 6; ++i) values(i, 0) = static_cast<double>(i * i);  // 0 1 4 9 16 25
  Matrix<double> start(3, 1);
  start(0, 0) = 3;
  start(1, 0) = 1e9;
  start(2, 0) = -1e9;
  for (const Tested& tested : tested_backends()) {
    const KMeansResult result = on(*tested.backend, values, ValueClass::f32,
                                   {.clusters = 3, .init = Init::given, .given = std::as_const(start).view()});
    CHECK(result.history[0].relocated == 2);
    CHECK(result.empty_clusters == 0);
    // All rows were in cluster 0; then 25 moved to cluster 1 and 16 to cluster 2.
    CHECK(result.labels == UninitializedVector<std::int32_t>{0, 0, 0, 0, 2, 1});
  }
}

TEST_CASE("initial centroids of the wrong shape are refused, and duplicates give a warning", "[kmeans]") {
  const Matrix<double> values = kinds()[0].make(20, 4, 2);
  const auto points = reference_points(values.view());
  const Matrix<double> narrow = kinds()[0].make(3, 3, 1);
  CHECK_THROWS_WITH(run(*points, {.clusters = 3, .init = Init::given, .given = narrow.view()}),
                    "initial centroids: expected 3 x 4 (clusters, columns), found 3 x 3");
  Matrix<double> repeated(3, 4);
  for (std::int64_t c = 0; c < 3; ++c) std::copy(values.row(0).begin(), values.row(0).end(), repeated.row(c).begin());
  Warnings warnings;
  run(*points, {.clusters = 3, .init = Init::given, .given = std::as_const(repeated).view()}, warnings);
  CHECK(warnings.said == std::vector<std::string>{"2 of 3 initial centroids repeat another one"});
}

TEST_CASE("each stopping rule stops at its iteration", "[kmeans]") {
  const Matrix<double> values = kinds()[1].make(500, 4, 6);
  const auto points = reference_points(values.view());
  const KMeansResult exact = run(*points, {.clusters = 8, .max_iterations = 1000, .tolerance = 0});
  CHECK(exact.stopped_by == "labels");
  CHECK(exact.history.back().changed == 0);
  CHECK(exact.history.front().changed == 500);
  const KMeansResult loose = run(*points, {.clusters = 8, .tolerance = 0.5});
  CHECK(loose.stopped_by == "tolerance");
  CHECK(loose.iterations == 2);  // never after one assignment
  CHECK(loose.stopped_value <= loose.shift_threshold);
  const KMeansResult cut = run(*points, {.clusters = 8, .max_iterations = 3, .tolerance = 0});
  CHECK(cut.stopped_by == "max-iterations");
  CHECK(cut.iterations == 3);
}

TEST_CASE("the objective never rises, and labels belong to the returned centroids", "[kmeans]") {
  for (const Tested& tested : tested_backends()) {
    for (const int kind : {0, 2, 5, 10}) {
      const Matrix<double> values = kinds()[kind].make(800, 7, 12);
      const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
      const auto held = tested.backend->hold({view_of(stored), 0});
      const double rounding = 1e-9 * run(*held, {.clusters = 1}).inertia;
      const KMeansResult result = run(*held, {.clusters = 12, .max_iterations = 5, .seed = 2});
      CHECK(result.inertia <= result.history.back().inertia + rounding);
      for (std::size_t i = 1; i < result.history.size(); ++i) {
        CHECK(result.history[i].inertia <= result.history[i - 1].inertia + rounding);
      }
      Warnings ignored;
      const DataPlan plan = make_plan(*held);
      const KMeansResult again = assign_only(*held, plan, result.centroids.view(), ignored);
      CHECK(again.labels == result.labels);
      CHECK(again.inertia == result.inertia);
      CHECK(again.counts == result.counts);
    }
  }
}

TEST_CASE("a warning reports values that lose their digits next to markers of missing values", "[kmeans]") {
  Matrix<double> values(3000, 1);
  for (std::int64_t i = 0; i < 3000; ++i)
    values(i, 0) = i % 50 == 7 ? 1e20 : 10.0 * static_cast<double>(i % 3) + 0.001 * (i % 11);
  Matrix<double> start(4, 1);
  for (std::int64_t c = 0; c < 4; ++c) start(c, 0) = c < 3 ? 10.0 * static_cast<double>(c) : 1e20;
  const KMeansOptions options{.clusters = 4, .init = Init::given, .given = std::as_const(start).view()};
  for (const Tested& tested : tested_backends()) {
    const KMeansResult result = on(*tested.backend, values, ValueClass::f64, options);
    for (std::int64_t c = 0; c < 3; ++c)
      CHECK(std::abs(result.centroids(c, 0) - 10.0 * static_cast<double>(c) - 0.005) < 1e-3);
    CHECK(result.counts[3] == 60);
  }
  Warnings warnings;
  run(*reference_points(values.view()), options, warnings);
  CHECK(warnings.said.empty());
  for (std::int64_t i = 0; i < 3000; i += 50) values(i + 7, 0) = 1e37;
  start(3, 0) = 1e37;
  warnings.said.clear();
  run(*reference_points(values.view()), options, warnings);
  REQUIRE(!warnings.said.empty());
  CHECK(warnings.said[0].find("column 1:") == 0);
}

TEST_CASE("a centroid far from all points does not coarsen the inertia", "[kmeans]") {
  Matrix<double> values(10, 1), centroids(3, 1);
  for (std::int64_t i = 0; i < 10; ++i) values(i, 0) = static_cast<double>(i);
  centroids(0, 0) = 2;
  centroids(1, 0) = 7;
  for (const double far : {1e30, -1e150}) {
    centroids(2, 0) = far;
    const MatrixView<const double> given = std::as_const(centroids).view();
    for (const Tested& tested : tested_backends()) {
      INFO(tested.name << ", " << far);
      const KMeansOptions options{.clusters = 3, .init = Init::given, .given = given, .empty = EmptyRule::keep};
      const KMeansResult kept = on(*tested.backend, values, ValueClass::f64, options);
      CHECK(kept.inertia == 20.0);
      CHECK(kept.inertia_per_cluster == std::vector<double>{10.0, 10.0, 0.0});
      const KMeansResult frozen =
          on(*tested.backend, values, ValueClass::f64,
             {.clusters = 3, .init = Init::given, .frozen = given.middle(2, 1), .given = given.middle(0, 2)});
      CHECK(frozen.inertia == 20.0);
    }
    // Labels other than the nearest: the far centroid has no row, then one.
    const auto points = reference_points(values.view());
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    std::vector<std::int32_t> labels{0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    points->set_labels(labels);
    CHECK(measure_labels(*points, plan, given, std::vector<std::int64_t>{5, 5, 0}).total == 20.0);
    labels[0] = 2;
    points->set_labels(labels);
    CHECK(measure_labels(*points, plan, given, std::vector<std::int64_t>{4, 5, 1}).total == far * far);
  }
}

TEST_CASE("a row far from all others in a cluster of its own takes no digit from the inertia", "[kmeans]") {
  Matrix<double> values(3, 1);
  for (std::int64_t i = 0; i < 3; ++i) values(i, 0) = i == 2 ? 0x1p60 : static_cast<double>(i);
  Warnings warnings;
  const KMeansResult result = run(*reference_points(values.view()), {.clusters = 2}, warnings);
  CHECK(result.inertia == 1.0);  // around the centroid 0: one limb of the column has steps of 4
  CHECK(warnings.said.empty());
  constexpr std::int64_t kRows = 500;
  Matrix<double> many(kRows, 2), start(3, 2);
  for (std::int64_t i = 0; i < kRows; ++i) {
    many(i, 0) = static_cast<double>(i % 2) + 0x1p-10 * static_cast<double>(i % 7);
    many(i, 1) = 0x1p-10 * static_cast<double>(i % 5);
  }
  for (std::int64_t c = 0; c < 6; ++c) start.data()[c] = c == 2 ? 1 : 0;
  for (const double far : {3.0, 1e16, 1e100, 1e150}) {
    many(kRows - 1, 0) = far;
    start(2, 0) = far;
    const KMeansOptions options{
        .clusters = 3, .init = Init::given, .given = std::as_const(start).view(), .tolerance = 0};
    for (const Tested& tested : tested_backends()) {
      INFO(tested.name << ", " << far);
      const KMeansResult found = on(*tested.backend, many, ValueClass::f64, options);
      double inertia = 0.0;
      for (std::int64_t i = 0; i + 1 < kRows; ++i) {
        inertia += squared_distance(many.row(i).data(), found.centroids.row(i % 2).data(), 2);
      }
      CHECK(found.counts[2] == 1);
      if (far < 1e20) CHECK(std::abs(found.inertia / inertia - 1) < 1e-12);
      CHECK(found.inertia > 0.0);
    }
  }
}

TEST_CASE("a run continues with a centroid far from all rows", "[kmeans]") {
  const Matrix<double> values = kinds()[1].make(1000, 2, 3);
  Matrix<double> start(2, 2);
  for (std::int64_t j = 0; j < 2; ++j) {
    start(0, j) = 0.5;
    start(1, j) = 1e20;
  }
  for (const Tested& tested : tested_backends()) {
    const KMeansResult result = on(*tested.backend, values, ValueClass::f32,
                                   {.clusters = 2, .init = Init::given, .given = std::as_const(start).view()});
    CHECK(result.empty_clusters == 0);
    CHECK(result.inertia < 142.0);
  }
}

TEST_CASE("the best of several runs wins; ties go to the first", "[kmeans]") {
  const Matrix<double> values = kinds()[1].make(300, 3, 6);
  const auto points = reference_points(values.view());
  KMeansOptions options{.clusters = 9, .init = Init::random};
  double lowest = std::numeric_limits<double>::infinity();
  int later_winners = 0;
  for (options.runs = 1; options.runs <= 6; ++options.runs) {
    const KMeansResult best = run(*points, options);
    CHECK(best.inertia <= lowest);
    CHECK((best.run == options.runs - 1) == (best.inertia < lowest));  // a later run wins only if it is better
    REQUIRE(static_cast<int>(best.runs.size()) == options.runs);
    const auto first_lowest =
        std::min_element(best.runs.begin(), best.runs.end(),
                         [](const RunRecord& a, const RunRecord& b) { return a.inertia < b.inertia; });
    CHECK(best.run == first_lowest - best.runs.begin());
    CHECK(best.inertia == first_lowest->inertia);
    CHECK(best.iterations == first_lowest->iterations);
    later_winners += best.run > 0;
    lowest = best.inertia;
  }
  CHECK(later_winners > 0);
  const Matrix<double> equal = kinds()[3].make(30, 3, 6);
  CHECK(run(*reference_points(equal.view()), {.clusters = 2, .runs = 4}).run == 0);
}

TEST_CASE("integer data have exact means at any offset", "[kmeans]") {
  Matrix<double> values = kinds()[2].make(300, 5, 3);
  const KMeansResult plain = run(*reference_points(values.view()), {.clusters = 6, .init = Init::first});
  for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] += 1e6;
  for (const Tested& tested : tested_backends()) {
    const KMeansResult shifted = on(*tested.backend, values, ValueClass::f32, {.clusters = 6, .init = Init::first});
    CHECK(shifted.labels == plain.labels);
    CHECK(relative(shifted.inertia, plain.inertia) < 1e-9);
  }
}
