// Choosing the number of clusters: Kneedle, and the gap statistic with uniform reference sets.
#include "core/scores/cluster_number.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numbers/maps.h"
#include "core/numbers/philox.h"

namespace kith {
namespace {

/// The difference between the curve and its chord, with both axes scaled to [0, 1] and the curve turned upside down.
std::vector<double> differences(std::span<const double> x, std::span<const double> y) {
  const double low = array(y).minCoeff(), high = array(y).maxCoeff();
  std::vector<double> away(x.size());
  array(away) = (high - array(y)) / (high - low) - (array(x) - x.front()) / (x.back() - x.front());
  return away;
}

}  // namespace

std::optional<std::size_t> knee(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3 || !(y.back() < y.front())) return {};
  const std::vector<double> away = differences(x, y);
  const double step = 1.0 / static_cast<double>(x.size() - 1);  // mean distance of neighbouring points
  std::optional<std::size_t> best;
  for (std::size_t i = 1; i + 1 < away.size(); ++i) {
    if (!(away[i] > away[i - 1] && away[i] >= away[i + 1])) continue;
    // A maximum is a knee if the curve falls below the threshold before it reaches the next maximum.
    bool falls = false;
    for (std::size_t j = i + 1; j < away.size() && !falls && (j == i + 1 || away[j] <= away[j - 1]); ++j) {
      falls = away[j] < away[i] - step;
    }
    if (falls && (!best || away[i] > away[*best])) best = i;
  }
  return best;
}

Gap gap_statistic(double inertia, std::span<const double> of_references) {
  const auto count = static_cast<double>(of_references.size());
  double mean = 0.0, squares = 0.0;
  for (const double reference : of_references) mean += std::log(reference) / count;
  for (const double reference : of_references) squares += (std::log(reference) - mean) * (std::log(reference) - mean);
  const Gap gap{mean - std::log(inertia), std::sqrt(squares / count) * std::sqrt(1.0 + 1.0 / count)};
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(gap.value) ? gap : Gap{kUndefined, kUndefined};
}

std::optional<std::size_t> gap_rule(std::span<const Gap> gaps) {
  for (std::size_t i = 0; i + 1 < gaps.size(); ++i) {
    if (gaps[i].value >= gaps[i + 1].value - gaps[i + 1].error) return i;
  }
  return {};
}

PointsMatrix reference_points(const DataPlan& plan, ValueClass value_class, std::uint64_t seed, std::int64_t number) {
  const std::uint64_t stream = (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(number);
  const auto draw = [&](auto zero) -> PointsMatrix {
    using T = decltype(zero);
    Matrix<T> points(plan.rows, plan.columns);
    for (std::int64_t i = 0; i < plan.rows; ++i) {
      for (std::int64_t j = 0; j < plan.columns; ++j) {
        const std::uint64_t bits = random_bits(seed, stream, static_cast<std::uint64_t>(i * plan.columns + j));
        const double low = plan.range.minimum[j], high = plan.range.maximum[j];
        points(i, j) = static_cast<T>(low + static_cast<double>(bits >> 11) * 0x1p-53 * (high - low));
      }
    }
    return points;
  };
  return value_class == ValueClass::f32 ? draw(0.0F) : draw(0.0);
}

}  // namespace kith
