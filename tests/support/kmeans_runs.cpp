// Complete runs of k-means on any backend, and their comparison bit for bit.
#include "tests/support/kmeans_runs.h"

#include <cstring>

#include "tests/support/cases.h"
#include "tests/support/catch.h"

namespace kith::test {
namespace {

bool same_bytes(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void check_same_history(const std::vector<IterationRecord>& expected, const std::vector<IterationRecord>& actual) {
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("iteration " << i);
    CHECK(expected[i].inertia == actual[i].inertia);
    CHECK(expected[i].changed == actual[i].changed);
    CHECK(expected[i].shift == actual[i].shift);
    CHECK(expected[i].relocated == actual[i].relocated);
  }
}

}  // namespace

KMeansResult run(Points& points, const KMeansOptions& options, Observer& observer) {
  const DataPlan plan = make_plan(points);
  points.prepare(plan);
  return kmeans(points, plan, options, observer);
}

KMeansResult run(Points& points, const KMeansOptions& options) {
  Warnings ignored;
  return run(points, options, ignored);
}

KMeansResult run(Points& points, const Weights& weights, const KMeansOptions& options) {
  Warnings ignored;
  const DataPlan plan = make_plan(points, weights);
  points.prepare(plan);
  return kmeans(points, plan, options, ignored);
}

void check_same(const KMeansResult& expected, const KMeansResult& actual) {
  check_same_history(expected.history, actual.history);
  CHECK(expected.labels == actual.labels);
  CHECK(expected.counts == actual.counts);
  CHECK(same_bytes(expected.weights, actual.weights));
  CHECK(expected.nearest_row == actual.nearest_row);
  CHECK(expected.iterations == actual.iterations);
  CHECK(expected.stopped_by == actual.stopped_by);
  CHECK(expected.stopped_value == actual.stopped_value);
  CHECK(expected.inertia == actual.inertia);
  CHECK(expected.run == actual.run);
  REQUIRE(expected.runs.size() == actual.runs.size());
  for (std::size_t i = 0; i < expected.runs.size(); ++i) {
    CHECK(expected.runs[i].inertia == actual.runs[i].inertia);
    CHECK(expected.runs[i].iterations == actual.runs[i].iterations);
    CHECK(expected.runs[i].stopped_by == actual.runs[i].stopped_by);
  }
  CHECK(expected.distances.size() == expected.labels.size());
  CHECK(same_bytes(expected.distances, actual.distances));
  CHECK(same_bytes(expected.inertia_per_cluster, actual.inertia_per_cluster));
  CHECK(expected.centroids.size() == actual.centroids.size());
  CHECK(std::memcmp(expected.centroids.data(), actual.centroids.data(), expected.centroids.size() * sizeof(double)) ==
        0);
}

KMeansResult on(Backend& backend, const Matrix<double>& values, ValueClass c, const KMeansOptions& options) {
  const PointsMatrix stored = as_class(values.view(), c);
  return run(*backend.hold({view_of(stored), 0}), options);
}

}  // namespace kith::test
