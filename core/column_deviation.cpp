// Deviations of columns from integer sums of squares.
#include "core/column_deviation.h"

#include <algorithm>
#include <cmath>

namespace kith {

std::vector<double> column_deviations(const PointsView& values, const DataPlan& plan) {
  const auto columns = static_cast<std::size_t>(plan.columns);
  const Weights& weights = plan.weights;
  const int bits = term_bits(weights.terms);
  std::vector<FixedScale> scales(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    const double reach = std::max(plan.range.maximum[j] - plan.mean[j], plan.mean[j] - plan.range.minimum[j]);
    scales[j] = fixed_scale(weights.value_bits() - exponent_above(reach * reach));
  }
  std::vector<Limbs> sums(columns);
  const double low_scale = power_of_two(bits);
  std::visit(
      [&](const auto& rows) {
        const RowWeights row_weights{weights.rows.data(), weights.whole};
        for (std::int64_t i = 0; i < rows.rows; ++i) {
          const RowWeight weight = row_weights.of(i);
          for (std::size_t j = 0; j < columns; ++j) {
            const double difference = static_cast<double>(rows.row(i)[j]) - plan.mean[j];
            const Limbs square =
                weighted_limbs(difference * difference, scales[j].first, scales[j].second, low_scale, weight);
            sums[j].high += square.high;
            sums[j].low += square.low;
          }
        }
      },
      values);
  std::vector<double> deviations(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    deviations[j] = std::sqrt(from_limbs(sums[j], scales[j].shift, bits) / weights.total);
  }
  return deviations;
}

}  // namespace kith
