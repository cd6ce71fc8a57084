// iterate() on every backend against one operation at a time.
#include <algorithm>
#include <random>

#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

// A backend may run whole iterations, for small problems in a different way than for large ones, with equal results.
TEST_CASE("iterate() equals iterations made of single operations", "[kmeans][iterate]") {
  struct Case {
    const char* what;
    int kind;
    Shape shape;
    std::uint64_t seed;
    Init init;
    int max_iterations;
    double tolerance;
    std::size_t relocates = 0;  // the iteration after the first with an empty cluster, 0: none
  };
  const Case cases[] = {
      {"167 iterations", 0, {3000, 1, 30}, 1, Init::random, 1000, 0.0},
      {"152 iterations in two limbs", 10, {3000, 1, 30}, 1, Init::first, 1000, 0.0},
      {"no more iterations than allowed", 0, {3000, 1, 30}, 1, Init::random, 66, 0.0},
      {"one iteration", 1, {500, 5, 9}, 1, Init::random, 1, 1e-4},
      {"the tolerance stops", 1, {5000, 16, 10}, 1, Init::random, 300, 1e-4},
      {"more columns than a thread takes", 1, {5000, 17, 10}, 1, Init::random, 300, 1e-4},
      {"one cluster", 1, {400, 40, 1}, 1, Init::first, 300, 0.0},
      {"an empty cluster in the third iteration", 1, {400, 1, 60}, 7, Init::first, 1000, 0.0, 2},
      {"an empty cluster in the second, two limbs", 10, {400, 1, 60}, 9, Init::first, 1000, 0.0, 1},
      {"empty clusters in the second, many columns", 0, {300, 600, 15}, 2, Init::random, 1000, 0.0, 1},
      {"many clusters", 1, {2500, 10, 1030}, 1, Init::first, 1000, 0.0},
      {"many clusters of wide rows", 2, {1500, 12, 1030}, 1, Init::first, 1000, 0.0},
      {"many columns", 1, {700, 130, 70}, 1, Init::first, 1000, 0.0},
      {"many columns in two limbs", 10, {700, 132, 70}, 1, Init::first, 1000, 0.0},
      {"more clusters than a block counts", 1, {4500, 1, 4200}, 1, Init::first, 2, 0.0},
      {"to the end, tens of clusters", 0, {4000, 65, 140}, 1, Init::random, 1000, 0.0},
      {"to the end, hundreds of clusters", 1, {3000, 20, 530}, 1, Init::random, 1000, 0.0},
      {"to the end, ties", 2, {3000, 70, 130}, 1, Init::random, 1000, 0.0},
      {"to the end, far from zero", 5, {3000, 70, 130}, 2, Init::random, 1000, 0.0},
      {"to the end, two limbs", 10, {3000, 70, 130}, 1, Init::random, 1000, 0.0},
      {"to the end, near ties", 12, {2000, 70, 130}, 1, Init::random, 1000, 0.0},
      {"to the end, duplicates and empty clusters", 4, {2000, 70, 130}, 1, Init::first, 1000, 0.0},
      {"clusters that nothing fills", 3, {2000, 70, 130}, 1, Init::first, 1000, 0.0},
      {"more clusters than different rows", 2, {20'000, 1, 1030}, 1, Init::first, 1000, 0.0},
      {"two columns", 0, {5000, 2, 16}, 1, Init::random, 1000, 0.0},
      {"three columns of whole numbers", 2, {3000, 3, 64}, 1, Init::random, 1000, 0.0},
      {"four columns in two limbs", 10, {3000, 4, 33}, 1, Init::random, 1000, 0.0},
      {"eight columns", 0, {3000, 8, 40}, 1, Init::random, 1000, 0.0},
      {"three columns that products do not decide", 12, {33'000, 3, 40}, 1, Init::random, 3, 0.0},
      {"64 columns, few clusters", 0, {1797, 64, 10}, 1, Init::random, 1000, 0.0},
      {"256 columns", 1, {600, 256, 9}, 1, Init::first, 1000, 0.0},
  };
  std::vector<Tested> backends = every_backend();
  for (Tested& tested : tested_backends({.threads = 3, .block_rows = 100})) {
    backends.push_back({tested.name + " in small pieces", std::move(tested.backend)});
  }
  for (Tested& tested : tested_backends({}, {.bounds = true})) {
    backends.push_back({tested.name + " with gaps", std::move(tested.backend)});
  }
  for (Tested& tested : composed_backends()) backends.push_back(std::move(tested));
  for (const Case& c : cases) {
    const Matrix<double> values = kinds()[c.kind].make(c.shape.n, c.shape.d, c.seed);
    const KMeansOptions options{.clusters = c.shape.k,
                                .init = c.init,
                                .max_iterations = c.max_iterations,
                                .tolerance = c.tolerance,
                                .seed = c.seed,
                                .keep_distances = true};
    const KMeansResult expected = run(*reference_points(values.view()), options);
    REQUIRE(expected.history.size() > c.relocates);
    CHECK((c.relocates == 0 || expected.history[c.relocates].relocated > 0));
    for (const Tested& tested : backends) {
      for (const ValueClass value_class : {ValueClass::f32, ValueClass::f64}) {
        INFO(tested.name << ", " << c.what << ", " << name_of(value_class));
        check_same(expected, on(*tested.backend, values, value_class, options));
      }
    }
  }
}

// Copies of the farthest row fill the empty clusters with equal centroids, of which all but one are empty again.
TEST_CASE("relocations in many iterations equal those of single operations", "[kmeans][iterate]") {
  constexpr std::int64_t kDifferent = 400, kColumns = 48;
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal;
  Matrix<double> different(kDifferent, kColumns), values(9000, kColumns);
  for (std::int64_t i = 0; i < different.size(); ++i) different.data()[i] = normal(random);
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    const auto from = different.row(static_cast<std::int64_t>(random() % kDifferent));
    std::copy(from.begin(), from.end(), values.row(i).begin());
  }
  const KMeansOptions options{
      .clusters = 150, .init = Init::random, .max_iterations = 40, .tolerance = 0.0, .seed = 3, .keep_distances = true};
  const KMeansResult expected = run(*reference_points(values.view()), options);
  CHECK(std::count_if(expected.history.begin(), expected.history.end(),
                      [](const auto& iteration) { return iteration.relocated > 0; }) >= 8);
  for (const Tested& tested : every_backend()) {
    for (const ValueClass value_class : {ValueClass::f32, ValueClass::f64}) {
      INFO(tested.name << ", " << name_of(value_class));
      check_same(expected, on(*tested.backend, values, value_class, options));
    }
  }
}
