// Means of the rows of clusters, in the space of the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers/metric.h"
#include "core/points/matrix.h"

namespace kith {

/// (k, d) the means of the rows of each cluster: its centroid, or for directions (cosine), where the centroid is the
/// mean scaled to length 1, the centroid times the length of the mean. That is 1 - inertia / (2 weight), since the
/// squared distance of two directions is 2 - 2 times their product. weights, inertia: (k) of the clusters.
inline Matrix<double> cluster_means(MatrixView<const double> centroids, Metric metric, std::span<const double> weights,
                                    std::span<const double> inertia) {
  Matrix<double> means(centroids.rows, centroids.columns);
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const bool scaled = metric == Metric::cosine && weights[i] > 0.0;
    const double length = scaled ? 1.0 - inertia[i] / (2.0 * weights[i]) : 1.0;
    for (std::int64_t j = 0; j < centroids.columns; ++j) means(c, j) = length * centroids(c, j);
  }
  return means;
}

}  // namespace kith
