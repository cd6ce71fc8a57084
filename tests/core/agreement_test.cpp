// Agreement scores: scikit-learn's values, the definition over all permutations of the rows, and limiting cases.
#include "core/scores/agreement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "tests/support/catch.h"

using namespace kith;

namespace {

using Labels = std::vector<std::int32_t>;

/// In the order of Agreement.
using Scores = std::array<double, 8>;

Scores scores(const Labels& labels, const Labels& classes) {
  const Agreement a = agreement(contingency(labels, classes));
  return {a.adjusted_rand_index,
          a.adjusted_mutual_information,
          a.normalized_mutual_information,
          a.homogeneity,
          a.completeness,
          a.v_measure,
          a.fowlkes_mallows,
          a.purity};
}

void check(const Labels& labels, const Labels& classes, const Scores& expected) {
  const Scores actual = scores(labels, classes);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("score " << i << ": expected " << expected[i] << ", found " << actual[i]);
    CHECK(std::abs(actual[i] - expected[i]) <= 1e-12);
  }
}

template <class Rule>
Labels rows(int n, const Rule& rule) {
  Labels labels;
  for (int i = 0; i < n; ++i) labels.push_back(static_cast<std::int32_t>(rule(static_cast<std::int64_t>(i))));
  return labels;
}

/// Mutual information by its definition.
double information(const Labels& a, const Labels& b) {
  const auto share = [&](const auto& holds) {
    int count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += holds(i) ? 1 : 0;
    return static_cast<double>(count) / static_cast<double>(a.size());
  };
  double sum = 0.0;
  for (std::int32_t x = 0; x <= *std::max_element(a.begin(), a.end()); ++x) {
    for (std::int32_t y = 0; y <= *std::max_element(b.begin(), b.end()); ++y) {
      const double both = share([&](std::size_t i) { return a[i] == x && b[i] == y; });
      const double independent =
          share([&](std::size_t i) { return a[i] == x; }) * share([&](std::size_t i) { return b[i] == y; });
      if (both > 0) sum += both * std::log(both / independent);
    }
  }
  return sum;
}

/// The number of pairs of rows that share a group in both labelings.
double pairs(const Labels& a, const Labels& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) count += a[i] == a[j] && b[i] == b[j] ? 1 : 0;
  }
  return count;
}

/// The adjusted score: (score - mean) / (largest - mean), with the mean over all permutations of the rows.
template <class Measure>
double adjusted(const Labels& a, const Labels& b, const Measure& measure) {
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), 0);
  double sum = 0.0, orders = 0.0;
  do {
    Labels mixed;
    for (const std::size_t i : order) mixed.push_back(b[i]);
    sum += measure(a, mixed);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  const double mean = sum / orders, most = (measure(a, a) + measure(b, b)) / 2;
  return (measure(a, b) - mean) / (most - mean);
}

}  // namespace

TEST_CASE("agreement scores equal those of scikit-learn") {
  // adjusted_rand_score, adjusted_mutual_info_score, normalized_mutual_info_score, homogeneity_completeness_v_measure
  // and fowlkes_mallows_score of scikit-learn 1.9.1; purity from its contingency_matrix.
  check({0, 1, 0, 1, 2, 2}, {0, 0, 0, 1, 1, 1},
        {0.24242424242424243, 0.2987924581708901, 0.5158037429793889, 0.6666666666666669, 0.420619835714305,
         0.5158037429793889, 0.4714045207910317, 0.8333333333333334});
  check({0, 1, 0, 1, 0, 1}, {0, 0, 1, 1, 2, 2},
        {-0.36363636363636365, -0.4481886872563349, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3333333333333333});
  check({0, 0, 1, 1}, {0, 1, 0, 1}, {-0.5, -0.49999999999999944, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5});
  check(rows(1000, [](auto i) { return i * i % 7; }), rows(1000, [](auto i) { return i * 3 / 100 % 5; }),
        {-0.0032491812244398017, -0.004044093864838042, 4.731412742644388e-05, 4.352831987844584e-05,
         5.182119480176787e-05, 4.731412742644388e-05, 0.22701626805775826, 0.203});
  const auto root = [](std::int64_t i) { return std::floor(std::sqrt(static_cast<double>(i))); };
  check(rows(20000, root), rows(20000, [](auto i) { return i / 1500; }),
        {0.19798989308306925, 0.6850004781622503, 0.6890438336599859, 0.971485488491235, 0.5338396962692512,
         0.6890438336599859, 0.33449322775147916, 0.9581});
  check(rows(20000, [](auto i) { return i / 1500; }),
        rows(20000, [](auto i) { return i % 3 == 0 ? i * i % 11 : i / 1800; }),
        {0.2750403594028518, 0.41636443084005736, 0.417204375147355, 0.4390015415270472, 0.39746935197263095,
         0.41720437514735503, 0.33990543419397445, 0.56505});
}

