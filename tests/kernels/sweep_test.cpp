// A sweep gives the labels, sums and distances of its parts, whatever rows are in memory, on the device or sent.
#include <algorithm>
#include <cstring>

#include "core/kmeans/update.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/memory_reader.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// What repeated sweeps to centroids that move have left.
struct Swept {
  std::vector<MeasuredAssignment> assignments;
  ClusterSums sums;
  std::vector<std::int32_t> labels;
  std::vector<double> distances;
};

Swept sweep_repeatedly(Points& points, const DataPlan& plan, const Matrix<double>& values, std::int64_t k) {
  points.prepare(plan);
  Swept result{{}, empty_sums(plan, k), {}, {}};
  Matrix<double> centroids = centroids_near(values.view(), k);
  for (const double amount : {0.0, 1e-3, 0.0, 0.3, 1e-7}) {
    for (std::int64_t c = 0; c < k; c += 3) {
      for (std::int64_t j = 0; j < centroids.columns(); ++j)
        centroids(c, j) += amount * (values(c, j) - centroids(c, j));
    }
    result.assignments.push_back(assign_and_measure(points, plan, centroids.view(), &result.sums));
  }
  result.labels.resize(static_cast<std::size_t>(points.rows()));
  result.distances.resize(result.labels.size());
  points.labels(result.labels);
  points.distances(result.distances);
  return result;
}

bool same(const std::vector<Limbs>& a, const std::vector<Limbs>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Limbs& x, const Limbs& y) { return x.high == y.high && x.low == y.low; });
}

void check_same(const Swept& expected, const Swept& actual) {
  for (std::size_t i = 0; i < expected.assignments.size(); ++i) {
    INFO("sweep " << i);
    CHECK(expected.assignments[i].assignment.counts == actual.assignments[i].assignment.counts);
    CHECK(expected.assignments[i].assignment.changed == actual.assignments[i].assignment.changed);
    CHECK(expected.assignments[i].inertia.total == actual.assignments[i].inertia.total);
    CHECK(expected.assignments[i].inertia.per_cluster == actual.assignments[i].inertia.per_cluster);
  }
  CHECK(expected.sums.high == actual.sums.high);
  CHECK(expected.sums.low == actual.sums.low);
  CHECK(same(expected.sums.weights, actual.sums.weights));
  CHECK(expected.labels == actual.labels);
  CHECK(std::memcmp(expected.distances.data(), actual.distances.data(), expected.distances.size() * sizeof(double)) ==
        0);
}

}  // namespace

// Blocks of 256 rows have kept fp16 copies where there is memory, others are made block by block.
TEST_CASE("a sweep has the bits of its parts", "[kernels][sweep]") {
  for (const Shape shape : {Shape{1301, 5, 9}, Shape{1301, 70, 33}, Shape{900, 33, 520}}) {
    for (const std::size_t kind : {std::size_t{0}, std::size_t{2}, std::size_t{10}}) {
      const Matrix<double> values = kinds()[kind].make(shape.n, shape.d, 6);
      const PointsMatrix stored = stored_as(values.view(), storages(kinds()[kind]).back());
      for (const double unit : {0.0, 1.0, 0.3}) {
        std::vector<double> row_weights;
        for (std::int64_t i = 0; unit > 0 && i < shape.n; ++i)
          row_weights.push_back(unit * static_cast<double>(1 + i % 7));
        const Weights weights = unit > 0 ? checked_weights(row_weights, "weights") : equal_weights(shape.n);
        const auto reference = reference_points(values.view(), row_weights);
        const DataPlan plan = make_plan(*reference, weights);
        const Swept expected = sweep_repeatedly(*reference, plan, values, shape.k);
        for (const bool by_block : {false, true}) {
          for (const std::int64_t block : {0, 100, 256}) {
            BackendOptions options;
            options.block_rows = block;
            for (const Tested& tested : tested_backends(options, {.bounds = block > 0, .fp16_by_block = by_block})) {
              INFO(tested.name << ", " << kinds()[kind].name << ", n " << shape.n << ", d " << shape.d << ", k "
                               << shape.k << ", blocks of " << block << ", unit of weights " << unit);
              const auto points = tested.backend->hold({view_of(stored), 0, nullptr, row_weights});
              check_same(expected, sweep_repeatedly(*points, plan, values, shape.k));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a device with its own memory reads rows itself", "[kernels][sweep]") {
  for (const Shape shape : {Shape{1301, 70, 33}, Shape{1301, 3, 9}, Shape{40'000, 70, 8}}) {
    const Matrix<double> values = kinds()[0].make(shape.n, shape.d, 6);
    const PointsMatrix stored = stored_as(values.view(), Stored::float32);
    const KMeansOptions options{
        .clusters = shape.k, .init = Init::first, .max_iterations = 6, .keep_distances = true, .keep_medoids = true};
    const KMeansResult expected = run(*reference_points(values.view()), options);
    for (const std::int64_t block : {0, 100, 256, 16'384}) {
      if (block > 0 && shape.n / block > 20) continue;
      BackendOptions choice;
      choice.block_rows = block;
      for (const Tested& tested : tested_backends(choice)) {
        if (!tested.backend->device().has_own_memory) continue;
        INFO(tested.name << ", n " << shape.n << ", d " << shape.d << ", blocks of " << block);
        MemoryReader reader(view_of(stored), block);
        const auto points = tested.backend->hold({reader.shape(), 0, nullptr, {}, &reader});
        check_same(expected, run(*points, options));
        if (block == 0) continue;
        reader.most_reads = reader.reads + 3;  // of a later pass
        CHECK_THROWS_WITH(run(*points, options), "the file has changed");
      }
    }
  }
}
