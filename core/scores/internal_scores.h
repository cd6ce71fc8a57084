// Internal scores of a clustering, which need no true classes: computed from cluster means and distances to them.
//
// T. Calinski, J. Harabasz: A dendrite method for cluster analysis (1974). D. L. Davies, D. W. Bouldin: A cluster
// separation measure (1979). D. Pelleg, A. Moore: X-means (2000).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/points/backend.h"

namespace kith {

/// Statistics of the clusters that labels define.
struct LabelledClusters {
  std::int64_t rows = 0;  // a row of integral weight w counts w times
  std::int64_t columns = 0;
  double total = 0.0;                    // total weight; the number of rows without weights
  std::vector<std::int64_t> counts;      // (k) rows
  std::vector<double> weights;           // (k) total weight
  Matrix<double> means;                  // (k, d); for a cluster without rows the mean of all points
  std::vector<double> on_mean;           // (k) largest D that rounding of the mean can give to rows equal to the mean
  std::vector<double> inertia;           // (k) sum of D to the mean; 0 if no D exceeds on_mean
  double total_inertia = 0.0;            // of all clusters
  std::vector<double> mean_distance;     // (k) mean distance to the mean; 0 for a cluster without rows
  std::vector<double> distance_to_mean;  // (k) D from the mean of the cluster to the mean of all points
  std::int64_t non_empty() const;        // number of clusters with rows
  /// Whether scores that compare clusters are defined: 2 to n - 1 clusters are not empty.
  bool comparable() const { return non_empty() >= 2 && non_empty() < rows; }
};

/// Sets the labels (n, each 0 to clusters - 1) of the points and computes the statistics in two passes over the points.
/// A row of weight w counts as w rows; with integral weights the result is bit-identical to that of copied rows.
LabelledClusters labelled_clusters(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                   std::int64_t clusters);

/// (between / (k - 1)) / (within / (n - k)), with between the weighted sum of D from the cluster means to the mean of
/// all points and within the sum of D from the rows to their means; 1 if within is 0, as in scikit-learn; k counts
/// clusters with rows. Larger is better. NaN unless comparable().
double calinski_harabasz(const LabelledClusters& clusters);

/// The mean over clusters i of max over j of (s_i + s_j) / M_ij, with s the mean distance to the mean and M the
/// distance between the means; pairs with M = 0 count as 0, as in scikit-learn. Smaller is better. NaN unless
/// comparable().
double davies_bouldin(const LabelledClusters& clusters);

/// The Bayesian information criterion of spherical normal clusters of one variance, log likelihood - (p / 2) log n:
///   log likelihood = sum n_c log(n_c / n) - (n d / 2) log(2 pi v) - d (n - k) / 2,    v = within / (d (n - k))
///   p = (k - 1) + k d + 1
/// as in Pelleg and Moore, with the variance per column. Larger is better. NaN if within is 0 or k >= n.
double bayesian_information(const LabelledClusters& clusters);

}  // namespace kith
