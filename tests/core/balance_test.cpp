// Balanced cluster sizes: the moves against an exhaustive search, and limits that are kept or refused.
#include <algorithm>
#include <limits>
#include <tuple>

#include "core/balance.h"
#include "core/label_result.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// The reference: one move after the other, each found by search over all rows and clusters.
std::vector<std::int32_t> balanced_by_hand(const Matrix<double>& values, const Matrix<double>& centroids,
                                           const SizeLimits& limits, std::vector<std::int32_t> labels) {
  const std::int64_t d = values.columns();
  std::vector<std::int64_t> counts(centroids.rows(), 0);
  for (const std::int32_t label : labels) ++counts[label];
  for (const std::int64_t size : {limits.largest, limits.smallest}) {
    while (size > 0) {
      std::tuple<double, std::int64_t, std::int32_t> best{std::numeric_limits<double>::infinity(), -1, -1};
      for (std::int64_t i = 0; i < values.rows(); ++i) {
        if (counts[labels[i]] <= size) continue;
        std::pair<double, std::int32_t> nearest{std::numeric_limits<double>::infinity(), -1};
        for (std::int32_t c = 0; c < static_cast<std::int32_t>(counts.size()); ++c) {
          if (counts[c] >= size) continue;
          nearest = std::min(nearest, {reference_distance(values.row(i).data(), centroids.row(c).data(), d), c});
        }
        if (nearest.second < 0) continue;
        const double own = reference_distance(values.row(i).data(), centroids.row(labels[i]).data(), d);
        best = std::min(best, {nearest.first - own, i, nearest.second});
      }
      if (std::get<1>(best) < 0) break;
      --counts[labels[std::get<1>(best)]];
      labels[std::get<1>(best)] = std::get<2>(best);
      ++counts[std::get<2>(best)];
    }
  }
  return labels;
}

}  // namespace

TEST_CASE("sizes are balanced by moves of least regret on every backend", "[balance]") {
  for (const Shape shape : {Shape{60, 1, 4}, Shape{240, 3, 7}, Shape{200, 40, 12}}) {
    for (const int kind : {1, 2}) {
      const Matrix<double> values = kinds()[kind].make(shape.n, shape.d, 5);
      const KMeansResult plain = run(*reference_points(values.view()), {.clusters = shape.k, .keep_distances = true});
      const std::vector<std::int32_t> nearest(plain.labels.begin(), plain.labels.end());
      const std::int64_t even = shape.n / shape.k;
      for (const SizeLimits limits :
           {SizeLimits{even - 1, 0}, SizeLimits{0, even + 2}, SizeLimits{even - 2, even + 1}, SizeLimits{1, shape.n}}) {
        const std::vector<std::int32_t> expected = balanced_by_hand(values, plain.centroids, limits, nearest);
        std::vector<std::int64_t> counts(shape.k, 0);
        std::int64_t moved = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ++counts[expected[i]];
          moved += expected[i] != nearest[i] ? 1 : 0;
        }
        for (const std::int64_t count : counts) {
          CHECK(count >= limits.smallest);
          CHECK((limits.largest == 0 || count <= limits.largest));
        }
        for (const Tested& tested : every_backend()) {
          INFO(tested.name << ", " << limits.smallest << " to " << limits.largest << ", d " << shape.d);
          const PointsMatrix stored = as_class(values.view(), ValueClass::f64);
          const auto points = tested.backend->hold({view_of(stored), 0});
          const DataPlan plan = make_plan(*points);
          points->prepare(plan);
          std::vector<std::int32_t> labels = nearest;
          CHECK(balance(*points, plain.centroids.view(), limits, labels) == moved);
          CHECK(labels == expected);
          const KMeansResult result = result_from_labels(*points, plan, labels, plain.centroids.view(), {});
          CHECK(result.counts == counts);
          double inertia = 0.0;
          for (std::int64_t i = 0; i < shape.n; ++i) {
            inertia += reference_distance(values.row(i).data(), result.centroids.row(labels[i]).data(), shape.d);
          }
          CHECK(result.inertia == Approx(inertia).epsilon(1e-12));
        }
      }
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
