// Mini-batches: the order of rows, and centroids against plain loops on every backend.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/mini_batch.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"
#include "tests/support/reference_backend.h"

using namespace kith;
using namespace kith::test;

namespace {

/// The rule of docs/contract.md in plain loops, for integers, whose sums are exact.
Matrix<double> plain_batches(const Matrix<double>& values, const Matrix<double>& start, std::int64_t batch,
                             std::int64_t epochs, std::uint64_t seed) {
  const std::int64_t n = values.rows(), d = values.columns(), k = start.rows();
  Matrix<double> centroids(k, d);
  std::copy(start.data(), start.data() + start.size(), centroids.data());
  std::vector<std::int64_t> seen(k, 0);
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<std::int64_t> order = epoch_order(n, epoch, {seed, 0});
    for (std::int64_t first = 0; first < n; first += batch) {
      std::vector<double> sums(k * d, 0.0);
      std::vector<std::int64_t> counts(k, 0);
      for (std::int64_t i = first; i < std::min(first + batch, n); ++i) {
        const double* row = values.row(order[i]).data();
        std::int64_t best = 0;
        for (std::int64_t c = 1; c < k; ++c) {
          if (reference_distance(row, centroids.row(c).data(), d) <
              reference_distance(row, centroids.row(best).data(), d))
            best = c;
        }
        ++counts[best];
        for (std::int64_t j = 0; j < d; ++j) sums[best * d + j] += row[j];
      }
      for (std::int64_t c = 0; c < k; ++c) {
        if (counts[c] == 0) continue;
        seen[c] += counts[c];
        const double rate = static_cast<double>(counts[c]) / static_cast<double>(seen[c]);
        for (std::int64_t j = 0; j < d; ++j) {
          const double mean = sums[c * d + j] / static_cast<double>(counts[c]);
          centroids(c, j) = centroids(c, j) + rate * (mean - centroids(c, j));
        }
      }
    }
  }
  return centroids;
}

bool same_bytes(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

KMeansResult with_batches(Backend& backend, const Matrix<double>& values, ValueClass c, KMeansOptions options) {
  const PointsMatrix stored = as_class(values.view(), c);
  const RowStore store(view_of(stored), backend);
  options.batch.store = &store;
  return run(*backend.hold({view_of(stored), 0}), options);
}

}  // namespace

// Row numbers from an independent program written from docs/contract.md alone.
TEST_CASE("an epoch has the order that the contract defines", "[batches]") {
  const std::vector<std::int64_t> first = epoch_order(1797, 0, {0, 0}), second = epoch_order(1797, 1, {0, 0});
  CHECK(std::vector<std::int64_t>(first.begin(), first.begin() + 5) ==
        std::vector<std::int64_t>{432, 642, 928, 35, 336});
  CHECK(std::vector<std::int64_t>(second.begin(), second.begin() + 5) ==
        std::vector<std::int64_t>{728, 1297, 867, 1228, 657});
  CHECK(epoch_order(1797, 0, {7, 2})[0] == 1651);
  for (const auto& order : {first, second}) CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == 1797);
}

TEST_CASE("batches update centroids as plain loops do, and iterations over all rows follow", "[batches]") {
  ReferenceBackend reference;
  std::vector<Tested> backends = every_backend();
  for (Tested& tested : tested_backends({.threads = 3, .block_rows = 50})) {
    backends.push_back({tested.name + " in small pieces", std::move(tested.backend)});
  }
  for (const Shape shape : {Shape{70, 1, 4}, Shape{400, 5, 9}, Shape{300, 40, 30}}) {
    const Matrix<double> values = kinds()[2].make(shape.n, shape.d, 3), start = kinds()[2].make(shape.k, shape.d, 8);
    for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{64}, shape.n}) {
      if (batch == 1 && shape.n > 100) continue;
      for (const bool finish : {false, true}) {
        const KMeansOptions options{.clusters = shape.k,
                                    .init = Init::given,
                                    .given = start.view(),
                                    .max_iterations = 20,
                                    .seed = 5,
                                    .batch = {.rows = batch, .epochs = 2, .finish = finish},
                                    .keep_distances = true};
        const KMeansResult expected = with_batches(reference, values, ValueClass::f64, options);
        const Matrix<double> moved = plain_batches(values, start, batch, 2, 5);
        if (!finish) {
          CHECK(same_bytes(moved, expected.centroids));
          CHECK(expected.stopped_by == "epochs");
          CHECK(expected.iterations == 0);
          Warnings ignored;
          const auto points = reference_points(values.view());
          const DataPlan plan = make_plan(*points);
          points->prepare(plan);
          const KMeansResult again = assign_only(*points, plan, moved.view(), ignored);
          CHECK(again.labels == expected.labels);
          CHECK(again.inertia == expected.inertia);
        } else {
          KMeansOptions plain = options;
          plain.batch = {};
          plain.given = moved.view();
          check_same(run(*reference_points(values.view()), plain), expected);
        }
        for (const Tested& tested : backends) {
          for (const ValueClass c : {ValueClass::f32, ValueClass::f64}) {
            INFO(tested.name << ", " << name_of(c) << ", d " << shape.d << ", batch " << batch);
            check_same(expected, with_batches(*tested.backend, values, c, options));
          }
        }
      }
    }
  }
}

TEST_CASE("batches work with every initialisation, frozen centroids, cosine and two limbs", "[batches]") {
  ReferenceBackend reference;
  for (const int kind : {0, 10}) {
    for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
      Matrix<double> values = kinds()[kind].make(500, 9, 3);
      if (metric == Metric::cosine) write_directions<double>(values.view(), values.view(), {"values", 0});
      const KMeansOptions options{.clusters = 8,
                                  .frozen = values.view().middle(3, 2),
                                  .runs = 2,
                                  .metric = metric,
                                  .batch = {.rows = 90, .epochs = 2},
                                  .keep_distances = true};
      const KMeansResult expected = with_batches(reference, values, ValueClass::f64, options);
      KMeansOptions without = options;
      without.batch = {};
      const KMeansResult unmoved = run(*reference_points(values.view()), without);
      CHECK((kind != 0 || unmoved.history[0].inertia != expected.history[0].inertia));
      CHECK((metric == Metric::cosine ||
             std::equal(values.row(3).begin(), values.row(3).end(), expected.centroids.row(0).begin())));
      for (const Tested& tested : every_backend()) {
        INFO(tested.name << ", " << kinds()[kind].name << ", " << name_of(metric));
        check_same(expected, with_batches(*tested.backend, values, ValueClass::f64, options));
      }
    }
  }
}
