// Weighted rows: integral weights equal copies bit for bit, fractional ones the definition; invalid ones are refused.
#include "core/points/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/numbers/philox.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// Weights of n rows, computed by a rule from random numbers in [0, 1).
template <class Rule>
std::vector<double> weights_of(std::int64_t n, const Rule& rule) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(77, 0, static_cast<std::uint64_t>(i));
    weights.push_back(rule(static_cast<double>(bits >> 11) * 0x1p-53));
  }
  return weights;
}
std::vector<double> small_whole(std::int64_t n) {
  return weights_of(n, [](double u) { return 1.0 + std::floor(5 * u); });
}
std::vector<double> fractions(std::int64_t n) {
  return weights_of(n, [](double u) { return 0.01 + u; });
}

/// Repeats every row as often as its weight; copies are adjacent.
Matrix<double> copies_of(MatrixView<const double> values, const std::vector<double>& weights) {
  std::int64_t total = 0;
  for (const double weight : weights) total += std::llrint(weight);
  Matrix<double> copies(total, values.columns);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < values.rows; ++i) {
    for (std::int64_t copy = 0; copy < std::llrint(weights[i]); ++copy, ++at) {
      std::copy(values.row(i).begin(), values.row(i).end(), copies.row(at).begin());
    }
  }
  return copies;
}

bool same(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}
std::span<const double> all(const Matrix<double>& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }

/// Checks that a run on copies and one on weighted rows agree bit for bit in everything but counts of rows.
void check_copies(const KMeansResult& copies, const KMeansResult& weighted, const std::vector<double>& weights) {
  CHECK(same(all(copies.centroids), all(weighted.centroids)));
  CHECK(copies.inertia == weighted.inertia);
  CHECK(same(copies.inertia_per_cluster, weighted.inertia_per_cluster));
  CHECK(copies.iterations == weighted.iterations);
  CHECK(copies.stopped_by == weighted.stopped_by);
  CHECK(copies.shift_threshold == weighted.shift_threshold);
  CHECK(copies.run == weighted.run);
  REQUIRE(copies.history.size() == weighted.history.size());
  for (std::size_t i = 0; i < copies.history.size(); ++i) {
    CHECK(copies.history[i].inertia == weighted.history[i].inertia);
    CHECK(copies.history[i].shift == weighted.history[i].shift);
  }
  CHECK(std::vector<double>(copies.counts.begin(), copies.counts.end()) == weighted.weights);
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::int64_t copy = 0; copy < std::llrint(weights[i]); ++copy) labels.push_back(weighted.labels[i]);
  }
  CHECK(std::equal(labels.begin(), labels.end(), copies.labels.begin(), copies.labels.end()));
}

KMeansResult weighted_on(Backend& backend, const PointsMatrix& stored, const std::vector<double>& weights,
                         const KMeansOptions& options) {
  const auto points = backend.hold({view_of(stored), 0, nullptr, weights});
  return run(*points, checked_weights(weights, "weights"), options);
}

}  // namespace

// Skips runs in which a cluster loses all its rows: a single copy can be relocated, a part of a weighted row cannot.
TEST_CASE("a row of weight w has the same effect as w copies", "[weights]") {
  for (const Shape shape : {Shape{1, 3, 1}, Shape{257, 17, 5}, Shape{600, 3, 9}, Shape{300, 70, 7}}) {
    const std::vector<double> weights = small_whole(shape.n);
    const std::vector<Tested> backends = shape.k == 5 ? every_backend() : tested_backends();
    for (const Kind& kind : kinds()) {
      const Matrix<double> values = kind.make(shape.n, shape.d, 4);
      const Matrix<double> copies = copies_of(values.view(), weights);
      for (const std::uint64_t seed : {3, 4}) {
        const KMeansOptions options{
            .clusters = shape.k, .runs = seed == 3 ? 2 : 1, .max_iterations = 20, .seed = seed, .keep_distances = true};
        const KMeansResult expected = run(*reference_points(copies.view()), options);
        const auto relocated = [](const IterationRecord& record) { return record.relocated > 0; };
        if (std::any_of(expected.history.begin(), expected.history.end(), relocated)) continue;
        if (expected.empty_clusters > 0) continue;
        const KMeansResult definition =
            run(*reference_points(values.view(), weights), checked_weights(weights, "weights"), options);
        INFO(kind.name << ", n " << shape.n << ", d " << shape.d << ", k " << shape.k << ", seed " << seed);
        check_copies(expected, definition, weights);
        for (const Stored as : storages(kind)) {
          const PointsMatrix stored = stored_as(values.view(), as);
          for (const Tested& tested : backends) {
            INFO(tested.name << ", " << name_of(as));
            check_same(definition, weighted_on(*tested.backend, stored, weights, options));
          }
        }
      }
    }
  }
}

