// Internal scores: their sums against the definition, scikit-learn's values, and limiting cases.
#include "core/scores/internal_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/kmeans/rows_by_label.h"
#include "core/neighbors/tree_order.h"
#include "core/scores/silhouette.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

using Labels = std::vector<std::int32_t>;

template <class Rule>
Labels labels_of(std::int64_t rows, const Rule& rule) {
  Labels labels;
  for (std::int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(rule(i)));
  return labels;
}

Matrix<double> grid_points(std::int64_t n, std::int64_t d) {
  Matrix<double> points(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      points(i, j) = static_cast<double>((i * i * 7 + j * 13 + i * j * 3) % 11) / 8 + (i / 2 % 3 == j % 3 ? 4.0 : 0.0);
    }
  }
  return points;
}

struct Scores {
  LabelledClusters clusters;
  Silhouette exact, simplified;
};

Scores scores_of(Points& points, const DataPlan& plan, const Labels& labels, std::int64_t k) {
  Observer silent;
  Scores scores{labelled_clusters(points, plan, labels, k), {}, {}};
  const SilhouetteRequest request{labels, scores.clusters.counts, {}};
  scores.exact = exact_silhouette(points, plan, request, silent);
  scores.simplified = simplified_silhouette(points, scores.clusters.means.view(), request);
  return scores;
}

Scores scores_of(MatrixView<const double> values, const Labels& labels, std::int64_t k) {
  const auto points = reference_points(values);
  const DataPlan plan = make_plan(*points);
  points->prepare(plan);
  return scores_of(*points, plan, labels, k);
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b)); }

double distance(MatrixView<const double> values, std::int64_t i, std::int64_t j) {
  return std::sqrt(reference_distance(values.row(i).data(), values.row(j).data(), values.columns));
}

/// The silhouette of a row by its definition, with float64 sums.
double plain_silhouette(MatrixView<const double> values, const Labels& labels, std::int64_t k, std::int64_t row) {
  std::vector<double> sum(k, 0.0), count(k, 0.0);
  for (std::int64_t i = 0; i < values.rows; ++i) {
    if (i == row) continue;
    sum[labels[i]] += distance(values, row, i);
    count[labels[i]] += 1;
  }
  const std::int32_t own = labels[row];
  if (count[own] == 0) return 0.0;
  double other = INFINITY;
  for (std::int64_t c = 0; c < k; ++c) {
    if (c != own && count[c] > 0) other = std::min(other, sum[c] / count[c]);
  }
  const double a = sum[own] / count[own], larger = std::max(a, other);
  return larger > 0 ? (other - a) / larger : 0.0;
}

void same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  CHECK(a.size() == b.size());
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  }));
}

}  // namespace

TEST_CASE("tree order is a permutation of the columns with lanes that are added first next to each other") {
  CHECK(tree_order(1) == std::vector<std::int32_t>{0});
  CHECK(tree_order(5) == std::vector<std::int32_t>{0, 4, 2, 1, 3});
  const std::vector<std::int32_t> order = tree_order(70);
  CHECK(std::vector<std::int32_t>(order.begin(), order.begin() + 5) == std::vector<std::int32_t>{0, 32, 64, 16, 48});
  std::vector<std::int32_t> sorted = order, all(70);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  CHECK(sorted == all);
}

TEST_CASE("rows by label are ascending in each cluster and exclude rows without a cluster") {
  const RowsByLabel sorted = rows_by_label(Labels{2, 0, -1, 2, 5, 0}, 4);
  CHECK(sorted.rows == std::vector<std::int64_t>{1, 5, 0, 3});
  CHECK(sorted.first == std::vector<std::int64_t>{0, 2, 2, 4, 4});
}

