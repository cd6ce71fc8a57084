// Explanations of clusters: the columns in which a centroid differs most from the mean of all points.
#pragma once

#include <string>
#include <vector>

#include "app/run/held_points.h"
#include "core/kmeans/kmeans.h"

namespace kith::app {

/// For each cluster with rows, at most `most` columns in which its mean (core/kmeans/cluster_means.h) is farthest from
/// the mean of all rows, in standard deviations of all rows, largest first. Columns without deviation or difference are
/// omitted. `names`: of the columns, or empty.
std::vector<Explanation> explain(const KMeansResult& result, const HeldPoints& held,
                                 const std::vector<std::string>& names, Metric metric, std::size_t most = 5);

/// A line for each; counts: (k) rows of the clusters.
std::string explanation_table(const std::vector<Explanation>& explanations, const std::vector<std::int64_t>& counts);

}  // namespace kith::app
