// Bounds on labels (core/kmeans/bounds.h) against the definition: no bound certifies a wrong label, and repeated
// assignments have the labels of the definition on every backend.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kmeans/bounds.h"
#include "core/numbers/philox.h"
#include "core/points/data_plan.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The definition's distance from a row to every centroid.
std::vector<double> distances_to(std::span<const double> row, const Matrix<double>& centroids) {
  std::vector<double> all;
  for (std::int64_t c = 0; c < centroids.rows(); ++c) {
    all.push_back(squared_distance(row.data(), centroids.row(c).data(), centroids.columns()));
  }
  return all;
}

std::int64_t nearest_of(const std::vector<double>& all) {
  return std::min_element(all.begin(), all.end()) - all.begin();
}

/// The bound of a row from distances with a small error, as those of a screen have.
float bound_from(const std::vector<double>& all, std::int64_t label) {
  double other = kInfinity;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (static_cast<std::int64_t>(c) != label) other = std::min(other, all[c]);
  }
  const double error = 1e-6 * all[label] + 1e-9 * other;
  return bound_of(static_cast<float>((all[label] + error) * (1 + 1e-6)),
                  static_cast<float>(std::max(0.0, (other - all[label]) * (1 - 1e-6) - 2 * error)));
}

/// Moves three of four centroids by up to `amount` / 2 of each coordinate.
void move_centroids(Matrix<double>& centroids, double amount, std::uint64_t round) {
  for (std::int64_t c = 0; c < centroids.rows(); ++c) {
    if ((c + static_cast<std::int64_t>(round)) % 4 == 0) continue;
    for (std::int64_t j = 0; j < centroids.columns(); ++j) {
      const double random =
          static_cast<double>(random_bits(round, static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(j)) >> 11) *
          0x1p-53;
      centroids(c, j) += amount * (random - 0.5) * std::abs(centroids(c, j));
    }
  }
}

}  // namespace

TEST_CASE("a row whose bound is above the guard keeps the label of the definition", "[bounds]") {
  std::int64_t kept = 0, recomputed = 0, changed = 0;
  for (const int kind : {0, 1, 2, 5, 6, 12}) {
    for (const double amount : {1e-7, 1e-3, 0.05, 0.3}) {
      INFO(kinds()[kind].name << ", amount " << amount);
      const Matrix<double> rows = kinds()[kind].make(300, 19, 5);
      Matrix<double> centroids = centroids_near(rows.view(), 9);
      std::vector<std::int64_t> label(300);
      std::vector<float> bound(300, 0.0F);
      for (std::uint64_t round = 0; round < 12; ++round) {
        const Matrix<double> before = [&] {
          Matrix<double> copy(centroids.rows(), centroids.columns());
          std::copy_n(centroids.data(), centroids.size(), copy.data());
          return copy;
        }();
        if (round > 0) move_centroids(centroids, amount, round);
        std::vector<float> shift;
        for (std::int64_t c = 0; c < centroids.rows(); ++c) {
          shift.push_back(shift_bound(squared_distance(before.row(c).data(), centroids.row(c).data(), 19), 19, 1.0));
        }
        for (std::int64_t i = 0; i < rows.rows(); ++i) {
          const std::vector<double> all = distances_to(rows.row(i), centroids);
          float others = 0.0F;
          for (std::int64_t c = 0; c < centroids.rows(); ++c) {
            if (c != label[i]) others = std::max(others, shift[c]);
          }
          bound[i] = lowered_bound(bound[i], shift[label[i]], others);
          const double farthest = std::sqrt(*std::max_element(all.begin(), all.end()));
          const std::int64_t nearest = nearest_of(all);
          if (bound[i] > bound_guard(farthest, 19)) {
            ++kept;
            CHECK(label[i] == nearest);
            continue;
          }
          ++recomputed;
          changed += round > 0 && label[i] != nearest ? 1 : 0;
          label[i] = nearest;
          bound[i] = bound_from(all, nearest);
        }
      }
    }
  }
  // All three cases occur, so the check above is not vacuous.
  CHECK(kept > 10000);
  CHECK(recomputed > 10000);
  CHECK(changed > 1000);
}