TEST_CASE("sums of distances to clusters equal the definition on every backend") {
  for (const Shape shape : {Shape{1, 1, 1}, Shape{33, 2, 5}, Shape{257, 17, 7}, Shape{600, 3, 40}, Shape{130, 33, 9},
                            Shape{255, 129, 3}, Shape{31, 1025, 4}}) {
    for (const std::int64_t block : {0, 7}) {
      BackendOptions options;
      options.block_rows = block;
      const std::vector<Tested> backends = every_screen(shape.d, 0, options);
      for (const int which : {0, 2, 7, 9, 16}) {
        const Kind& kind = kinds()[which];
        for (const Stored as : storages(kind)) {
          INFO(kind.name << ", " << name_of(as) << ", n " << shape.n << ", d " << shape.d << ", blocks of " << block);
          Bench bench(kind, as, shape, backends);
          // Clusters without rows, clusters of one row, and rows without a cluster.
          const Labels labels = labels_of(shape.n, [&](auto i) { return i % 11 == 3 ? -1 : i * i % shape.k; });
          const Matrix<double> queries = centroids_near(bench.values.view(), 70);
          const FixedScale scale =
              fixed_scale(term_bits(shape.n) - (term_bits(shape.n) - inertia_scale(bench.plan, {}).shift + 1) / 2);
          Matrix<std::int64_t> expected(70, shape.k);
          std::fill_n(expected.data(), expected.size(), 5);
          bench.expected->set_labels(labels);
          bench.expected->cluster_distances({queries.view(), scale}, expected.view());
          bench.on_each([&](Points& points) {
            Matrix<std::int64_t> actual(70, shape.k);
            std::fill_n(actual.data(), actual.size(), 5);
            points.set_labels(labels);
            points.cluster_distances({queries.view(), scale}, actual.view());
            CHECK(std::equal(expected.data(), expected.data() + expected.size(), actual.data()));
            Labels held(shape.n);
            points.labels(held);
            CHECK(held == labels);
          });
        }
      }
    }
  }
}

TEST_CASE("all internal scores have the same bits on every backend") {
  const Shape shape{700, 40, 6};
  const std::vector<Tested> backends = every_backend();
  for (const int which : {0, 5, 16}) {
    Bench bench(kinds()[which], storages(kinds()[which]).back(), shape, backends);
    const Labels labels = labels_of(shape.n, [](auto i) { return i % 7 == 6 ? 5 : i % 7 % 4; });
    const Scores expected = scores_of(*bench.expected, bench.plan, labels, shape.k);
    for (std::int64_t i = 0; i < shape.n; i += 97) {
      CHECK(near(expected.exact.rows[i], plain_silhouette(bench.values.view(), labels, shape.k, i)));
    }
    bench.on_each([&](Points& points) {
      const Scores actual = scores_of(points, bench.plan, labels, shape.k);
      same_bits(expected.exact.rows, actual.exact.rows);
      same_bits(expected.exact.clusters, actual.exact.clusters);
      same_bits(expected.simplified.rows, actual.simplified.rows);
      same_bits({expected.exact.mean, expected.simplified.mean, expected.clusters.total_inertia},
                {actual.exact.mean, actual.simplified.mean, actual.clusters.total_inertia});
      same_bits({calinski_harabasz(expected.clusters), davies_bouldin(expected.clusters)},
                {calinski_harabasz(actual.clusters), davies_bouldin(actual.clusters)});
      // The values of a subset of rows equal their values among all rows.
      const std::vector<std::int64_t> some{699, 3, 350};
      Observer silent;
      const Silhouette sampled = exact_silhouette(points, bench.plan, {labels, actual.clusters.counts, some}, silent);
      same_bits(sampled.rows, {expected.exact.rows[699], expected.exact.rows[3], expected.exact.rows[350]});
    });
  }
}

