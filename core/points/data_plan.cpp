// Column ranges, integer grids and the screen transform of a data set, from two passes over its points.
#include "core/points/data_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/numbers/maps.h"
#include "core/points/backend.h"

namespace kith {

ColumnRange::ColumnRange(std::int64_t columns)
    : minimum(columns, std::numeric_limits<double>::infinity()),
      maximum(columns, -std::numeric_limits<double>::infinity()) {}

ColumnMagnitudes::ColumnMagnitudes(std::int64_t columns)
    : sum(columns, 0), absolute_sum(columns, 0), small(columns, 0), lost(columns, 0), on_grid(columns, 1) {}

namespace {

/// The square of the diagonal of the bounding box, which bounds every D between points and their means, and its widest
/// column.
struct Box {
  double squared_diagonal = 0.0;
  std::size_t widest = 0;
  double width = 0.0;  // of that column
};

Box box_of(const ColumnRange& range) {
  Box box;
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    const double width = range.maximum[j] - range.minimum[j];
    if (width > box.width) box.widest = j, box.width = width;
    box.squared_diagonal += width * width;
  }
  return box;
}

[[noreturn]] void refuse_box(const ColumnRange& range, const Box& box, const char* expected) {
  throw Error(ExitCode::data,
              fmt::format("column {} (counted from 1), the widest, ranges from {} to {}: squared distances leave the "
                          "range of float64; {}",
                          box.widest + 1, range.minimum[box.widest], range.maximum[box.widest], expected));
}

void check_box(const ColumnRange& range) {
  const Box box = box_of(range);
  if (box.squared_diagonal < std::numeric_limits<double>::max() / 4) return;
  refuse_box(range, box, "expected columns whose width squared stays below 1e307; divide the values by a power of ten");
}

ColumnScales grids(const ColumnRange& range, const Weights& weights) {
  ColumnScales scales;
  scales.low_bits = term_bits(weights.terms);
  scales.integral_weights = weights.integral;
  scales.shift.reserve(range.minimum.size());
  scales.first.reserve(range.minimum.size());
  scales.second.reserve(range.minimum.size());
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    const FixedScale scale = fixed_scale(weights.value_bits() - exponent_above(magnitude(range, j)));
    scales.shift.push_back(scale.shift);
    scales.first.push_back(scale.first);
    scales.second.push_back(scale.second);
  }
  return scales;
}

/// One limb suffices if each column lies on its grid or is not heavy-tailed: max|x| <= 4096 mean|x|, and at most half
/// of its values are small relative to the largest (since a few huge values can dominate the mean). Otherwise, and with
/// fractional weights, two.
int limbs_needed(const DataPlan& plan, const ColumnMagnitudes& magnitudes) {
  if (!plan.weights.integral) return 2;
  const std::int64_t terms = plan.weights.terms;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    const double largest = magnitude(plan.range, j) * plan.scales.first[j] * plan.scales.second[j];
    const double total = static_cast<double>(magnitudes.absolute_sum[j]);
    const bool heavy = !(largest * static_cast<double>(terms) <= 4096.0 * total) || 2 * magnitudes.small[j] > terms;
    if (!magnitudes.on_grid[j] && heavy) return 2;
  }
  return 1;
}

/// Warnings for columns in which more than 1 % of the values lose their digits in the sums.
std::vector<std::string> warnings_of_lost_digits(const DataPlan& plan, const ColumnMagnitudes& magnitudes) {
  std::vector<std::string> warnings;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    if (magnitudes.on_grid[j] || 100 * magnitudes.lost[j] <= plan.weights.terms) continue;
    warnings.push_back(
        fmt::format("column {}: {} of {} values lose their digits in the sums, since the largest value is {}; if such "
                    "values mark missing data, remove their rows",
                    j + 1, magnitudes.lost[j], plan.weights.terms, magnitude(plan.range, j)));
  }
  return warnings;
}

