// Balanced cluster sizes: assignments of least cost within limits, the steps that follow, and limits that are refused.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/kmeans/balance.h"
#include "core/kmeans/result.h"
#include "core/kmeans/size_assignment.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> counts_of(const std::vector<std::int32_t>& labels, std::int64_t clusters) {
  std::vector<std::int64_t> counts(clusters, 0);
  for (const std::int32_t label : labels) ++counts[label];
  return counts;
}

double cost_of(const Matrix<double>& distances, const std::vector<std::int32_t>& labels) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < distances.rows(); ++i) sum += distances(i, labels[i]);
  return sum;
}

/// The largest saving by a cycle of changes between clusters, one row each, which may begin and end at different
/// clusters if their sizes admit it (Floyd, Warshall 1962). 0 if and only if no labels of these limits cost less.
double largest_saving(const Matrix<double>& distances, const std::vector<std::int32_t>& labels,
                      const SizeRange& sizes) {
  const std::int64_t k = distances.columns();
  Matrix<double> change(k + 1, k + 1);
  std::fill_n(change.data(), change.size(), kNone);
  for (std::int64_t i = 0; i < distances.rows(); ++i) {
    for (std::int64_t c = 0; c < k; ++c) {
      double& least = change(labels[i], c);
      if (c != labels[i]) least = std::min(least, distances(i, c) - distances(i, labels[i]));
    }
  }
  const std::vector<std::int64_t> counts = counts_of(labels, k);
  for (std::int64_t c = 0; c < k; ++c) {  // a path through the last node ends at one cluster and begins at another
    if (counts[c] < sizes.largest[c]) change(c, k) = 0.0;
    if (counts[c] > sizes.smallest[c]) change(k, c) = 0.0;
  }
  for (std::int64_t via = 0; via <= k; ++via) {
    for (std::int64_t a = 0; a <= k; ++a) {
      for (std::int64_t b = 0; b <= k; ++b) change(a, b) = std::min(change(a, b), change(a, via) + change(via, b));
    }
  }
  double saving = 0.0;
  for (std::int64_t c = 0; c <= k; ++c) saving = std::max(saving, -change(c, c));
  return saving;
}

Matrix<double> distances_of(const Matrix<double>& values, const Matrix<double>& centroids) {
  Matrix<double> distances(values.rows(), centroids.rows());
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    for (std::int64_t c = 0; c < centroids.rows(); ++c) {
      distances(i, c) = reference_distance(values.row(i).data(), centroids.row(c).data(), values.columns());
    }
  }
  return distances;
}

}  // namespace

TEST_CASE("assignments within sizes have the least cost, also from given prices and with different limits",
          "[balance]") {
  for (const Shape shape : {Shape{40, 1, 4}, Shape{300, 3, 7}, Shape{60, 40, 50}, Shape{1000, 2, 3}}) {
    for (const int kind : {1, 2}) {
      const Matrix<double> values = kinds()[kind].make(shape.n, shape.d, 5);
      const Matrix<double> distances = distances_of(values, kinds()[kind].make(shape.k, shape.d, 6));
      const double largest = *std::max_element(distances.data(), distances.data() + distances.size());
      const double grid = std::ldexp(1.0, cost_bits(shape.k) - exponent_above(largest));
      Matrix<std::int64_t> costs(shape.n, shape.k);
      for (std::int64_t i = 0; i < costs.size(); ++i) costs.data()[i] = std::llrint(distances.data()[i] * grid);
      std::vector<std::int64_t> prices(shape.k, 0);
      for (int form = 0; form < 4; ++form) {
        SizeRange sizes{std::vector<std::int64_t>(shape.k, shape.n / shape.k),
                        std::vector<std::int64_t>(shape.k, (shape.n + shape.k - 1) / shape.k)};
        for (std::int64_t c = 0; c < shape.k; ++c) {
          if (form == 1) sizes.smallest[c] = 0;
          if (form == 2) sizes.largest[c] = shape.n;
          if (form == 3) sizes = {std::vector<std::int64_t>(shape.k, 0), std::vector<std::int64_t>(shape.k, shape.n)};
        }
        if (form == 2) sizes.largest[0] = sizes.smallest[0] = 0;  // a cluster that takes none
        INFO(shape.n << " x " << shape.d << ", k " << shape.k << ", kind " << kind << ", form " << form);
        // The prices of the form before are those of other limits.
        const std::vector<std::int32_t> labels = assign_within_sizes(costs.view(), sizes, prices);
        const std::vector<std::int64_t> counts = counts_of(labels, shape.k);
        for (std::int64_t c = 0; c < shape.k; ++c) {
          CHECK(counts[c] >= sizes.smallest[c]);
          CHECK(counts[c] <= sizes.largest[c]);
        }
        CHECK(largest_saving(distances, labels, sizes) <= 1e-12 * largest);
        std::vector<std::int64_t> unknown(shape.k, 0);
        CHECK(cost_of(distances, assign_within_sizes(costs.view(), sizes, unknown)) ==
              Approx(cost_of(distances, labels)).epsilon(1e-12));
      }
    }
  }
  // Equal costs.
  Matrix<std::int64_t> equal(9, 3);
  std::fill_n(equal.data(), equal.size(), 7);
  std::vector<std::int64_t> prices(3, 0);
  const SizeRange sizes{{3, 3, 3}, {3, 3, 3}};
  CHECK(counts_of(assign_within_sizes(std::as_const(equal).view(), sizes, prices), 3) == sizes.smallest);
}

