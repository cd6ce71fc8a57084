// How well labels fit the points themselves, without known classes: scores of the clusters' means and of distances to
// them.
//
// T. Calinski, J. Harabasz: A dendrite method for cluster analysis (1974). D. L. Davies, D. W. Bouldin: A cluster
// separation measure (1979). D. Pelleg, A. Moore: X-means (2000).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"

namespace kith {

/// Clusters of points as their labels make them: the means of their rows, and how far the rows are from these.
struct LabelledClusters {
  std::int64_t rows = 0;  // with whole weights their copies
  std::int64_t columns = 0;
  double total = 0.0;                    // weight of all rows; their number where they are not weighted
  std::vector<std::int64_t> counts;      // (k) rows
  std::vector<double> weights;           // (k) of these
  Matrix<double> means;                  // (k, d); of a cluster without rows the mean of all points
  std::vector<double> on_mean;           // (k) largest D that rounding of the mean gives to rows that are equal to it
  std::vector<double> inertia;           // (k) sum of D to the mean; 0 where no row is farther than that
  double total_inertia = 0.0;            // of all clusters
  std::vector<double> mean_distance;     // (k) mean of the roots of D; 0 of a cluster without rows
  std::vector<double> distance_to_mean;  // (k) from the cluster's mean to that of all points, squared
  std::int64_t non_empty() const;        // clusters with rows
  /// Whether scores that compare clusters are defined: 2 to n - 1 clusters have rows.
  bool comparable() const { return non_empty() >= 2 && non_empty() < rows; }
};

/// Gives the labels (n, each 0 to clusters - 1) to the points, which hold them from then on, and measures. What follows
/// counts a row of weight w as w rows: whole weights give what copies of the rows would, to the last bit. Two passes
/// over the points.
LabelledClusters labelled_clusters(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                   std::int64_t clusters);

/// (between / (k - 1)) / (within / (n - k)), sums of squared distances of the means to the mean of all points and of
/// the rows to their means; 1 where within is 0, as scikit-learn has it; k counts clusters with rows. Larger is better.
/// NaN unless comparable().
double calinski_harabasz(const LabelledClusters& clusters);

/// Mean over clusters i of the largest (s_i + s_j) / M_ij over the others, s the mean distance to the mean, M the
/// distance of the means; pairs with M = 0 count as 0, as in scikit-learn. Smaller is better. NaN unless comparable().
double davies_bouldin(const LabelledClusters& clusters);

/// The Bayesian information criterion of spherical normal clusters of one variance, log likelihood - (p / 2) log n:
///   log likelihood = sum n_c log(n_c / n) - (n d / 2) log(2 pi v) - d (n - k) / 2,    v = within / (d (n - k))
///   p = (k - 1) + k d + 1
/// as in Pelleg and Moore, with the variance per column. Larger is better. NaN where within is 0 or k >= n.
double bayesian_information(const LabelledClusters& clusters);

}  // namespace kith