TEST_CASE("weights of 1 have no effect", "[weights]") {
  for (const int kind : {0, 2, 10}) {
    const Matrix<double> values = kinds()[kind].make(500, 6, 9);
    const std::vector<double> ones(500, 1.0);
    const KMeansOptions options{.clusters = 8, .tolerance = 0, .keep_distances = true};
    KMeansResult expected = run(*reference_points(values.view()), options);
    expected.weights.assign(expected.counts.begin(), expected.counts.end());
    for (const Tested& tested : tested_backends()) {
      INFO(tested.name << ", kind " << kind);
      check_same(expected, weighted_on(*tested.backend, stored_as(values.view(), Stored::float64), ones, options));
    }
  }
}

// Fractional weights, with empty clusters and relocations, for several threads and blocks.
TEST_CASE("weighted runs equal those of the definition", "[weights]") {
  std::vector<Tested> backends = every_backend();
  for (const std::int64_t block_rows : {1, 100}) {
    for (Tested& tested : tested_backends({.threads = 3, .block_rows = block_rows})) {
      backends.push_back({tested.name + " in pieces", std::move(tested.backend)});
    }
  }
  struct Case {
    const char* what;
    std::vector<double> (*make)(std::int64_t n);
  };
  const Case cases[] = {
      {"fractions", fractions},
      {"whole", small_whole},
      {"tiny", [](std::int64_t n) { return weights_of(n, [](double u) { return 1e-29 * (1 + u); }); }},
      {"huge", [](std::int64_t n) { return weights_of(n, [](double u) { return 1e29 * (1 + u); }); }},
      {"far apart", [](std::int64_t n) { return weights_of(n, [](double u) { return std::exp2(-39 * u); }); }},
      {"many copies", [](std::int64_t n) { return weights_of(n, [](double u) { return std::floor(1 + 1e7 * u); }); }},
      {"too many copies",
       [](std::int64_t n) { return weights_of(n, [](double u) { return std::floor(1e12 * (u + 1)); }); }},
  };
  for (const Case& c : cases) {
    for (const Kind& kind : kinds()) {
      const Shape shape{260, 5, 12};
      const Matrix<double> values = kind.make(shape.n, shape.d, 6);
      const std::vector<double> weights = c.make(shape.n);
      if (std::abs(values(0, 0)) * weights[0] > 1e150) continue;  // the inertia would overflow
      const KMeansOptions options{.clusters = shape.k, .max_iterations = 15, .seed = 1, .keep_distances = true};
      const KMeansResult expected =
          run(*reference_points(values.view(), weights), checked_weights(weights, "weights"), options);
      const PointsMatrix stored = stored_as(values.view(), storages(kind).back());
      for (const Tested& tested : backends) {
        INFO(tested.name << ", " << c.what << ", " << kind.name);
        check_same(expected, weighted_on(*tested.backend, stored, weights, options));
      }
    }
  }
}

TEST_CASE("weighted means and inertia equal plain arithmetic", "[weights]") {
  const Matrix<double> values = kinds()[0].make(400, 3, 2);
  for (const double unit : {1.0, 1e-25, 1e25}) {
    std::vector<double> weights = fractions(400);
    for (double& weight : weights) weight *= unit;
    const KMeansResult result = run(*reference_points(values.view(), weights), checked_weights(weights, "weights"),
                                    {.clusters = 6, .max_iterations = 1000, .tolerance = 0});
    REQUIRE(result.stopped_by == "labels");
    double inertia = 0.0;
    for (std::int64_t c = 0; c < 6; ++c) {
      double total = 0.0;
      std::vector<double> mean(3, 0.0);
      for (std::int64_t i = 0; i < 400; ++i) {
        if (result.labels[i] != c) continue;
        total += weights[i];
        for (std::int64_t j = 0; j < 3; ++j) mean[j] += weights[i] * values(i, j);
        inertia += weights[i] * reference_distance(values.row(i).data(), result.centroids.row(c).data(), 3);
      }
      CHECK(std::abs(result.weights[c] / total - 1) < 1e-13);
      for (std::int64_t j = 0; j < 3; ++j) CHECK(std::abs(result.centroids(c, j) - mean[j] / total) < 1e-11);
    }
    CHECK(std::abs(result.inertia / inertia - 1) < 1e-12);
  }
}

// A very heavy row determines its centroid, and clusters of light rows keep their digits.
TEST_CASE("the means of light clusters stay exact next to a heavy cluster", "[weights]") {
  Matrix<double> values(60, 1);
  std::vector<double> weights(60, 1.5);
  for (std::int64_t i = 0; i < 60; ++i) {
    values(i, 0) = static_cast<double>(i / 20) * 1000 + 0.1 * static_cast<double>(i % 20);
    if (i >= 20) weights[i] = 1.5 * (i < 40 ? 0x1p-40 : 0x1p-20);
  }
  Matrix<double> start(3, 1);
  for (std::int64_t c = 0; c < 3; ++c) start(c, 0) = 1000 * static_cast<double>(c);
  const KMeansOptions options{.clusters = 3, .init = Init::given, .given = std::as_const(start).view()};
  for (const Tested& tested : tested_backends()) {
    const KMeansResult result =
        weighted_on(*tested.backend, stored_as(values.view(), Stored::float64), weights, options);
    for (std::int64_t c = 0; c < 3; ++c) {
      CHECK(std::abs(result.centroids(c, 0) - (1000 * static_cast<double>(c) + 0.95)) < 1e-10);
    }
  }
}