TEST_CASE("silhouettes that leave clusters out have the bits of those from all distances, and need few distances") {
  struct Case {
    const char* kind;
    double spread, offset, largest_share;  // of all pairs
    std::int64_t columns;
  };
  for (const auto& [kind, spread, offset, largest_share, columns] :
       {Case{"tight blobs", 0.01, 0.0, 0.25, 40}, Case{"touching blobs", 0.5, 1000.0, 0.5, 5},
        Case{"noise of many columns", 30.0, 0.0, 0.6, 60}, Case{"noise of two columns", 30.0, -1e6, 0.8, 2}}) {
    const std::int64_t n = 1203, k = 9;
    Matrix<double> values = kinds()[1].make(n, columns, 7);
    const Matrix<double> centers = kinds()[1].make(k, columns, 8);
    Labels labels = labels_of(n, [](auto i) { return i * 5 % 8; });  // the last cluster stays empty
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) values(i, j) = offset + centers(labels[i], j) + spread * values(i, j);
    }
    labels[17] = 8;  // but for one row
    std::vector<double> integral, fractional;
    for (std::int64_t i = 0; i < n; ++i) {
      integral.push_back(static_cast<double>(1 + i % 4));
      fractional.push_back(0.5 + static_cast<double>(i % 3) / 7);
    }
    std::vector<std::int64_t> some(300);
    std::iota(some.begin(), some.end(), 100);
    for (const std::vector<double>& given : {std::vector<double>{}, integral, fractional}) {
      const Weights weights = given.empty() ? equal_weights(n) : checked_weights(given, "weights");
      for (const Tested& tested : every_backend()) {
        INFO(kind << " on " << tested.name << (given.empty() ? "" : weights.integral ? ", integral" : ", fractional"));
        const auto points = tested.backend->hold({.values = values.view(), .weights = given});
        const DataPlan plan = make_plan(*points, weights);
        points->prepare(plan);
        const LabelledClusters clusters = labelled_clusters(*points, plan, labels, k);
        Observer silent;
        SilhouetteRequest request{labels, clusters.counts, {}, plan.weights};
        const Silhouette all = exact_silhouette(*points, plan, request, silent);
        CHECK(all.share == 1.0);
        request.means = clusters.means.view();
        const Silhouette fewer = exact_silhouette(*points, plan, request, silent);
        same_bits(fewer.rows, all.rows);
        same_bits({fewer.mean}, {all.mean});
        CHECK(fewer.share < (spread > 1.0 && tested.name.starts_with("cuda") ? 1.01 : largest_share));
        request.scored = some;
        const Silhouette sampled = exact_silhouette(*points, plan, request, silent);
        same_bits(sampled.rows, {all.rows.begin() + 100, all.rows.begin() + 400});
      }
    }
  }
}

TEST_CASE("an estimate of the time of silhouettes is given once, and changes no bit") {
  const std::int64_t n = 2500, k = 3;
  const Matrix<double> values = kinds()[1].make(n, 4, 7);
  const Labels labels = labels_of(n, [](auto i) { return i % 3; });
  for (const Tested& tested : every_backend()) {
    INFO(tested.name);
    const auto points = tested.backend->hold({values.view()});
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    const LabelledClusters clusters = labelled_clusters(*points, plan, labels, k);
    Observer silent;
    SilhouetteRequest request{labels, clusters.counts, {}, plan.weights, {}, clusters.means.view()};
    const Silhouette plain = exact_silhouette(*points, plan, request, silent);
    std::vector<double> estimates;
    request.on_estimate = [&](double seconds) { estimates.push_back(seconds); };
    same_bits(exact_silhouette(*points, plan, request, silent).rows, plain.rows);
    REQUIRE(estimates.size() == 1);
    CHECK((estimates[0] > 0.0 && estimates[0] < 600.0));
  }
}

TEST_CASE("bounds of sums of distances hold for every kind and screen") {
  for (const Shape shape : {Shape{300, 32, 4}, Shape{270, 129, 3}}) {
    const std::vector<Tested> backends = every_screen(shape.d, 0, {});
    for (const Kind& kind : kinds()) {
      Bench bench(kind, storages(kind).back(), shape, backends);
      const Labels labels = labels_of(shape.n, [&](auto i) { return i % 11 == 3 ? -1 : i * i % shape.k; });
      const Matrix<double> queries = centroids_near(bench.values.view(), 70);
      bench.on_each([&](Points& points) {
        points.set_labels(labels);
        Matrix<double> lower(70, shape.k), upper(70, shape.k);
        if (!points.bound_cluster_distances({queries.view(), {}}, lower.view(), upper.view())) return;
        for (std::int64_t q = 0; q < 70; ++q) {
          std::vector<double> sum(shape.k, 0.0);
          for (std::int64_t i = 0; i < shape.n; ++i) {
            if (labels[i] < 0) continue;
            sum[labels[i]] +=
                std::sqrt(reference_distance(queries.view().row(q).data(), bench.values.view().row(i).data(), shape.d));
          }
          for (std::int64_t c = 0; c < shape.k; ++c) {
            INFO(kind.name << ", query " << q << ", cluster " << c << ", sum " << sum[c]);
            CHECK(lower(q, c) <= sum[c] * (1 + 1e-13));
            CHECK(upper(q, c) >= sum[c] * (1 - 1e-13));
          }
        }
      });
    }
  }
}

