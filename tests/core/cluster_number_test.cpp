// The knee of a curve, the gap statistic, and its reference data sets.
#include "core/scores/internal_scores.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

std::optional<std::size_t> knee_of(const std::vector<double>& y) {
  std::vector<double> x;
  for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i + 1));
  return knee(x, y);
}

}  // namespace

TEST_CASE("the knee is where the curve lies farthest from its chord") {
  CHECK(knee_of({100, 40, 10, 8, 6, 4, 2, 0}) == 2);
  CHECK(knee_of({100, 30, 28, 26}) == 1);
  // Figure 2 of the paper: -1 / x + 5 at 0.1, 0.2, ... 1 rises; turned upside down it has the same knee.
  std::vector<double> x, y;
  for (int i = 0; i < 10; ++i) {
    x.push_back(i / 9.0);
    y.push_back(1 / (i / 9.0 + 0.1) - 5);
  }
  CHECK(knee(x, y) == 2);
  // Uneven x, such as 2, 4, 8, 16.
  CHECK(knee(std::vector<double>{2, 4, 8, 16}, std::vector<double>{90, 20, 10, 0}) == 1);
  CHECK(!knee_of({4, 3, 2, 1}));      // straight
  CHECK(!knee_of({100, 99, 95, 0}));  // the wrong way round
  CHECK(!knee_of({1, 2, 3}));         // rising
  CHECK(!knee_of({5, 5, 5}));         // level
  CHECK(!knee_of({5, 1}));            // too short
  CHECK(!knee_of({5, kNothing, 1}));
}

TEST_CASE("the gap statistic and its rule follow Tibshirani, Walther and Hastie") {
  const Gap gap = gap_statistic(std::exp(2.0), std::vector<double>{std::exp(3.0), std::exp(5.0)});
  CHECK(gap.value == Approx(2.0).epsilon(1e-14));
  CHECK(gap.error == Approx(std::sqrt(1.5)).epsilon(1e-14));
  CHECK(std::isnan(gap_statistic(0.0, std::vector<double>{1.0}).value));
  CHECK(std::isnan(gap_statistic(1.0, std::vector<double>{0.0}).value));
  CHECK(gap_rule(std::vector<Gap>{{0.1, 0.1}, {0.5, 0.1}, {0.9, 0.1}, {0.95, 0.1}, {1.5, 0.1}}) == 2);
  CHECK(gap_rule(std::vector<Gap>{{0.9, 0.1}, {0.5, 0.1}}) == 0);
  CHECK(!gap_rule(std::vector<Gap>{{0.1, 0.1}, {0.5, 0.1}}));
  CHECK(!gap_rule(std::vector<Gap>{{0.1, 0.1}, {kNothing, kNothing}}));
}

TEST_CASE("reference sets fill the ranges of the columns and differ from each other") {
  const Matrix<double> values = kinds()[0].make(2000, 3, 5);
  const auto points = reference_points(values.view());
  const DataPlan plan = make_plan(*points);
  const PointsMatrix first = reference_points(plan, ValueClass::f64, 7, 0);
  const auto& drawn = std::get<Matrix<double>>(first);
  REQUIRE(drawn.rows() == 2000);
  for (std::int64_t j = 0; j < 3; ++j) {
    double low = INFINITY, high = -INFINITY, sum = 0.0;
    for (std::int64_t i = 0; i < 2000; ++i) {
      low = std::min(low, drawn(i, j));
      high = std::max(high, drawn(i, j));
      sum += drawn(i, j);
    }
    const double width = plan.range.maximum[j] - plan.range.minimum[j];
    CHECK(low >= plan.range.minimum[j]);
    CHECK(low < plan.range.minimum[j] + 0.01 * width);
    CHECK(high <= plan.range.maximum[j]);
    CHECK(high > plan.range.maximum[j] - 0.01 * width);
    CHECK(std::abs(sum / 2000 - plan.range.minimum[j] - width / 2) < 0.03 * width);  // four deviations of the mean
  }
  const auto bytes = [](const PointsMatrix& m) {
    const auto& matrix = std::get<Matrix<double>>(m);
    return std::vector<double>(matrix.data(), matrix.data() + matrix.size());
  };
  CHECK(bytes(reference_points(plan, ValueClass::f64, 7, 0)) == bytes(first));
  CHECK(bytes(reference_points(plan, ValueClass::f64, 7, 1)) != bytes(first));
  CHECK(bytes(reference_points(plan, ValueClass::f64, 8, 0)) != bytes(first));
  const PointsMatrix rounded = reference_points(plan, ValueClass::f32, 7, 0);
  const auto& floats = std::get<Matrix<float>>(rounded);
  CHECK(floats(1999, 2) == static_cast<float>(drawn(1999, 2)));
}
