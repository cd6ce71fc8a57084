// What sets each cluster apart from all points: the columns in which its centroid differs most, and the table of them.
#pragma once

#include <string>
#include <vector>

#include "app/run/job.h"
#include "core/kmeans.h"

namespace kith::app {

/// For each cluster with rows the columns (at most `most`) whose centroid lies farthest from the mean of all rows, in
/// standard deviations of all rows, the largest first. Columns without a deviation, and those in which the cluster does
/// not differ, are left out. `names`: of the columns, or empty.
std::vector<Explanation> explain(const KMeansResult& result, const HeldPoints& held,
                                 const std::vector<std::string>& names, std::size_t most = 5);

/// A line for each; counts: (k) rows of the clusters.
std::string explanation_table(const std::vector<Explanation>& explanations, const std::vector<std::int64_t>& counts);

}  // namespace kith::app
