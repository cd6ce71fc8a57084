// The k-means result of given labels: the means of their rows, counts and inertia.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/kmeans/kmeans.h"

namespace kith {

/// The result of labels (n), each below before.rows: counts, means, inertia, and what the options request. Clusters
/// without rows and frozen clusters keep their centroids of `before` (k, d). The points hold the labels afterwards.
/// Iterations and stopping fields stay empty.
KMeansResult result_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                MatrixView<const double> before, const KMeansOptions& options);

/// The centroids (k, d) of that result. counts: (k) rows of each label.
Matrix<double> centroids_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                     const std::vector<std::int64_t>& counts, MatrixView<const double> before,
                                     const KMeansOptions& options);

/// Merges the row nearest to each centroid (k, d), over all rows, into the result. The points must have been assigned
/// to these centroids and measured. A general search may keep `search_bytes` of the host's memory.
void find_nearest_rows(const Points& points, MatrixView<const double> centroids, NearestRows& result,
                       std::int64_t search_bytes = std::numeric_limits<std::int64_t>::max());

/// Fills nearest_row and frozen, and medoids if requested, from the centroids of a result. The points must have been
/// assigned to these and measured.
void find_nearest_rows(const Points& points, const KMeansOptions& options, KMeansResult& result);

}  // namespace kith