TEST_CASE("bounds and shifts round outwards", "[bounds]") {
  for (const double a : {1e-12, 0.3, 7.0, 1e9}) {
    for (const double more : {1e-6, 1e-3, 1.0, 1e6}) {
      const double b = a * (1 + more);
      const float own = std::nextafter(static_cast<float>(a * a), std::numeric_limits<float>::infinity());
      const float difference = std::nextafter(static_cast<float>(b * b - a * a), 0.0F);
      const float bound = bound_of(own, difference);
      CHECK(static_cast<double>(bound) <= b - a);
      CHECK(static_cast<double>(bound) >= (b - a) * 0.999);
      const float shift = shift_bound(b * b, 100, 0x1p8);
      CHECK(static_cast<double>(shift) >= b * 0x1p8);
      CHECK(static_cast<double>(shift) <= b * 0x1p8 * 1.00001);
      const float lowered = lowered_bound(static_cast<float>(b), 0.0F, static_cast<float>(a));
      CHECK(static_cast<double>(lowered) <=
            static_cast<double>(static_cast<float>(b)) - static_cast<double>(static_cast<float>(a)));
    }
  }
}

TEST_CASE("a centroid beyond the reach of a guess is farther than the best", "[bounds]") {
  std::int64_t excluded = 0, reached = 0;
  for (const int kind : {0, 1, 2, 5, 6, 12}) {
    for (const double unit : {1.0, 0x1p-20, 0x1p30}) {
      INFO(kinds()[kind].name << ", unit " << unit);
      const Matrix<double> rows = kinds()[kind].make(200, 19, 5);
      const Matrix<double> centroids = centroids_near(rows.view(), 40);
      for (std::int64_t i = 0; i < rows.rows(); ++i) {
        const std::vector<double> all = distances_to(rows.row(i), centroids);
        for (const std::int64_t guess : {nearest_of(all), i % 40, i * 7 % 40}) {
          const std::vector<double> between = distances_to(centroids.row(guess), centroids);
          for (const double best : {all[nearest_of(all)], all[guess]}) {
            const float reach = candidate_reach(distance_above(all[guess], unit), best, unit);
            for (std::size_t c = 0; c < all.size(); ++c) {
              if (!(distance_below(between[c], unit) > reach)) {
                ++reached;
                continue;
              }
              ++excluded;
              if (!(all[c] > best)) CHECK(all[c] > best);
            }
          }
        }
      }
    }
  }
  CHECK(excluded > 10000);
  CHECK(reached > 10000);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(!(distance_below(kInfinity, 1.0) > 0.0F));
  CHECK(!(distance_below(1.0, 1.0) > candidate_reach(nan, 1.0, 1.0)));
  CHECK(!(distance_below(1.0, 1.0) > candidate_reach(infinity, 1.0, 1.0)));
  CHECK(!(distance_below(1e300, 1.0) > candidate_reach(1.0F, kInfinity, 1.0)));
}

