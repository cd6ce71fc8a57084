// Means of the rows of each label from integer sums.
#include "core/label_means.h"

#include <fmt/format.h>

#include <vector>

#include "core/backend.h"
#include "core/cluster_update.h"

namespace kith {
namespace {

/// Adds a row to the sums of a cluster.
template <class T>
void add_row(std::span<const T> row, std::int64_t cluster, RowWeight weight, const DataPlan& plan, ClusterSums& sums) {
  const ColumnScales& scales = plan.scales;
  const double low_scale = scales.low_scale();
  for (std::size_t j = 0; j < row.size(); ++j) {
    const std::size_t at = static_cast<std::size_t>(cluster) * row.size() + j;
    const auto value = static_cast<double>(row[j]);
    if (sums.limbs == 2) {
      const Limbs limbs = weighted_limbs(value, scales.first[j], scales.second[j], low_scale, weight);
      sums.high[at] += limbs.high;
      sums.low[at] += limbs.low;
    } else {
      sums.high[at] += weighted_fixed(value, scales.first[j], scales.second[j], weight);
    }
  }
  if (sums.weights.empty()) return;
  const FixedScale grid = plan.weights.grid();
  const Limbs own = weighted_limbs(1.0, grid.first, grid.second, low_scale, weight);
  sums.weights[static_cast<std::size_t>(cluster)].high += own.high;
  sums.weights[static_cast<std::size_t>(cluster)].low += own.low;
}

}  // namespace

Matrix<double> means_of_labels(const PointsView& values, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters) {
  ClusterSums sums(clusters, plan.columns, plan.scales.limbs);
  if (plan.weights.given()) sums.weights.resize(static_cast<std::size_t>(clusters));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(clusters), 0);
  const RowWeights weights{plan.weights.given() ? plan.weights.rows.data() : nullptr, plan.weights.whole};
  std::visit(
      [&](const auto& rows) {
        for (std::int64_t i = 0; i < rows.rows; ++i) {
          const std::int32_t label = labels[static_cast<std::size_t>(i)];
          ++counts[static_cast<std::size_t>(label)];
          add_row(rows.row(i), label, weights.of(i), plan, sums);
        }
      },
      values);
  for (std::int64_t c = 0; c < clusters; ++c) {
    if (counts[static_cast<std::size_t>(c)] == 0) {
      throw Error(ExitCode::data, fmt::format("label {} (counted from 0): expected at least one row, found none", c));
    }
  }
  const Matrix<double> nothing(clusters, plan.columns);  // takes the place of centroids without rows: there are none
  return centroids_of(sums, cluster_weights(sums, counts, plan.weights), plan.scales, nothing.view());
}

}  // namespace kith
