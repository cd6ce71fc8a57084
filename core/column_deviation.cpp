// Deviations of columns from integer sums of squares.
#include "core/column_deviation.h"

#include <algorithm>
#include <cmath>

#include "core/column_sums.h"

namespace kith {

double largest_deviation(const ColumnRange& range, std::size_t j, double mean) {
  return std::max(range.maximum[j] - mean, mean - range.minimum[j]);
}

std::vector<double> column_deviations(const PointsView& values, const KnownColumns& known, const Workers& workers) {
  std::vector<double> largest, deviations;
  for (std::size_t j = 0; j < known.mean.size(); ++j) {
    const double reach = largest_deviation(known.range, j, known.mean[j]);
    largest.push_back(reach * reach);
  }
  const ColumnSums squares = std::visit(
      [&](const auto& rows) {
        return sum_columns(rows, largest, known.weights, workers, [&](double value, std::int64_t j) {
          const double difference = value - known.mean[static_cast<std::size_t>(j)];
          return difference * difference;
        });
      },
      values);
  for (std::size_t j = 0; j < largest.size(); ++j) {
    deviations.push_back(std::sqrt(squares.sum(j) / known.weights.total));
  }
  return deviations;
}

std::vector<double> column_deviations(const PointsView& values, const DataPlan& plan) {
  return column_deviations(values, {plan.mean, plan.range, plan.weights});
}

}  // namespace kith
