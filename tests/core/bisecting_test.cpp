// Bisecting k-means: every split against k-means of a copy of its rows, and the tree, on every backend.
#include <algorithm>
#include <numeric>

#include "core/kmeans/bisecting.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"
#include "tests/support/reference_backend.h"

using namespace kith;
using namespace kith::test;

namespace {

BisectingResult bisected(Backend& backend, const Matrix<double>& values, ValueClass c, const KMeansOptions& options,
                         SplitBy by) {
  const PointsMatrix stored = as_class(values.view(), c);
  const RowStore store(view_of(stored), backend);
  const auto points = backend.hold({view_of(stored), 0});
  const DataPlan plan = make_plan(*points);
  points->prepare(plan);
  Warnings ignored;
  return bisecting_kmeans(*points, store, plan, options, by, ignored);
}

/// The reference: the labels after each split, by k-means of a copy of the rows of the cluster.
std::vector<std::int32_t> split_by_hand(const Matrix<double>& values, const KMeansOptions& options, SplitBy by) {
  struct Part {
    std::vector<std::int64_t> rows;
    double inertia;
  };
  std::vector<Part> parts{{std::vector<std::int64_t>(values.rows()), 1.0}};
  std::iota(parts[0].rows.begin(), parts[0].rows.end(), 0);
  for (std::int64_t split = 0; split + 1 < options.clusters; ++split) {
    std::size_t chosen = 0;
    for (std::size_t p = 1; p < parts.size(); ++p) {
      const bool larger = by == SplitBy::size ? parts[p].rows.size() > parts[chosen].rows.size()
                                              : parts[p].inertia > parts[chosen].inertia;
      if (larger) chosen = p;
    }
    const Part whole = parts[chosen];
    Matrix<double> copy(static_cast<std::int64_t>(whole.rows.size()), values.columns());
    for (std::int64_t i = 0; i < copy.rows(); ++i) {
      std::copy(values.row(whole.rows[i]).begin(), values.row(whole.rows[i]).end(), copy.row(i).begin());
    }
    KMeansOptions two = options;
    two.clusters = 2;
    two.first_run = split * options.runs;
    const KMeansResult halves = run(*reference_points(copy.view()), two);
    Part first{{}, halves.inertia_per_cluster[0]}, second{{}, halves.inertia_per_cluster[1]};
    for (std::size_t i = 0; i < whole.rows.size(); ++i) {
      (halves.labels[i] == 0 ? first : second).rows.push_back(whole.rows[i]);
    }
    parts[chosen] = first;
    parts.push_back(second);
  }
  std::vector<std::int32_t> labels(values.rows());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const std::int64_t row : parts[p].rows) labels[row] = static_cast<std::int32_t>(p);
  }
  return labels;
}

void check_tree(const BisectingResult& actual, std::int64_t rows, Metric metric = Metric::euclidean) {
  const SplitTree& tree = actual.tree;
  const auto k = static_cast<std::int64_t>(actual.result.counts.size());
  REQUIRE(std::ssize(tree.parent) == 2 * k - 1);
  CHECK(tree.parent[0] == -1);
  CHECK(tree.count[0] == rows);
  CHECK(tree.inertia[0] == actual.result.total_inertia);
  std::int64_t leaves = 0;
  for (std::int64_t node = 0; node < 2 * k - 1; ++node) {
    const std::int64_t child = tree.first_child[node];
    CHECK((child < 0) == (tree.cluster[node] >= 0));
    if (child < 0) {
      ++leaves;
      CHECK(tree.count[node] == actual.result.counts[tree.cluster[node]]);
      continue;
    }
    CHECK(tree.parent[child] == node);
    CHECK(tree.parent[child + 1] == node);
    CHECK(tree.count[child] + tree.count[child + 1] == tree.count[node]);
    if (metric == Metric::cosine && node == 0) continue;  // around the mean, which is no direction
    CHECK(tree.inertia[child] + tree.inertia[child + 1] < tree.inertia[node]);
  }
  CHECK(leaves == k);
}

}  // namespace

TEST_CASE("splits equal k-means of the rows of each cluster on every backend", "[bisecting]") {
  ReferenceBackend reference;
  for (const Shape shape : {Shape{60, 2, 5}, Shape{500, 20, 9}}) {
    for (const int kind : {0, 1, 10}) {
      for (const SplitBy by : {SplitBy::inertia, SplitBy::size}) {
        for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
          Matrix<double> values = kinds()[kind].make(shape.n, shape.d, 5);
          if (metric == Metric::cosine) write_directions<double>(values.view(), values.view(), {"values", 0});
          const KMeansOptions options{
              .clusters = shape.k, .runs = 2, .seed = 3, .metric = metric, .keep_distances = true};
          const BisectingResult expected = bisected(reference, values, ValueClass::f64, options, by);
          check_tree(expected, shape.n, metric);
          const std::vector<std::int32_t> labels = split_by_hand(values, options, by);
          CHECK(std::equal(labels.begin(), labels.end(), expected.result.labels.begin()));
          for (const Tested& tested : every_backend()) {
            INFO(tested.name << ", " << kinds()[kind].name << ", d " << shape.d);
            const BisectingResult actual = bisected(*tested.backend, values, ValueClass::f64, options, by);
            check_same(expected.result, actual.result);
            CHECK(actual.tree.parent == expected.tree.parent);
            CHECK(actual.tree.inertia == expected.tree.inertia);
          }
        }
      }
    }
  }
}

TEST_CASE("clusters of equal rows are not split", "[bisecting]") {
  ReferenceBackend reference;
  const Matrix<double> values = kinds()[4].make(200, 3, 5);  // five different rows
  const BisectingResult actual = bisected(reference, values, ValueClass::f64, {.clusters = 9}, SplitBy::size);
  CHECK(actual.result.counts.size() == 5);
  CHECK(actual.result.inertia == 0.0);
  check_tree(actual, 200);
  const BisectingResult one = bisected(reference, values, ValueClass::f64, {.clusters = 1}, SplitBy::inertia);
  CHECK(one.result.counts == std::vector<std::int64_t>{200});
  CHECK(one.tree.cluster == std::vector<std::int64_t>{0});
}
