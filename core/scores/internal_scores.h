// Internal scores of a clustering, which need no true classes, from cluster means and distances to them; and what
// chooses a number of clusters: the knee of a curve, and the gap statistic with its reference data sets.
//
// T. Calinski, J. Harabasz: A dendrite method for cluster analysis (1974). D. L. Davies, D. W. Bouldin: A cluster
// separation measure (1979). D. Pelleg, A. Moore: X-means (2000). V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan:
// Finding a "kneedle" in a haystack: detecting knee points in system behavior (2011). R. Tibshirani, G. Walther,
// T. Hastie: Estimating the number of clusters in a data set via the gap statistic (2001).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/points/backend.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"

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

/// The index of the knee of a decreasing convex curve: Kneedle with sensitivity 1 and no smoothing; of several knees
/// the one farthest from the chord. x: ascending; y: as many values. None for fewer than three points, for a curve that
/// does not decrease, and if no point lies far enough from the chord.
std::optional<std::size_t> knee(std::span<const double> x, std::span<const double> y);

/// The gap for one number of clusters: the mean of log(inertia) over B reference sets minus log(inertia) of the points,
/// and the standard deviation of the reference logarithms x sqrt(1 + 1 / B).
struct Gap {
  double value = 0.0;
  double error = 0.0;
};

/// inertia: of the points; of_references: (B) of the reference sets. NaN unless B >= 1 and all are above 0.
Gap gap_statistic(double inertia, std::span<const double> of_references);

/// The first index whose gap is at least the next gap minus the error of the next gap; none if there is no such index.
std::optional<std::size_t> gap_rule(std::span<const Gap> gaps);

/// Reference set `number` of the gap statistic: as many rows as the points. Each value is uniform over the range of its
/// column, from Philox with stream 2^63 + number and draw row x d + column, rounded to the class.
PointsMatrix reference_points(const DataPlan& plan, ValueClass value_class, std::uint64_t seed, std::int64_t number);

}  // namespace kith
