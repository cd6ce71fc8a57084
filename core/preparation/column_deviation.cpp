// Standard deviations of columns from integer sums of squares.
#include "core/preparation/column_deviation.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/column_sums.h"

namespace kith {

double largest_deviation(const ColumnRange& range, std::size_t j, double mean) {
  return std::max(range.maximum[j] - mean, mean - range.minimum[j]);
}

std::vector<double> column_deviations(const RowBlocks& blocks, const KnownColumns& known, const Workers& workers) {
  // A power of two scales the differences to at most 1, so no square leaves the range of float64.
  std::vector<double> largest, deviations;
  std::vector<int> exponents;
  for (std::size_t j = 0; j < known.mean.size(); ++j) {
    const double reach = largest_deviation(known.range, j, known.mean[j]);
    exponents.push_back(exponent_above(reach));
    const double scaled = scaled_by(reach, -exponents[j]);
    largest.push_back(scaled * scaled);
  }
  const auto term = [&](double value, std::int64_t j) {
    const auto column = static_cast<std::size_t>(j);
    const double difference = scaled_by(value - known.mean[column], -exponents[column]);
    return difference * difference;
  };
  ColumnSums squares(largest, known.weights);
  blocks.pass([&](const PointsView& block) {
    std::visit([&](const auto& rows) { squares.add(sum_columns(rows, largest, known.weights, workers, term)); }, block);
  });
  for (std::size_t j = 0; j < largest.size(); ++j) {
    deviations.push_back(scaled_by(std::sqrt(squares.sum(j) / known.weights.total), exponents[j]));
  }
  return deviations;
}

std::vector<double> column_deviations(const PointsView& values, const DataPlan& plan) {
  return column_deviations(one_block(values), {plan.mean, plan.range, plan.weights});
}

}  // namespace kith