/// Whether all values appear to be integers, judged by the sums of the columns. Other values are very unlikely to have
/// integral sums in every column, and a wrong answer affects speed only.
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

/// The centre is the mean, and the exponent maps the widest column to the unit interval. Data whose width is below
/// 2^-60 of its magnitude stays smaller, since the centre would overflow. Integers of up to ten bits, which include
/// bytes, get a centre on their own grid: x' is then at most 1024 grid steps, which float16 holds exactly.
ScreenTransform screen_transform(const DataPlan& plan, bool integral) {
  constexpr int kSteps = 10;  // bits
  double reach = 0.0, largest = 0.0;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    reach = std::max({reach, plan.range.maximum[j] - plan.mean[j], plan.mean[j] - plan.range.minimum[j]});
    largest = std::max(largest, magnitude(plan.range, j));
  }
  int exponent = exponent_above(largest) - 60;
  if (reach > 0.0) exponent = std::max(exponent, exponent_above(reach));
  ScreenTransform screen;
  screen.exponent = std::max(exponent, -126);  // 2^126 is the largest scale of float32
  screen.center.reserve(plan.mean.size());
  for (const double m : plan.mean) {
    const double center = std::ldexp(m, -screen.exponent);
    const bool rounded = integral && screen.exponent <= kSteps;
    screen.center.push_back(
        static_cast<float>(rounded ? std::ldexp(std::rint(std::ldexp(center, kSteps)), -kSteps) : center));
  }
  return screen;
}

}  // namespace

void require_digits(const ColumnRange& range, Measure measure) {
  // 2^122 above the smallest normal number: also rows much nearer to each other than the box is wide keep their digits.
  constexpr double kLeast = 0x1p-900;
  const Box box = box_of(range);
  if (measure != Measure::squared_euclidean || box.width == 0.0 || box.squared_diagonal >= kLeast) return;
  refuse_box(range, box,
             "expected a column whose width squared is above 1e-270; multiply the values by a power of ten");
}

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
  plan.warnings = warnings_of_lost_digits(plan, magnitudes);
  plan.mean.reserve(static_cast<std::size_t>(plan.columns));
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    plan.mean.push_back(from_fixed(magnitudes.sum[j], plan.scales.shift[j]) / weights.total);
  }
  plan.screen = screen_transform(plan, seem_integral(plan, magnitudes));
  return plan;
}

DataPlan make_block_plan(const Points& points, ColumnRange& seen) {
  DataPlan plan = make_plan(points);
  extend(seen, plan.range);
  check_box(seen);
  return plan;
}

namespace {

/// Throws unless squared distances between points and centroids, and between centroids, fit into float64.
void check_reach(const DataPlan& plan, MatrixView<const double> centroids) {
  ColumnRange all = plan.range;
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    const auto centroid = array(centroids.row(c));
    array(all.minimum) = array(all.minimum).min(centroid);
    array(all.maximum) = array(all.maximum).max(centroid);
  }
  const double box = box_of(all).squared_diagonal;
  if (!(box < std::numeric_limits<double>::max() / 4)) {
    throw Error(
        ExitCode::data,
        "centroids lie so far from the points that squared distances leave the range of float64; move them closer");
  }
  if (plan.weights.given() && !(box * plan.weights.total < std::numeric_limits<double>::max() / 4)) {
    throw Error(ExitCode::data, fmt::format("the weights add up to {}, so the inertia leaves the range of float64; "
                                            "multiply all weights by a small number",
                                            plan.weights.total));
  }
}

/// The largest squared distance from a point of the bounding box to a centroid (d).
double farthest_corner(const ColumnRange& range, std::span<const double> centroid) {
  double sum = 0.0;
  for (std::size_t j = 0; j < centroid.size(); ++j) {
    const double width = std::max(range.maximum[j] - centroid[j], centroid[j] - range.minimum[j]);
    sum += width * width;
  }
  return sum;
}

FixedScale scale_of_distances(const DataPlan& plan, double largest) {
  const double box = box_of(plan.range).squared_diagonal;
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