TEST_CASE("bounds of distances round outwards", "[bounds]") {
  for (const double a : {0.0, 1e-170, 1e-12, 0.3, 7.0, 1e9, 1e150}) {
    for (const double rounding : {-1.0, 0.0, 1.0}) {
      const double squared = a * a * (1 + rounding * definition_rounding(100));
      CHECK(distance_at_least(squared, 100) <= a);
      CHECK(distance_at_most(squared, 100) >= a);
      if (a > 1e-100) CHECK(distance_at_least(squared, 100) >= a * (1 - 1e-14));
      if (a > 1e-100) CHECK(distance_at_most(squared, 100) <= a * (1 + 1e-14));
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(distance_at_least(kInfinity, 3) == 0.0);
  CHECK(distance_at_least(nan, 3) == 0.0);
  CHECK(distance_at_most(kInfinity, 3) == kInfinity);
  CHECK(rounded_down(1.0) < 1.0);
  CHECK(rounded_down(-1.0) < -1.0);
  CHECK(rounded_down(kInfinity) == kInfinity);
}

TEST_CASE("infinite and NaN bounds certify no label", "[bounds]") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto certifies = [](float bound, double largest) { return bound > bound_guard(largest, 10); };
  CHECK(certifies(1.0F, 100.0));
  CHECK(!certifies(bound_of(infinity, 1.0F), 1.0));
  CHECK(!certifies(bound_of(infinity, infinity), 1.0));
  CHECK(!certifies(bound_of(0.0F, 0.0F), 1.0));
  CHECK(!certifies(bound_of(nan, 1.0F), 1.0));
  CHECK(!certifies(bound_of(1.0F, nan), 1.0));
  CHECK(!certifies(bound_of(-1.0F, 1.0F), 1.0));
  CHECK(!certifies(lowered_bound(1.0F, infinity, 0.0F), 1.0));
  CHECK(!certifies(lowered_bound(1.0F, 0.0F, shift_bound(kInfinity, 3, 1.0)), 1.0));
  CHECK(!certifies(lowered_bound(nan, 0.0F, 0.0F), 1.0));
  CHECK(!certifies(1.0F, kInfinity));
  CHECK(!certifies(1.0F, std::numeric_limits<double>::quiet_NaN()));
  CHECK(!certifies(0.0F, 0.0));
}

namespace {

/// Result of one assignment.
struct Assigned {
  Assignment assignment;
  std::vector<std::int32_t> labels;
};

Assigned assign(Points& points, const Matrix<double>& centroids) {
  Assigned result{Assignment(centroids.rows()), std::vector<std::int32_t>(static_cast<std::size_t>(points.rows()))};
  points.assign({centroids.view()}, result.assignment);
  points.labels(result.labels);
  return result;
}

constexpr std::size_t kUnchanged = 3;  // index of an assignment to unchanged centroids

/// Repeated assignments: to centroids that do not move, move slightly or far; after relabelling a row; to fewer
/// centroids; and after a reset. values: those of the points.
std::vector<Assigned> assign_repeatedly(Points& points, const Matrix<double>& values, const DataPlan& plan,
                                        std::int64_t clusters) {
  points.prepare(plan);
  std::vector<Assigned> all;
  Matrix<double> centroids = centroids_near(values.view(), clusters);
  // Unless the sums are updated, every label counts as changed, as in a first assignment.
  ClusterSums ignored(clusters, values.columns(), plan.scales.limbs);
  const auto step = [&] {
    all.push_back(assign(points, centroids));
    points.update_sums(ignored);
  };
  for (std::size_t repeat = 0; repeat <= kUnchanged; ++repeat) step();
  std::uint64_t round = 0;
  for (const double amount : {1e-15, 1e-7, 1e-5, 1e-3, 0.02, 1e-4, 0.3, 1e-4, 1e-4}) {
    move_centroids(centroids, amount, ++round);
    step();
  }
  const std::int64_t row = values.rows() / 2;
  points.relabel(row, (all.back().labels[static_cast<std::size_t>(row)] + 1) % static_cast<std::int32_t>(clusters));
  step();
  step();
  const Matrix<double> fewer = centroids_near(values.view(), (clusters + 1) / 2);
  for (int repeat = 0; repeat < 3; ++repeat) all.push_back(assign(points, fewer));
  points.reset();
  for (int repeat = 0; repeat < 3; ++repeat) step();
  return all;
}

void check_same(const std::vector<Assigned>& expected, const std::vector<Assigned>& actual) {
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("assignment " << i);
    CHECK(expected[i].assignment.counts == actual[i].assignment.counts);
    CHECK(expected[i].assignment.changed == actual[i].assignment.changed);
    const auto wrong =
        std::mismatch(expected[i].labels.begin(), expected[i].labels.end(), actual[i].labels.begin()).first;
    INFO("first wrong label at row " << wrong - expected[i].labels.begin());
    CHECK((wrong == expected[i].labels.end()));
  }
}

/// Compares every backend with the reference, for both value classes if the kind allows it.
void check_repeated(const Kind& kind, Shape shape, const std::vector<Tested>& backends) {
  const Matrix<double> values = kind.make(shape.n, shape.d, 6);
  const auto reference = reference_points(values.view());
  const DataPlan plan = make_plan(*reference);
  const std::vector<Assigned> expected = assign_repeatedly(*reference, values, plan, shape.k);
  for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
    if (c == ValueClass::f32 && !kind.exact_in_float32) continue;
    const PointsMatrix stored = as_class(values.view(), c);
    for (const Tested& tested : backends) {
      INFO(tested.name << ", " << kind.name << ", " << name_of(c) << ", n " << shape.n << ", d " << shape.d << ", k "
                       << shape.k);
      const auto points = tested.backend->hold({view_of(stored), 0});
      check_same(expected, assign_repeatedly(*points, values, plan, shape.k));
    }
  }
}

}  // namespace