TEST_CASE("adjusted scores equal the definition over all permutations of the rows") {
  const std::vector<std::pair<Labels, Labels>> cases{{{0, 1, 0, 1, 2, 2, 2}, {0, 0, 0, 1, 1, 1, 2}},
                                                     {{0, 0, 0, 0, 0, 0, 1}, {0, 1, 1, 1, 1, 1, 1}},
                                                     {{0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 1, 1}},
                                                     {{0, 0, 1, 1, 1, 2, 3}, {1, 1, 0, 0, 0, 0, 2}},
                                                     {{0, 1, 2, 3, 4, 5, 5}, {5, 4, 3, 2, 1, 0, 0}}};
  for (const auto& [labels, classes] : cases) {
    const Agreement actual = agreement(contingency(labels, classes));
    CHECK(std::abs(actual.adjusted_mutual_information - adjusted(labels, classes, information)) <= 1e-13);
    CHECK(std::abs(actual.adjusted_rand_index - adjusted(labels, classes, pairs)) <= 1e-13);
  }
}

TEST_CASE("limiting cases: one group, single rows, equal labelings, renamed labels") {
  const double root = std::sqrt(1.0 / 3.0);
  CHECK(scores({0, 0, 0, 0}, {0, 0, 1, 1}) == Scores{0, 0, 0, 0, 1, 0, root, 0.5});
  CHECK(scores({0, 0, 1, 1}, {0, 0, 0, 0}) == Scores{0, 0, 0, 1, 0, 0, root, 1});
  CHECK(scores({0, 0, 0}, {0, 0, 0}) == Scores{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(scores({0, 1}, {0, 0}) == Scores{0, 0, 0, 1, 0, 0, 0, 1});
  // Fowlkes-Mallows is 0 if no group has two rows.
  CHECK(scores({0}, {0}) == Scores{1, 1, 1, 1, 1, 1, 0, 1});
  CHECK(scores({0, 1, 2, 3}, {3, 1, 0, 2}) == Scores{1, 1, 1, 1, 1, 1, 0, 1});
  check({0, 1, 2, 3, 4, 5}, {0, 0, 1, 1, 1, 2},
        {0, 0, 0.7216162598446754, 1, 0.5644754678724234, 0.7216162598446754, 0, 1});
  check({0, 0, 1, 1, 1, 2}, {0, 1, 2, 3, 4, 5},
        {0, 0, 0.7216162598446754, 0.5644754678724234, 1, 0.7216162598446754, 0, 0.5});

  CHECK(scores({0, 0, 1, 1, 2}, {0, 0, 1, 1, 2}) == Scores{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(scores({0, 0, 1, 1, 2}, {2, 2, 0, 0, 1}) == Scores{1, 1, 1, 1, 1, 1, 1, 1});
  // Clusters without rows change nothing.
  CHECK(scores({0, 0, 3, 3, 7}, {2, 2, 0, 0, 5}) == Scores{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(scores({0, 2, 0, 2, 5, 5}, {0, 0, 0, 4, 4, 4}) == scores({0, 1, 0, 1, 2, 2}, {0, 0, 0, 1, 1, 1}));
}

TEST_CASE("counts of 2^32 rows do not overflow, and independent labelings score 0") {
  // The table of two independent labelings that each halve 2^32 rows.
  constexpr std::int64_t half = std::int64_t{1} << 31;
  const Agreement independent = agreement(
      {2 * half, {half, half}, {half, half}, {{0, 0, half / 2}, {0, 1, half / 2}, {1, 0, half / 2}, {1, 1, half / 2}}});
  CHECK(independent.normalized_mutual_information == 0.0);
  CHECK(std::abs(independent.adjusted_rand_index) < 1e-9);
  CHECK(std::abs(independent.adjusted_mutual_information) < 1e-9);
  CHECK(std::abs(independent.fowlkes_mallows - 0.5) < 1e-9);
  CHECK(independent.purity == 0.5);

  const Agreement near =
      agreement({2 * half, {half, half}, {half, half}, {{0, 0, half - 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, half - 1}}});
  CHECK(near.adjusted_rand_index < 1.0);
  CHECK(near.adjusted_rand_index > 1.0 - 1e-8);
  CHECK(near.adjusted_mutual_information < 1.0);
  CHECK(near.adjusted_mutual_information > 1.0 - 1e-7);
}

TEST_CASE("the contingency table counts rows by cluster and class") {
  const Contingency table = contingency(Labels{1, 0, 1, 3, 1}, Labels{2, 0, 0, 2, 2});
  CHECK(table.rows == 5);
  CHECK(table.clusters == std::vector<std::int64_t>{1, 3, 0, 1});
  CHECK(table.classes == std::vector<std::int64_t>{2, 0, 3});
  std::vector<std::array<std::int64_t, 3>> cells;
  for (const Contingency::Cell& cell : table.cells) cells.push_back({cell.cluster, cell.class_label, cell.rows});
  CHECK(cells == std::vector<std::array<std::int64_t, 3>>{{0, 0, 1}, {1, 0, 1}, {1, 2, 2}, {3, 2, 1}});

  CHECK_THROWS_AS(contingency(Labels{0, 1}, Labels{0}), Error);
  CHECK_THROWS_AS(contingency(Labels{}, Labels{}), Error);
  CHECK_THROWS_AS(contingency(Labels{0, -1}, Labels{0, 0}), Error);
}