TEST_CASE("sizes are balanced with the same labels on every backend, and steps lower the inertia", "[balance]") {
  for (const Shape shape : {Shape{60, 1, 4}, Shape{240, 3, 7}, Shape{200, 40, 12}}) {
    for (const int kind : {1, 2}) {
      const Matrix<double> values = kinds()[kind].make(shape.n, shape.d, 5);
      const KMeansResult plain = run(*reference_points(values.view()), {.clusters = shape.k, .keep_distances = true});
      const std::vector<std::int32_t> nearest(plain.labels.begin(), plain.labels.end());
      const Matrix<double> distances = distances_of(values, plain.centroids);
      const std::int64_t even = shape.n / shape.k;
      for (const SizeLimits limits :
           {SizeLimits{even - 1, 0}, SizeLimits{0, even + 2}, SizeLimits{even - 2, even + 1}, SizeLimits{1, shape.n}}) {
        const SizeRange sizes{std::vector<std::int64_t>(shape.k, limits.smallest),
                              std::vector<std::int64_t>(shape.k, limits.largest > 0 ? limits.largest : shape.n)};
        std::vector<std::int32_t> expected;
        for (const Tested& tested : every_backend()) {
          INFO(tested.name << ", " << limits.smallest << " to " << limits.largest << ", d " << shape.d);
          const PointsMatrix stored = as_class(values.view(), ValueClass::f64);
          const auto points = tested.backend->hold({view_of(stored), 0});
          const DataPlan plan = make_plan(*points);
          points->prepare(plan);
          const RowStore store(view_of(stored), *tested.backend);
          Observer silent;
          const BalanceRequest request{plain.centroids.view(), nearest, limits};
          const Balanced once = balance(*points, plan, store, request, {.max_iterations = 1}, silent);
          CHECK(largest_saving(distances, once.labels, sizes) <= 1e-12 * plain.inertia);
          const Balanced all = balance(*points, plan, store, request, {}, silent);
          if (expected.empty()) expected = all.labels;
          CHECK(all.labels == expected);
          const KMeansResult result = result_from_labels(*points, plan, all.labels, all.centroids.view(), {});
          CHECK(result.counts == counts_of(all.labels, shape.k));
          for (const std::int64_t count : result.counts) {
            CHECK(count >= limits.smallest);
            CHECK((limits.largest == 0 || count <= limits.largest));
          }
          CHECK(result.inertia <= cost_of(distances, once.labels) * (1.0 + 1e-12));
          CHECK(result.inertia == Approx(cost_of(distances_of(values, result.centroids), all.labels)).epsilon(1e-12));
          CHECK(all.converged);
          if (limits.smallest == 1) CHECK((all.labels == nearest && all.steps == 0));
        }
      }
    }
  }
}

TEST_CASE("assignments that are too large to be exact cost at most 1 % more, within the same limits", "[balance]") {
  const std::int64_t n = 6000, d = 4, k = 12;
  const Matrix<double> values = kinds()[2].make(n, d, 5), centroids = kinds()[2].make(k, d, 6);
  const Matrix<double> distances = distances_of(values, centroids);
  const std::vector<std::int32_t> labels(n, 0);
  for (const Tested& tested : every_backend()) {
    const PointsMatrix stored = as_class(values.view(), ValueClass::f64);
    const auto points = tested.backend->hold({view_of(stored), 0});
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    const RowStore store(view_of(stored), *tested.backend);
    Observer silent;
    const auto cost = [&](const SizeLimits& limits, std::int64_t exact_costs) {
      const Balanced found =
          balance(*points, plan, store, {centroids.view(), labels, limits, exact_costs}, {.max_iterations = 1}, silent);
      for (const std::int64_t count : counts_of(found.labels, k)) {
        CHECK(count >= limits.smallest);
        CHECK((limits.largest == 0 || count <= limits.largest));
      }
      return cost_of(distances, found.labels);
    };
    for (const SizeLimits limits : {SizeLimits{500, 500}, SizeLimits{0, 520}, SizeLimits{480, 0}}) {
      INFO(tested.name << ", " << limits.smallest << " to " << limits.largest);
      const double least = cost(limits, kExactCosts);
      for (const std::int64_t rows : {2000, 1000}) CHECK(cost(limits, rows * k) <= 1.01 * least);
      CHECK(cost(limits, 50 * k) >= least);  // many rounds: the limits hold, whatever the cost
    }
  }
}

TEST_CASE("size limits that no clustering can keep are refused", "[balance]") {
  CHECK_NOTHROW(check_limits({3, 4}, 10, 3));
  CHECK_THROWS_WITH(check_limits({4, 0}, 10, 3),
                    "smallest cluster size 4: expected at most 3 for 10 rows in 3 clusters");
  CHECK_THROWS_WITH(check_limits({0, 3}, 10, 3),
                    "largest cluster size 3: expected at least 4 for 10 rows in 3 clusters");
  CHECK_THROWS_WITH(check_limits({5, 4}, 10, 2),
                    "smallest cluster size 5: expected at most the largest cluster size, 4");
}