constexpr ForcedPaths kForceBounds{.bounds = true};

TEST_CASE("repeated assignments have the labels of the definition", "[bounds][kernels]") {
  const std::vector<Tested> backends = every_backend({}, kForceBounds);
  for (const Kind& kind : kinds()) {
    for (const Shape shape : {Shape{700, 20, 7}, Shape{400, 65, 130}, Shape{300, 17, 800}, Shape{500, 3, 40}}) {
      check_repeated(kind, shape, backends);
    }
  }
}

TEST_CASE("local screens have the labels of the definition", "[local][kernels]") {
  for (const bool bounds : {false, true}) {
    const std::vector<Tested> backends = every_backend({}, {.bounds = bounds, .local_screen = true});
    for (const Kind& kind : kinds()) check_repeated(kind, bounds ? Shape{700, 33, 130} : Shape{400, 65, 40}, backends);
  }
}

// With any block size, and on devices where rows are sent but their fp16 copies stay or are made by block.
TEST_CASE("repeated assignments do not depend on blocks", "[bounds][kernels]") {
  BackendOptions options;
  for (const std::int64_t block : {100, 256, 512}) {
    options.block_rows = block;
    const std::vector<Tested> backends = every_backend(options, {.bounds = true, .fp16_by_block = block == 256});
    for (const Shape shape : {Shape{900, 64, 33}, Shape{900, 33, 800}}) {
      INFO("blocks of " << block);
      check_repeated(kinds()[0], shape, backends);
    }
  }
}

TEST_CASE("bounds skip rows of unchanged centroids on the CPU", "[bounds][kernels]") {
  const std::vector<Tested> backends = every_backend({}, kForceBounds);
  for (const Shape shape : {Shape{2000, 64, 40}, Shape{2000, 64, 800}, Shape{2000, 5, 40}}) {
    const Matrix<double> values = kinds()[0].make(shape.n, shape.d, 6);
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    for (const Tested& tested : backends) {
      if (tested.name.starts_with("cuda")) continue;  // keeps none
      INFO(tested.name << ", d " << shape.d << ", k " << shape.k);
      const auto points = tested.backend->hold({view_of(stored), 0});
      const std::vector<Assigned> all = assign_repeatedly(*points, values, make_plan(*points), shape.k);
      CHECK(all[0].assignment.screened == values.rows());
      CHECK(all[kUnchanged].assignment.screened < values.rows() / 2);
    }
  }
}

TEST_CASE("after many ambiguous rows in bfloat16 the next assignment uses a finer screen", "[bounds][kernels]") {
  const Matrix<double> values = kinds()[0].make(2000, 64, 6);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  for (const Tested& tested : every_backend()) {
    if (tested.name != "cpu amx" && tested.name != "cpu bf16") continue;
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0});
    const std::vector<Assigned> all = assign_repeatedly(*points, values, make_plan(*points), 520);
    CHECK(all[0].assignment.ambiguous > values.rows() / 2);
    CHECK(all[1].assignment.ambiguous < all[0].assignment.ambiguous / 2);
  }
}
