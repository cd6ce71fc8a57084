// The mean of the rows of each label, from integer sums.
#include "core/kmeans/label_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/kmeans/cluster_update.h"

namespace kith {

Matrix<double> means_of_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                               std::int64_t clusters) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(clusters), 0);
  for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  const auto none = std::find(counts.begin(), counts.end(), 0);
  if (none != counts.end()) {
    throw Error(ExitCode::data,
                fmt::format("label {}: expected at least one row with this label, found none", none - counts.begin()));
  }
  points.reset();
  points.set_labels(labels);
  ClusterSums sums = empty_sums(plan, clusters);
  points.update_sums(sums);
  const Matrix<double> unused(clusters, plan.columns);  // centroids of clusters without rows
  return centroids_of(sums, cluster_weights(sums, counts, plan.weights), plan.scales, unused.view());
}

}  // namespace kith
