// Silhouettes: how much nearer each row is to its own cluster than to the nearest other one.
//
// P. J. Rousseeuw: Silhouettes: a graphical aid to the interpretation and validation of cluster analysis (1987). With
// the distance to the centroid in place of the mean distance to a cluster's rows: E. R. Hruschka, L. N. de Castro,
// R. J. G. B. Campello: Evolutionary algorithms for clustering gene-expression data (2004), "simplified silhouette".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"

namespace kith {

struct Silhouette {
  std::vector<double> rows;      // -1 to 1, of the rows that were scored
  std::vector<double> clusters;  // (k) their means; NaN where no row was scored
  double mean = 0.0;             // of all rows that were scored
};

/// Labels that points hold, and the rows to score.
struct SilhouetteRequest {
  std::span<const std::int32_t> labels;       // (n), 0 to k - 1, as the points hold them
  std::span<const std::int64_t> counts;       // (k) rows of each cluster; at least two are not 0
  std::span<const std::int64_t> scored = {};  // row numbers; empty: all rows
  Weights weights = {};                       // those of the points; what is said of rows holds for copies of them
  std::span<const double> on_centroid = {};   // (k) D to centroids up to this count as 0; empty: none but 0 does
};

/// s = (b - a) / max(a, b) with a the mean distance to the other rows of the own cluster, b the smallest mean distance
/// to the rows of another one; 0 for a row that is alone in its cluster, and where a = b = 0. Distances are square
/// roots of D; their sums are integers of 61 - ceil(log2 of the largest cluster's rows) bits below the diagonal of the
/// box of the points, so the result does not depend on order. Costs n distances for each row that is scored, and with
/// weights a sum for each weight that differs within a cluster. A mean distance to other rows divides by the weight of
/// the cluster less that of the row, of which with whole weights one copy alone is left out. The points hold the labels
/// afterwards.
Silhouette exact_silhouette(Points& points, const DataPlan& plan, const SilhouetteRequest& request, Observer& observer);

/// Squared distances of every row to the centroid of its label, and to the nearest other one.
struct CentroidDistances {
  std::vector<double> own;      // (n)
  std::vector<double> nearest;  // (n)
};
/// centroids: (k, d); those of clusters without rows are left out. Costs n k distances.
CentroidDistances centroid_distances(const Points& points, MatrixView<const double> centroids,
                                     const SilhouetteRequest& request);

/// The silhouette with a the distance to the row's own centroid and b that to the nearest other one; `scored` must be
/// empty.
Silhouette simplified_silhouette(const CentroidDistances& distances, const SilhouetteRequest& request);
Silhouette simplified_silhouette(const Points& points, MatrixView<const double> centroids,
                                 const SilhouetteRequest& request);

}  // namespace kith