// scikit-learn 1.9.1: silhouette_score, silhouette_samples, calinski_harabasz_score, davies_bouldin_score.
TEST_CASE("internal scores equal those of scikit-learn") {
  const Scores good = scores_of(grid_points(30, 3).view(), labels_of(30, [](auto i) { return i / 2 % 3; }), 3);
  CHECK(near(good.exact.mean, 0.8476926321249488));
  CHECK(near(good.exact.rows[0], 0.8288696156533522));
  CHECK(near(good.exact.rows[7], 0.8713911433328932));
  CHECK(near(good.exact.clusters[0], 0.8590104842400267));
  CHECK(near(good.exact.clusters[2], 0.8337598850199001));
  CHECK(near(calinski_harabasz(good.clusters), 378.254505128916));
  CHECK(near(davies_bouldin(good.clusters), 0.21785544507091847));

  // Seventy columns, and a cluster of one row.
  const Labels mixed = labels_of(41, [](auto i) { return i < 36 ? (i * i + i) % 4 : 1 + i % 3; });
  const Scores bad = scores_of(grid_points(41, 70).view(), mixed, 4);
  CHECK(near(bad.exact.mean, -0.34469195191357205));
  CHECK(near(bad.exact.rows[7], -0.22704184183291895));
  CHECK(near(bad.exact.clusters[1], -0.5714378244708974));
  CHECK(bad.exact.clusters[3] == 0.0);
  CHECK(near(calinski_harabasz(bad.clusters), 0.4859254906697545));
  CHECK(near(davies_bouldin(bad.clusters), 18.585623236074763));

  // Clusters without rows do not count: labels 0, 2, 4, ... of the same rows.
  const Labels few = labels_of(25, [](auto i) { return i == 7 ? 5 : i / 2 % 5; });
  Labels spread = few;
  for (std::int32_t& label : spread) label *= 2;
  for (const auto& [labels, k] : {std::pair{few, 6}, std::pair{spread, 12}}) {
    const Scores scores = scores_of(grid_points(25, 2).view(), labels, k);
    CHECK(near(scores.exact.mean, -0.4304585319264747));
    CHECK(near(scores.exact.rows[0], -0.9251897553209677));
    CHECK(scores.exact.rows[7] == 0.0);
    CHECK(near(calinski_harabasz(scores.clusters), 0.3404267654253252));
    CHECK(near(davies_bouldin(scores.clusters), 15.765311265321811));
  }
}

TEST_CASE("simplified silhouettes equal values computed by hand") {
  // On a line: 0, 2 | 9, 11 | 20, with means 1, 10 and 20.
  Matrix<double> values(5, 1);
  for (const auto& [i, x] : {std::pair{0, 0.0}, {1, 2.0}, {2, 9.0}, {3, 11.0}, {4, 20.0}}) values(i, 0) = x;
  const Scores scores = scores_of(values.view(), {0, 0, 1, 1, 2}, 3);
  const std::vector<double> expected{9.0 / 10, 7.0 / 8, 7.0 / 8, 8.0 / 9, 0.0};
  for (std::size_t i = 0; i < 5; ++i) CHECK(near(scores.simplified.rows[i], expected[i]));
  CHECK(near(scores.simplified.mean, (0.9 + 1.75 + 8.0 / 9) / 5));
  CHECK(near(scores.simplified.clusters[0], 0.8875));
  // within = 4, between = 2 (7.4)^2 + 2 (1.6)^2 + 11.6^2.
  CHECK(near(calinski_harabasz(scores.clusters), (2 * 7.4 * 7.4 + 2 * 1.6 * 1.6 + 11.6 * 11.6) / 2 / (4.0 / 2)));
}

