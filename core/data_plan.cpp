// Column ranges, integer grids and screen constants of a data set, from two passes over its points.
#include "core/data_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/backend.h"
#include "core/error.h"

namespace kith {

ColumnRange::ColumnRange(std::int64_t columns)
    : minimum(columns, std::numeric_limits<double>::infinity()),
      maximum(columns, -std::numeric_limits<double>::infinity()) {}

ColumnMagnitudes::ColumnMagnitudes(std::int64_t columns)
    : sum(columns, 0), absolute_sum(columns, 0), small(columns, 0), lost(columns, 0), on_grid(columns, 1) {}

namespace {

double largest_magnitude(const ColumnRange& range, std::int64_t j) {
  return std::max(std::abs(range.minimum[j]), std::abs(range.maximum[j]));
}

/// The squared diagonal of the box of the points: no D between points, or between points and their means, exceeds it.
void check_box(const ColumnRange& range) {
  double box = 0.0;
  std::size_t widest = 0;
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    const double width = range.maximum[j] - range.minimum[j];
    if (width > range.maximum[widest] - range.minimum[widest]) widest = j;
    box += width * width;
  }
  if (box < std::numeric_limits<double>::max() / 4) return;
  throw Error(ExitCode::data, fmt::format("column {} (counted from 0) runs from {} to {}: squared distances leave the "
                                          "range of float64; expected columns "
                                          "whose width squared stays below 1e307; divide the values by a power of ten",
                                          widest, range.minimum[widest], range.maximum[widest]));
}

ColumnScales grids(const ColumnRange& range, const Weights& weights) {
  ColumnScales scales;
  scales.low_bits = term_bits(weights.terms);
  scales.integral_weights = weights.integral;
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    const FixedScale scale = fixed_scale(weights.value_bits() - exponent_above(largest_magnitude(range, j)));
    scales.shift.push_back(scale.shift);
    scales.first.push_back(scale.first);
    scales.second.push_back(scale.second);
  }
  return scales;
}

/// Two limbs unless every column is exactly on its grid or is not heavy-tailed: max|x| <= 4096 mean|x|, and at most
/// half of its values are small beside the largest (a few huge ones can make up the mean). Fractional weights always
/// take two.
int limbs_needed(const DataPlan& plan, const ColumnMagnitudes& magnitudes) {
  if (!plan.weights.integral) return 2;
  const std::int64_t terms = plan.weights.terms;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    const double largest = largest_magnitude(plan.range, j) * plan.scales.first[j] * plan.scales.second[j];
    const double total = static_cast<double>(magnitudes.absolute_sum[j]);
    const bool heavy = !(largest * static_cast<double>(terms) <= 4096.0 * total) || 2 * magnitudes.small[j] > terms;
    if (!magnitudes.on_grid[j] && heavy) return 2;
  }
  return 1;
}

/// Columns in which more than one value in a hundred loses its digits beside the largest.
std::vector<std::string> coarse_columns(const DataPlan& plan, const ColumnMagnitudes& magnitudes) {
  std::vector<std::string> warnings;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    if (magnitudes.on_grid[j] || 100 * magnitudes.lost[j] <= plan.weights.terms) continue;
    warnings.push_back(
        fmt::format("column {}: {} of {} values lose their digits in sums beside the largest, {}; if such "
                    "large values mark missing ones, leave their rows out",
                    j, magnitudes.lost[j], plan.weights.terms, largest_magnitude(plan.range, j)));
  }
  return warnings;
}

/// Whether all values seem to be whole numbers: the sums of whole numbers are whole. That others have whole sums in
/// every column is as good as impossible, and does no harm.
bool seem_integral(const DataPlan& plan, const ColumnMagnitudes& magnitudes) {
  const auto is_integer = [](std::int64_t fixed, int shift) { return std::countr_zero(std::uint64_t(fixed)) >= shift; };
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    const int shift = plan.scales.shift[j];
    if (!magnitudes.on_grid[j] || !is_integer(magnitudes.sum[j], shift) ||
        !is_integer(magnitudes.absolute_sum[j], shift)) {
      return false;
    }
  }
  return true;
}

