// Seeding on every backend chooses the starting rows of the definition with any block size and number of threads, also
// if candidates are nearly as close as the chosen seeds.
#include "core/kmeans/seeding.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/points/data_plan.h"
#include "core/points/observer.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

std::vector<double> kept_distances(const Points& points) {
  std::vector<double> distances(points.rows());
  points.distances(distances);
  return distances;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Calls body(expected, actual, values, plan) for every kind of data and its classes on every backend.
template <class Body>
void on_everything(std::int64_t n, std::int64_t d, const BackendOptions& options, const Body& body) {
  const std::vector<Tested> backends = every_screen(d, 0, options);  // seeding uses the fine screen
  for (const Kind& kind : kinds()) {
    const Matrix<double> values = kind.make(n, d, 5);
    const auto expected = reference_points(values.view());
    const DataPlan plan = make_plan(*expected);
    expected->prepare(plan);
    for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
      if (c == ValueClass::f32 && !kind.exact_in_float32) continue;
      const PointsMatrix stored = as_class(values.view(), c);
      for (const Tested& tested : backends) {
        INFO(tested.name << ", " << kind.name << ", " << name_of(c) << ", n " << n << ", d " << d);
        const auto actual = tested.backend->hold({view_of(stored), 0});
        actual->prepare(plan);
        body(*expected, *actual, values.view(), plan);
      }
    }
  }
}

/// Tries candidates on points with minimum distances, and commits one of them.
void check_trial(Points& expected, Points& actual, MatrixView<const double> candidates, std::int64_t chosen) {
  const std::vector<double> kept = kept_distances(expected);
  const double largest = *std::max_element(kept.begin(), kept.end());
  const FixedScale scale = fixed_scale(term_bits(expected.rows()) - exponent_above(largest));
  std::vector<std::int64_t> expected_totals(candidates.rows, 0), totals(candidates.rows, 0);
  expected.try_candidates(candidates, scale, expected_totals);
  actual.try_candidates(candidates, scale, totals);
  CHECK(expected_totals == totals);
  CHECK(expected.commit_candidate(chosen) == actual.commit_candidate(chosen));
  CHECK(same(kept_distances(expected), kept_distances(actual)));
}

/// Compares the rows of a seeding with those of the definition.
void check_seeds(Points& expected, Points& actual, std::int64_t k) {
  Observer silent;
  const Weights equal = equal_weights(expected.rows());
  const auto wanted = greedy_kmeans_plus_plus(expected, equal, k, {3, 0}, silent);
  CHECK(wanted == greedy_kmeans_plus_plus(actual, equal, k, {3, 0}, silent));
  CHECK(same(kept_distances(expected), kept_distances(actual)));
}

}  // namespace

TEST_CASE("greedy k-means++ chooses the rows of the definition", "[seeding]") {
  for (const auto& [n, d, k] : {Shape{1100, 5, 20}, Shape{2100, 70, 30}, Shape{150, 200, 150}, Shape{33, 1, 33}}) {
    on_everything(n, d, {}, [&, rows = k](Points& expected, Points& actual, auto, const DataPlan&) {
      check_seeds(expected, actual, rows);
    });
  }
}

TEST_CASE("blocks and threads do not change the seeds", "[seeding]") {
  for (const std::int64_t block_rows : {1, 7, 100}) {
    on_everything(257, 17, {.threads = 3, .block_rows = block_rows},
                  [](Points& expected, Points& actual, auto, const DataPlan&) { check_seeds(expected, actual, 12); });
  }
}

// Device memory for part of the points only.
TEST_CASE("little device memory does not change the seeds", "[seeding]") {
  for (const std::int64_t bytes : {std::int64_t{3} << 20, std::int64_t{8} << 20}) {
    const Matrix<double> values = kinds()[0].make(9000, 128, 5);  // 4.6 MB as float32
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const auto expected = reference_points(values.view());
    const DataPlan plan = make_plan(*expected);
    for (const Tested& tested : tested_backends({.device_memory = bytes})) {
      INFO(tested.name << ", " << bytes << " bytes");
      const auto actual = tested.backend->hold({view_of(stored), 0});
      actual->prepare(plan);
      check_seeds(*expected, *actual, 6);
    }
  }
}

/// Each candidate equals a seed, or is one float64 or float32 step away in one column: its D equals the minimum, or
/// differs in the last bits.
TEST_CASE("candidates that tie with the minimum distances equal the definition", "[seeding]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::int64_t d : {1, 3, 40, 130}) {
    on_everything(600, d, {}, [&](Points& expected, Points& actual, MatrixView<const double> values, const DataPlan&) {
      expected.reset();
      actual.reset();
      for (const std::int64_t row : {7, 300}) {
        CHECK(expected.update_min_distance(values.row(row)) == actual.update_min_distance(values.row(row)));
      }
      Matrix<double> candidates(kMostCandidates, d);
      for (std::int64_t t = 0; t < kMostCandidates; ++t) {
        const auto seed = values.row(t % 2 == 0 ? 7 : 300);
        std::copy(seed.begin(), seed.end(), candidates.row(t).begin());
        double& changed = candidates(t, t % d);
        if (t % 8 >= 6) {
          changed = std::nextafter(static_cast<float>(changed), t < 16 ? std::numeric_limits<float>::infinity() : 0.0F);
        } else if (t % 8 >= 2) {
          changed = std::nextafter(changed, t < 16 ? kInfinity : 0.0);
        }
      }
      const std::vector<double> kept = kept_distances(expected);
      if (!(*std::max_element(kept.begin(), kept.end()) > 0.0)) return;
      for (const std::int64_t count : {1, 8, 9, 17, kMostCandidates}) {
        check_trial(expected, actual, std::as_const(candidates).view().middle(0, count), count - 1);
      }
    });
  }
}

TEST_CASE("candidates so far away that screens overflow equal the definition", "[seeding]") {
  on_everything(257, 17, {}, [](Points& expected, Points& actual, MatrixView<const double> values, const DataPlan&) {
    expected.reset();
    actual.reset();
    CHECK(expected.update_min_distance(values.row(0)) == actual.update_min_distance(values.row(0)));
    const std::vector<double> kept = kept_distances(expected);
    if (!(*std::max_element(kept.begin(), kept.end()) > 0.0)) return;
    for (const double far : {300.0, 1e5, 1e15, 1e30, 1e100}) {
      Matrix<double> candidates = centroids_near(values, 5);
      for (double& v : candidates.row(2)) v += far;
      candidates(3, 4) -= far;
      check_trial(expected, actual, candidates.view(), 1);
    }
  });
}
