// Weights that are checked, and what sums over weighted rows have to know.
#include "core/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace kith {
namespace {

constexpr std::int64_t kMostCopies = std::int64_t{1} << 36;  // leaves 25 bits to the values, more than float32 has
constexpr double kLargest = 0x1p100, kSmallest = 0x1p-100;   // of weights that are not whole
constexpr double kApart = 0x1p40;

/// Throws unless the weight is a number from 0 on.
void check_weight(double weight, std::size_t row, const std::string& name) {
  if (weight >= 0.0 && std::isfinite(weight)) return;
  throw Error(
      ExitCode::data,
      fmt::format("{}: row {} (counted from 0): expected a weight of 0 or more, found {}; give rows that are not "
                  "to count the weight 0",
                  name, row, weight));
}

/// Throws unless all weights but 0 are in reach of each other, so that the sums keep the digits of all of them.
void check_range(std::span<const double> weights, double smallest, double largest, const std::string& name) {
  const auto row_of = [&](double weight) {
    return std::find(weights.begin(), weights.end(), weight) - weights.begin();
  };
  if (largest > kLargest || smallest < kSmallest) {
    const double found = largest > kLargest ? largest : smallest;
    throw Error(ExitCode::data,
                fmt::format("{}: row {} (counted from 0): expected a weight of 0 or from {:.3g} to {:.3g}, found {}; "
                            "multiply all weights by one number",
                            name, row_of(found), kSmallest, kLargest, found));
  }
  if (largest / smallest <= kApart) return;
  throw Error(ExitCode::data,
              fmt::format("{}: row {} (counted from 0): expected a weight of 0 or of at least {:.3g}, which is 2^-40 "
                          "of the largest, {} "
                          "(row {}), found {}; give such rows the weight 0",
                          name, row_of(smallest), largest / kApart, largest, row_of(largest), smallest));
}

}  // namespace

Weights equal_weights(std::int64_t rows) {
  Weights weights;
  weights.terms = rows;
  weights.total = static_cast<double>(rows);
  return weights;
}

Weights checked_weights(std::span<const double> weights, const std::string& name) {
  Weights found;
  found.rows = weights;
  found.smallest = std::numeric_limits<double>::infinity();
  double largest = 0.0;
  std::int64_t copies = 0, positive = 0;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const double weight = weights[row];
    check_weight(weight, row, name);
    if (weight == 0.0) continue;
    ++positive;
    largest = std::max(largest, weight);
    found.smallest = std::min(found.smallest, weight);
    found.integral =
        found.integral && weight == std::rint(weight) && weight <= static_cast<double>(kMostCopies - copies);
    if (found.integral) copies += static_cast<std::int64_t>(weight);
  }
  if (positive == 0) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected a weight above 0, found none in {} rows; leave the weights out "
                            "to count every row once",
                            name, weights.size()));
  }
  if (!found.integral) check_range(weights, found.smallest, largest, name);
  found.terms = found.integral ? copies : positive;
  found.exponent = found.integral ? 0 : exponent_above(largest);
  Limbs sum;
  const FixedScale grid = found.grid();
  const double low_scale = power_of_two(term_bits(found.terms));
  for (const double weight : weights) {
    const Limbs one = weighted_limbs(1.0, grid.first, grid.second, low_scale, row_weight(weight, found.integral));
    sum.high += one.high;
    sum.low += one.low;
  }
  found.total = total_weight(sum, found);
  return found;
}

}  // namespace kith
