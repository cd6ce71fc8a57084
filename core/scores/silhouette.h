// Silhouettes: compare the distances from each row to its own cluster and to the nearest other cluster.
//
// P. J. Rousseeuw: Silhouettes: a graphical aid to the interpretation and validation of cluster analysis (1987). With
// the distance to the centroid in place of the mean distance to a cluster's rows: E. R. Hruschka, L. N. de Castro,
// R. J. G. B. Campello: Evolutionary algorithms for clustering gene-expression data (2004), "simplified silhouette".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/points/backend.h"

namespace kith {

struct Silhouette {
  std::vector<double> rows;      // silhouettes of the scored rows, -1 to 1
  std::vector<double> clusters;  // (k) their means; NaN if no row of the cluster was scored
  double mean = 0.0;             // over all scored rows
  double share = 1.0;            // of the pairs of a scored row and a row, those whose distance was needed
};

/// The labels of the points, and the rows to score.
struct SilhouetteRequest {
  std::span<const std::int32_t> labels;       // (n), 0 to k - 1, as the points hold them
  std::span<const std::int64_t> counts;       // (k) rows of each cluster; at least two clusters are not empty
  std::span<const std::int64_t> scored = {};  // row numbers; empty: all rows
  Weights weights = {};                       // those of the points; a row of integral weight w counts w times
  std::span<const double> on_centroid = {};   // (k) D to a centroid up to this counts as 0; empty: no threshold
  /// (k, d) the means of the clusters, to leave out clusters that are too far; no data: all distances are computed.
  MatrixView<const double> means = {};
  /// exact_silhouette() calls it once, after about 1000 rows: seconds that all rows probably take. Null: it does not.
  std::function<void(double seconds)> on_estimate = nullptr;
};

/// s = (b - a) / max(a, b), with a the mean distance to the other rows of the own cluster and b the smallest mean
/// distance to the rows of another cluster; 0 for a row that is alone in its cluster and for a = b = 0. Distances are
/// square roots of D. Their sums are integers of 61 - ceil(log2(rows of the largest cluster)) bits below the diagonal
/// of the bounding box, so the order of rows does not matter. Costs, per scored row, a distance to each row of its
/// cluster and of those that can be nearest (core/scores/silhouette.cpp), and with weights one sum per
/// distinct weight within a cluster. a divides by the weight of the cluster minus that of the row; with integral
/// weights minus 1. The points hold the labels afterwards.
Silhouette exact_silhouette(Points& points, const DataPlan& plan, const SilhouetteRequest& request, Observer& observer);

/// Squared distances from every row to the centroid of its label and to the nearest other centroid.
struct CentroidDistances {
  std::vector<double> own;      // (n)
  std::vector<double> nearest;  // (n)
};
/// Computes n k distances to centroids (k, d); ignores centroids of clusters without rows.
CentroidDistances centroid_distances(const Points& points, MatrixView<const double> centroids,
                                     const SilhouetteRequest& request);

/// The silhouette with a the distance to the row's own centroid and b the distance to the nearest other centroid.
/// request.scored must be empty.
Silhouette simplified_silhouette(const CentroidDistances& distances, const SilhouetteRequest& request);
Silhouette simplified_silhouette(const Points& points, MatrixView<const double> centroids,
                                 const SilhouetteRequest& request);

}  // namespace kith
