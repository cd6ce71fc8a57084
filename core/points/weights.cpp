// Validation of row weights, and the parameters of weighted sums.
#include "core/points/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace kith {
namespace {

constexpr std::int64_t kMaxCopies = std::int64_t{1} << 36;              // values keep 25 bits, more than float32 has
constexpr double kLargestWeight = 0x1p100, kSmallestWeight = 0x1p-100;  // limits of fractional weights
constexpr double kLargestRatio = 0x1p40;

/// Throws unless the weight is finite and at least 0.
void check_weight(double weight, std::size_t row, const std::string& name) {
  if (weight >= 0.0 && std::isfinite(weight)) return;
  throw Error(ExitCode::data,
              fmt::format("{}: row {} (counted from 1): expected a weight of 0 or more, found {}; give rows "
                          "to ignore the weight 0",
                          name, row + 1, weight));
}

/// Throws unless the sums can keep the digits of all weights above 0.
void check_range(std::span<const double> weights, double smallest, double largest, const std::string& name) {
  const auto row_of = [&](double weight) { return std::ranges::find(weights, weight) - weights.begin() + 1; };
  if (largest > kLargestWeight || smallest < kSmallestWeight) {
    const double outlier = largest > kLargestWeight ? largest : smallest;
    throw Error(ExitCode::data,
                fmt::format("{}: row {} (counted from 1): expected a weight of 0 or from {:.3g} to {:.3g}, found {}; "
                            "multiply all weights by one number",
                            name, row_of(outlier), kSmallestWeight, kLargestWeight, outlier));
  }
  if (largest / smallest <= kLargestRatio) return;
  throw Error(ExitCode::data,
              fmt::format("{}: row {} (counted from 1): expected a weight of 0 or of at least {:.3g}, which is 2^-40 "
                          "of the largest, {} "
                          "(row {}), found {}; give such rows the weight 0",
                          name, row_of(smallest), largest / kLargestRatio, largest, row_of(largest), smallest));
}

}  // namespace

Weights equal_weights(std::int64_t rows) {
  Weights weights;
  weights.terms = rows;
  weights.total = static_cast<double>(rows);
  return weights;
}

Weights checked_weights(std::span<const double> weights, const std::string& name) {
  Weights checked;
  checked.rows = weights;
  checked.smallest = std::numeric_limits<double>::infinity();
  double largest = 0.0;
  std::int64_t copies = 0, positive = 0;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const double weight = weights[row];
    check_weight(weight, row, name);
    if (weight == 0.0) continue;
    ++positive;
    largest = std::max(largest, weight);
    checked.smallest = std::min(checked.smallest, weight);
    checked.integral =
        checked.integral && weight == std::rint(weight) && weight <= static_cast<double>(kMaxCopies - copies);
    if (checked.integral) copies += static_cast<std::int64_t>(weight);
  }
  if (positive == 0) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected a weight above 0, found none in {} rows; leave the weights out "
                            "to count every row once",
                            name, weights.size()));
  }
  if (!checked.integral) check_range(weights, checked.smallest, largest, name);
  checked.terms = checked.integral ? copies : positive;
  checked.exponent = checked.integral ? 0 : exponent_above(largest);
  Limbs sum;
  const FixedScale grid = checked.grid();
  const double low_scale = power_of_two(term_bits(checked.terms));
  for (const double weight : weights) {
    const Limbs one = weighted_limbs(1.0, grid.first, grid.second, low_scale, row_weight(weight, checked.integral));
    sum.high += one.high;
    sum.low += one.low;
  }
  checked.total = total_weight(sum, checked);
  return checked;
}

}  // namespace kith