TEST_CASE("weights equal copies with frozen centroids and with dropped or kept clusters", "[weights]") {
  const Matrix<double> values = kinds()[0].make(300, 4, 7);
  const std::vector<double> weights = small_whole(300);
  const Matrix<double> copies = copies_of(values.view(), weights);
  Matrix<double> frozen(2, 4), start(4, 4);
  for (std::int64_t j = 0; j < 4; ++j) {
    frozen(0, j) = values(3, j) + 1;
    frozen(1, j) = 1e4;  // without rows
    for (std::int64_t c = 0; c < 4; ++c) start(c, j) = c == 1 ? -1e5 : values(50 * c, j);
  }
  const PointsMatrix stored = stored_as(values.view(), Stored::float32);
  for (const EmptyRule rule : {EmptyRule::drop, EmptyRule::keep}) {
    const KMeansOptions options{.clusters = 6,
                                .init = Init::given,
                                .frozen = frozen.view(),
                                .given = std::as_const(start).view(),
                                .max_iterations = 30,
                                .empty = rule};
    const KMeansResult expected = run(*reference_points(copies.view()), options);
    CHECK(expected.centroids.rows() == (rule == EmptyRule::drop ? 5 : 6));
    for (const Tested& tested : tested_backends()) {
      INFO(tested.name << ", " << name_of(rule));
      check_copies(expected, weighted_on(*tested.backend, stored, weights, options), weights);
    }
  }
}

TEST_CASE("assignment to given centroids gives weighted inertia and cluster weights", "[weights]") {
  const Matrix<double> values = kinds()[0].make(300, 4, 7);
  const std::vector<double> weights = small_whole(300);
  const Matrix<double> centroids = centroids_near(values.view(), 9), copies = copies_of(values.view(), weights);
  Warnings ignored;
  const auto copied = reference_points(copies.view());
  const DataPlan plan = make_plan(*copied);
  copied->prepare(plan);
  const KMeansResult expected = assign_only(*copied, plan, centroids.view(), ignored);
  const PointsMatrix stored = stored_as(values.view(), Stored::float32);
  for (const Tested& tested : tested_backends()) {
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0, nullptr, weights});
    const DataPlan weighted = make_plan(*points, checked_weights(weights, "weights"));
    points->prepare(weighted);
    const KMeansResult result = assign_only(*points, weighted, centroids.view(), ignored);
    CHECK(result.inertia == expected.inertia);
    CHECK(same(result.inertia_per_cluster, expected.inertia_per_cluster));
    CHECK(result.weights == std::vector<double>(expected.counts.begin(), expected.counts.end()));
  }
}

TEST_CASE("the error for an invalid weight names its row", "[weights]") {
  const auto refused = [](std::vector<double> weights) -> std::string {
    try {
      checked_weights(weights, "w.npy");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
      return error.what();
    }
    return "accepted";
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(refused({1, 0, 2.5}) == "accepted");
  CHECK(refused({1, 2, -0.5}) ==
        "w.npy: row 3 (counted from 1): expected a weight of 0 or more, found -0.5; give rows to ignore "
        "the weight 0");
  CHECK(
      refused({1, std::nan(""), 3}).find("w.npy: row 2 (counted from 1): expected a weight of 0 or more, found nan") ==
      0);
  CHECK(refused({kInfinity}).find("w.npy: row 1 (counted from 1): expected a weight of 0 or more, found inf") == 0);
  CHECK(refused({0, 0, 0}) ==
        "w.npy: expected a weight above 0, found none in 3 rows; leave the weights out to count "
        "every row once");
  CHECK(refused({0.5, 1e40})
            .find("w.npy: row 2 (counted from 1): expected a weight of 0 or from 7.89e-31 to 1.27e+30, found 1e+40; "
                  "multiply all weights by one number") == 0);
  CHECK(refused({1.5, 0, 1e-13})
            .find("w.npy: row 3 (counted from 1): expected a weight of 0 or of at least 1.36e-12, which is 2^-40 of "
                  "the largest, 1.5 (row 1), found 1e-13; give such rows the weight 0") == 0);
  CHECK(refused({1e300, 1}).find("row 1") != std::string::npos);
}

TEST_CASE("the parameters of weights follow from their values", "[weights]") {
  CHECK(checked_weights(std::vector<double>{1, 2, 0, 4}, "w").total == 7.0);
  CHECK(checked_weights(std::vector<double>{1, 2, 0, 4}, "w").terms == 7);
  CHECK(checked_weights(std::vector<double>{0.1, 0.2, 0, 0.4}, "w").terms == 3);
  CHECK(checked_weights(std::vector<double>{0.5, 0.25, 0.125}, "w").total == 0.875);
  CHECK(!checked_weights(std::vector<double>{0.5, 1}, "w").integral);
  CHECK(checked_weights(std::vector<double>{0x1p35, 0x1p35}, "w").integral);
  CHECK(!checked_weights(std::vector<double>{0x1p36, 1}, "w").integral);
}
