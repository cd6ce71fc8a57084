// Initial centroids by k-means||, farthest-first traversal and labels: the same rows on every backend.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/result.h"
#include "core/kmeans/seeding.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

using Rows = std::vector<std::int64_t>;

std::vector<double> some_weights(std::int64_t n, double unit) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < n; ++i) weights.push_back(unit * static_cast<double>(1 + i % 7));
  return weights;
}

/// Checks that every backend chooses the rows of the definition, without weights and with both kinds of weights.
template <class Start>
void check_everywhere(Shape shape, const Start& start) {
  std::vector<Tested> backends = every_backend();
  for (Tested& tested : tested_backends({.threads = 3, .block_rows = 50})) {
    backends.push_back({tested.name + " in pieces", std::move(tested.backend)});
  }
  for (const Kind& kind : kinds()) {
    const Matrix<double> values = kind.make(shape.n, shape.d, 5);
    const PointsMatrix stored = stored_as(values.view(), storages(kind).back());
    for (const double unit : {0.0, 1.0, 0.3}) {
      const std::vector<double> row_weights = unit > 0 ? some_weights(shape.n, unit) : std::vector<double>();
      const Weights weights = unit > 0 ? checked_weights(row_weights, "weights") : equal_weights(shape.n);
      const auto reference = reference_points(values.view(), row_weights);
      const DataPlan plan = make_plan(*reference, weights);
      reference->prepare(plan);
      const Rows expected = start(*reference, plan);
      CHECK(std::set<std::int64_t>(expected.begin(), expected.end()).size() == static_cast<std::size_t>(shape.k));
      for (const Tested& tested : backends) {
        INFO(tested.name << ", " << kind.name << ", unit of weights " << unit);
        const auto points = tested.backend->hold({view_of(stored), 0, nullptr, row_weights});
        points->prepare(plan);
        CHECK(start(*points, plan) == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("the default start depends on the shape and the number of clusters alone", "[starts]") {
  CHECK(default_init(1, 1, 1) == Init::kmeans_plus_plus);
  for (const std::int64_t k : {1, 63}) {  // many values
    CHECK(default_init((std::int64_t{1} << 26) - 1, 128, k) == Init::kmeans_plus_plus);
    CHECK(default_init(std::int64_t{1} << 26, 128, k) == Init::kmeans_parallel);
    CHECK(default_init(std::int64_t{1} << 33, 1, k) == Init::kmeans_parallel);
    CHECK(default_init((std::int64_t{1} << 33) - 1, 1, k) == Init::kmeans_plus_plus);
  }
  CHECK(default_init(1 << 24, 1, 63) == Init::kmeans_plus_plus);  // many products
  CHECK(default_init(1 << 24, 1, 64) == Init::kmeans_parallel);
  CHECK(default_init((1 << 24) - 1, 1, 64) == Init::kmeans_plus_plus);
  CHECK(default_init(200'000, 64, 500) == Init::kmeans_parallel);
  CHECK(default_init(1797, 64, 1797) == Init::kmeans_plus_plus);
  CHECK(default_init(std::int64_t{1} << 40, 1 << 20, std::numeric_limits<std::int64_t>::max()) ==
        Init::kmeans_parallel);
}

TEST_CASE("k-means|| chooses the rows of the definition", "[starts]") {
  for (const std::int64_t k : {12, 40}) {  // more than 16 seeds: the lists of candidates as well
    check_everywhere({400, 6, k}, [k](Points& points, const DataPlan& plan) {
      Observer silent;
      return kmeans_parallel(points, plan, k, {7, 1}, silent);
    });
  }
}

TEST_CASE("k-means|| chooses among its candidates as greedy k-means++ among weighted rows", "[starts]") {
  const std::int64_t n = 3000, d = 5, k = 150;
  for (const Kind& kind : {kinds()[0], kinds()[1]}) {
    INFO(kind.name);
    const Matrix<double> values = kind.make(n, d, 5);
    const auto points = reference_points(values.view());
    const DataPlan plan = make_plan(*points, equal_weights(n));
    points->prepare(plan);
    Observer silent;
    SeedingPlace place;
    const Rows seeds = kmeans_parallel(*points, plan, k, {7, 1}, silent, {}, &place);
    const Rows& candidates = place.state.candidates;
    REQUIRE(std::ssize(candidates) > 3 * k);
    std::vector<double> counts(candidates.size(), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      std::size_t nearest = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        const double distance = reference_distance(values.row(i).data(), values.row(candidates[c]).data(), d);
        if (distance < least) nearest = c;
        least = std::min(least, distance);
      }
      counts[nearest] += 1.0;
    }
    REQUIRE(std::count(counts.begin(), counts.end(), 0.0) == 0);
    const Matrix<double> rows = rows_of_points(*points, candidates);
    const auto held = points->hold({.values = rows.view(), .weights = counts});
    const Weights weights = checked_weights(counts, "counts");
    held->prepare(make_plan(*held, weights));
    Rows expected = greedy_kmeans_plus_plus(*held, weights, k, {7, 1 + (std::uint64_t{1} << 32)}, silent);
    for (std::int64_t& row : expected) row = candidates[static_cast<std::size_t>(row)];
    CHECK(seeds == expected);
  }
}

TEST_CASE("farthest-first traversal chooses the rows of the definition", "[starts]") {
  const std::int64_t k = 9;
  check_everywhere({300, 5, k}, [k](Points& points, const DataPlan& plan) {
    Observer silent;
    return farthest_first_traversal(points, plan.weights, k, {7, 1}, silent);
  });
}

TEST_CASE("initialisation with given centroids chooses the rows of the definition", "[starts]") {
  const std::int64_t k = 7;
  const Matrix<double> given = kinds()[1].make(3, 5, 2);
  check_everywhere({200, 5, k}, [&](Points& points, const DataPlan& plan) {
    Observer silent;
    return farthest_first_traversal(points, plan.weights, k, {7, 1}, silent, given.view());
  });
  check_everywhere({200, 5, k}, [&](Points& points, const DataPlan& plan) {
    Observer silent;
    return kmeans_parallel(points, plan, k, {7, 1}, silent, given.view());
  });
}

TEST_CASE("farthest-first traversal always chooses the row farthest from those chosen before", "[starts]") {
  for (const int kind : {0, 1, 2}) {
    const Matrix<double> values = kinds()[kind].make(200, 3, 8);
    const auto points = reference_points(values.view());
    points->prepare(make_plan(*points));
    Observer silent;
    const Rows rows = farthest_first_traversal(*points, equal_weights(200), 6, {1, 0}, silent);
    for (std::size_t s = 1; s < rows.size(); ++s) {
      std::vector<double> nearest(200, 1e300);
      for (std::int64_t i = 0; i < 200; ++i) {
        for (std::size_t t = 0; t < s; ++t) {
          nearest[i] = std::min(nearest[i], reference_distance(values.row(i).data(), values.row(rows[t]).data(), 3));
        }
      }
      CHECK(rows[s] == std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
    }
  }
}

TEST_CASE("k-means|| chooses the same candidates from copies and from integral weights", "[starts]") {
  const Matrix<double> values = kinds()[0].make(150, 4, 3);
  const std::vector<double> row_weights = some_weights(150, 1.0);
  const auto total = static_cast<std::int64_t>(std::accumulate(row_weights.begin(), row_weights.end(), 0.0));
  Matrix<double> copies(total, 4);
  Rows row_of_copy;
  for (std::int64_t i = 0; i < 150; ++i) {
    for (double copy = 0; copy < row_weights[i]; ++copy) {
      std::copy(values.row(i).begin(), values.row(i).end(), copies.row(std::ssize(row_of_copy)).begin());
      row_of_copy.push_back(i);
    }
  }
  const auto copied = reference_points(copies.view()), weighted = reference_points(values.view(), row_weights);
  const DataPlan plan = make_plan(*copied),
                 weighted_plan = make_plan(*weighted, checked_weights(row_weights, "weights"));
  copied->prepare(plan);
  weighted->prepare(weighted_plan);
  Observer silent;
  Rows expected = kmeans_parallel(*copied, plan, 11, {5, 0}, silent);
  for (std::int64_t& row : expected) row = row_of_copy[row];
  CHECK(kmeans_parallel(*weighted, weighted_plan, 11, {5, 0}, silent) == expected);
}

TEST_CASE("k-means|| and farthest-first traversal end when no distinct rows are left", "[starts]") {
  for (const int kind : {3, 4}) {
    const Matrix<double> values = kinds()[kind].make(40, 3, 2);
    for (const Init init : {Init::kmeans_parallel, Init::farthest}) {
      Warnings warnings;
      const auto points = reference_points(values.view());
      const KMeansResult result = run(*points, {.clusters = 9, .init = init}, warnings);
      CHECK(result.inertia == 0.0);
      CHECK(result.empty_clusters == (kind == 3 ? 8 : 4));
      CHECK(warnings.said.size() == 1);
    }
  }
  const Matrix<double> values = kinds()[1].make(30, 2, 2);
  const auto points = reference_points(values.view());
  for (const Init init : {Init::kmeans_parallel, Init::farthest}) {
    CHECK(run(*points, {.clusters = 30, .init = init}).inertia == 0.0);
  }
}

TEST_CASE("k-means|| finds separated clusters", "[starts]") {
  const Matrix<double> values = kinds()[0].make(2100, 8, 3);  // seven blobs
  const auto points = reference_points(values.view());
  const double greedy = run(*points, {.clusters = 7}).inertia;
  CHECK(run(*points, {.clusters = 7, .init = Init::kmeans_parallel}).inertia <= greedy * (1 + 1e-9));
}

TEST_CASE("means of labels equal those of an iteration", "[starts]") {
  for (const Kind& kind : kinds()) {
    const Matrix<double> values = kind.make(300, 4, 6);
    for (const double unit : {0.0, 1.0, 0.3}) {
      const std::vector<double> row_weights = unit > 0 ? some_weights(300, unit) : std::vector<double>();
      const Weights weights = unit > 0 ? checked_weights(row_weights, "weights") : equal_weights(300);
      const auto points = reference_points(values.view(), row_weights);
      const DataPlan plan = make_plan(*points, weights);
      points->prepare(plan);
      Warnings ignored;
      const KMeansResult result =
          kmeans(*points, plan, {.clusters = 5, .max_iterations = 1000, .tolerance = 0}, ignored);
      if (result.empty_clusters > 0) {
        CHECK_THROWS_AS(means_of_labels(*points, plan, result.labels, 5), Error);
        continue;
      }
      if (result.stopped_by != "labels") continue;
      const Matrix<double> means = means_of_labels(*points, plan, result.labels, 5);
      INFO(kind.name << ", unit of weights " << unit);
      CHECK(std::equal(means.data(), means.data() + means.size(), result.centroids.data()));
      const PointsMatrix stored = stored_as(values.view(), storages(kind).front());
      for (const Tested& tested : tested_backends()) {
        const auto held = tested.backend->hold({view_of(stored), 0, nullptr, row_weights});
        held->prepare(plan);
        const Matrix<double> actual = means_of_labels(*held, plan, result.labels, 5);
        CHECK(std::equal(actual.data(), actual.data() + actual.size(), means.data()));
      }
    }
  }
}

TEST_CASE("known centroids affect an initialisation as frozen ones do") {
  const Shape shape{60, 3, 6};
  const Matrix<double> values = kinds().front().make(shape.n, shape.d, 7);
  const Matrix<double> known = kinds().front().make(2, shape.d, 8);
  Observer silent;
  for (const Init init : {Init::kmeans_plus_plus, Init::kmeans_parallel, Init::farthest, Init::random}) {
    const auto points = reference_points(values.view());
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    const auto start = [&](const KMeansOptions& options) {
      const Matrix<double> first = first_centroids(*points, plan, options, 1, silent);
      return std::vector<double>(first.data(), first.data() + first.size());
    };
    CHECK(start({.clusters = shape.k, .init = init, .known = known.view()}) ==
          start({.clusters = shape.k, .init = init, .frozen = known.view()}));
    CHECK_THROWS_AS(check_start(plan, {.clusters = 1, .init = init, .known = known.view()}), Error);
  }
}