TEST_CASE("the Bayesian information criterion equals its formula and prefers the true clusters") {
  Matrix<double> values(5, 1);
  for (const auto& [i, x] : {std::pair{0, 0.0}, {1, 2.0}, {2, 9.0}, {3, 11.0}, {4, 20.0}}) values(i, 0) = x;
  const double actual = bayesian_information(scores_of(values.view(), {0, 0, 1, 1, 2}, 3).clusters);
  // The likelihood row by row: weight of the cluster times the normal density, of variance 4 / (5 - 3).
  double expected = -(2 + 3 + 1) / 2.0 * std::log(5.0);
  for (const auto& [weight, off] : {std::pair{0.4, 1.0}, {0.4, 1.0}, {0.4, 1.0}, {0.4, 1.0}, {0.2, 0.0}}) {
    expected += std::log(weight / std::sqrt(2 * 3.141592653589793 * 2) * std::exp(-off * off / (2 * 2)));
  }
  CHECK(near(actual, expected));
  const Matrix<double> points = grid_points(30, 3);
  const auto criterion = [&](auto rule, std::int64_t k) {
    return bayesian_information(scores_of(points.view(), labels_of(30, rule), k).clusters);
  };
  CHECK(criterion([](auto i) { return i / 2 % 3; }, 3) > criterion([](auto i) { return i / 2 % 3 / 2; }, 2));
  CHECK(criterion([](auto i) { return i / 2 % 3; }, 3) > criterion([](auto i) { return i / 2 % 3 + 3 * (i % 2); }, 6));
}

TEST_CASE("scores of equal rows do not consist of rounding errors") {
  Matrix<double> values(7, 2);
  for (std::int64_t i = 0; i < 7; ++i) {
    values(i, 0) = 0.1;
    values(i, 1) = 0.7;
  }
  const auto points = reference_points(values.view());
  const DataPlan plan = make_plan(*points);
  points->prepare(plan);
  const Labels labels{0, 0, 0, 0, 0, 0, 1};
  const LabelledClusters actual = labelled_clusters(*points, plan, labels, 2);
  REQUIRE(squared_distance(actual.means.row(0).data(), values.row(0).data(), 2) > 0.0);
  CHECK(actual.total_inertia == 0.0);
  CHECK(calinski_harabasz(actual) == 1.0);
  CHECK(davies_bouldin(actual) == 0.0);
  CHECK(simplified_silhouette(*points, actual.means.view(), {labels, actual.counts, {}, {}, actual.on_mean}).mean ==
        0.0);
}

TEST_CASE("scores that compare clusters are undefined for one cluster and for n clusters") {
  const Matrix<double> values = grid_points(6, 2);
  const auto points = reference_points(values.view());
  const DataPlan plan = make_plan(*points);
  points->prepare(plan);
  const LabelledClusters one = labelled_clusters(*points, plan, Labels(6, 1), 3);
  CHECK(one.non_empty() == 1);
  CHECK(std::isnan(calinski_harabasz(one)));
  CHECK(std::isnan(davies_bouldin(one)));
  CHECK(std::isfinite(bayesian_information(one)));
  const LabelledClusters all = labelled_clusters(*points, plan, Labels{0, 1, 2, 3, 4, 5}, 6);
  CHECK(std::isnan(calinski_harabasz(all)));
  CHECK(std::isnan(bayesian_information(all)));
  // All rows lie on their means; scikit-learn gives 1 and 0.
  const Scores exact = scores_of(kinds()[3].make(6, 2, 1).view(), {0, 0, 0, 1, 1, 1}, 2);
  CHECK(calinski_harabasz(exact.clusters) == 1.0);
  CHECK(davies_bouldin(exact.clusters) == 0.0);
  CHECK(exact.exact.mean == 0.0);
}