/// Centre: the mean. Exponent: the widest column fills the unit interval; data whose spread is below 2^-60 of its
/// magnitude is left small rather than scaled until the centre overflows. Whole numbers of up to ten bits, bytes among
/// them, get a centre on their own grid: then x' is at most 1024 steps of it, and nothing is lost in float16.
ScreenTransform screen_transform(const DataPlan& plan, bool integral) {
  constexpr int kSteps = 10;  // bits
  double reach = 0.0, magnitude = 0.0;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    reach = std::max({reach, plan.range.maximum[j] - plan.mean[j], plan.mean[j] - plan.range.minimum[j]});
    magnitude = std::max(magnitude, largest_magnitude(plan.range, j));
  }
  int exponent = exponent_above(magnitude) - 60;
  if (reach > 0.0) exponent = std::max(exponent, exponent_above(reach));
  ScreenTransform screen;
  screen.exponent = std::max(exponent, -126);  // 2^126 is the largest scale of float32
  for (const double m : plan.mean) {
    const double center = std::ldexp(m, -screen.exponent);
    const bool rounded = integral && screen.exponent <= kSteps;
    screen.center.push_back(
        static_cast<float>(rounded ? std::ldexp(std::rint(std::ldexp(center, kSteps)), -kSteps) : center));
  }
  return screen;
}

}  // namespace

DataPlan make_plan(const Points& points) { return make_plan(points, equal_weights(points.rows())); }

DataPlan make_plan(const Points& points, const Weights& weights) {
  DataPlan plan;
  plan.weights = weights;
  plan.rows = points.rows();
  plan.columns = points.columns();
  plan.range = ColumnRange(plan.columns);
  points.add_range(plan.range);
  check_box(plan.range);
  plan.scales = grids(plan.range, weights);
  ColumnMagnitudes magnitudes(plan.columns);
  points.add_magnitudes(plan.scales, magnitudes);
  plan.scales.limbs = limbs_needed(plan, magnitudes);
  plan.warnings = coarse_columns(plan, magnitudes);
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    plan.mean.push_back(from_fixed(magnitudes.sum[j], plan.scales.shift[j]) / weights.total);
  }
  plan.screen = screen_transform(plan, seem_integral(plan, magnitudes));
  return plan;
}

namespace {

double squared_box(const std::vector<double>& low, const std::vector<double>& high) {
  double box = 0.0;
  for (std::size_t j = 0; j < low.size(); ++j) box += (high[j] - low[j]) * (high[j] - low[j]);
  return box;
}

/// Squared distances between points and centroids, and between centroids, stay in the range of float64.
void check_reach(const DataPlan& plan, MatrixView<const double> centroids) {
  std::vector<double> low = plan.range.minimum, high = plan.range.maximum;
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    for (std::int64_t j = 0; j < plan.columns; ++j) {
      low[j] = std::min(low[j], centroids(c, j));
      high[j] = std::max(high[j], centroids(c, j));
    }
  }
  const double box = squared_box(low, high);
  if (!(box < std::numeric_limits<double>::max() / 4)) {
    throw Error(ExitCode::data,
                "centroids lie so far from the points that squared distances leave the range of float64");
  }
  if (plan.weights.given() && !(box * plan.weights.total < std::numeric_limits<double>::max() / 4)) {
    throw Error(ExitCode::data, fmt::format("weights that add up to {} let the inertia leave the range of float64; "
                                            "multiply all of them by a small number",
                                            plan.weights.total));
  }
}

/// The largest squared distance that a point in the box can have to a centroid (d).
double farthest_corner(const ColumnRange& range, std::span<const double> centroid) {
  double sum = 0.0;
  for (std::size_t j = 0; j < centroid.size(); ++j) {
    const double width = std::max(range.maximum[j] - centroid[j], centroid[j] - range.minimum[j]);
    sum += width * width;
  }
  return sum;
}

FixedScale scale_of_distances(const DataPlan& plan, double largest) {
  const double box = squared_box(plan.range.minimum, plan.range.maximum);
  return fixed_scale(plan.weights.value_bits() - exponent_above(std::max(box, largest)));
}

}  // namespace

FixedScale inertia_scale(const DataPlan& plan, MatrixView<const double> centroids) {
  check_reach(plan, centroids);
  double least = centroids.rows > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    least = std::min(least, farthest_corner(plan.range, centroids.row(c)));
  }
  return scale_of_distances(plan, least);
}

FixedScale inertia_scale(const DataPlan& plan, MatrixView<const double> centroids,
                         std::span<const std::int64_t> counts) {
  check_reach(plan, centroids);
  double largest = 0.0;
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    if (counts[c] > 0) largest = std::max(largest, farthest_corner(plan.range, centroids.row(c)));
  }
  return scale_of_distances(plan, largest);
}

}  // namespace kith
