// Internal scores of a clustering from cluster means and distances to them; Kneedle, and the gap statistic with uniform
// reference sets.
#include "core/scores/internal_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kmeans/result.h"
#include "core/kmeans/update.h"
#include "core/numbers/distance.h"
#include "core/numbers/maps.h"
#include "core/numbers/philox.h"

namespace kith {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// Sets the distances (n) and the inertia of clusters to 0 if all their rows equal the mean up to its rounding.
void clear_rounding(std::span<const std::int32_t> labels, std::vector<double>& distance, LabelledClusters& result) {
  std::vector<char> is_point(result.counts.size(), 1);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (distance[i] > result.on_mean[labels[i]]) is_point[labels[i]] = 0;
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (is_point[labels[i]]) distance[i] = 0.0;
  }
  for (std::size_t c = 0; c < is_point.size(); ++c) {
    if (is_point[c]) result.inertia[c] = 0.0;
  }
  const auto has_inertia = [](double inertia) { return inertia > 0.0; };
  if (std::none_of(result.inertia.begin(), result.inertia.end(), has_inertia)) result.total_inertia = 0.0;
}

/// (k) The mean distance of each cluster, from integer sums. distance: (n) squared; totals: (k) weights.
std::vector<double> mean_distances(const std::vector<double>& distance, const Weights& weights,
                                   std::span<const std::int32_t> labels, const std::vector<double>& totals) {
  const double largest = std::sqrt(*std::max_element(distance.begin(), distance.end()));
  const FixedScale scale = fixed_scale(weights.value_bits() - exponent_above(largest));
  const RowWeights of_rows{weights.given() ? weights.rows.data() : nullptr, weights.integral};
  std::vector<std::int64_t> sums(totals.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const RowWeight weight = of_rows.of(static_cast<std::int64_t>(i));
    sums[labels[i]] += weighted_fixed(std::sqrt(distance[i]), scale.first, scale.second, weight);
  }
  std::vector<double> means(totals.size());
  for (std::size_t c = 0; c < totals.size(); ++c) {
    if (totals[c] > 0.0) means[c] = from_fixed(sums[c], scale.shift) / totals[c];
  }
  return means;
}

/// The difference between the curve and its chord, with both axes scaled to [0, 1] and the curve turned upside down.
std::vector<double> differences(std::span<const double> x, std::span<const double> y) {
  const double low = array(y).minCoeff(), high = array(y).maxCoeff();
  std::vector<double> away(x.size());
  array(away) = (high - array(y)) / (high - low) - (array(x) - x.front()) / (x.back() - x.front());
  return away;
}

}  // namespace

std::int64_t LabelledClusters::non_empty() const { return std::ssize(counts) - std::ranges::count(counts, 0); }

LabelledClusters labelled_clusters(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                   std::int64_t clusters) {
  LabelledClusters result;
  result.rows = plan.weights.terms;
  result.columns = plan.columns;
  result.total = plan.weights.total;
  result.counts = label_counts(labels, clusters);

  points.reset();
  points.set_labels(labels);
  ClusterSums sums = empty_sums(plan, clusters);
  points.update_sums(sums);
  result.weights = cluster_weights(sums, result.counts, plan.weights);
  result.means = Matrix<double>(clusters, plan.columns);  // for clusters without rows the mean of all
  array(result.means).rowwise() = array(plan.mean);
  result.means = centroids_of(sums, result.weights, plan.scales, result.means.view());

  Inertia measured = measure_labels(points, plan, result.means.view(), result.counts);
  result.total_inertia = measured.total;
  result.inertia = std::move(measured.per_cluster);
  for (std::int64_t c = 0; c < clusters; ++c) {
    result.distance_to_mean.push_back(squared_distance(result.means.row(c).data(), plan.mean.data(), plan.columns));
  }
  std::vector<double> distance(labels.size());
  points.distances(distance);
  result.on_mean = distances_on_centroids(plan, result.means.view());
  clear_rounding(labels, distance, result);
  result.mean_distance = mean_distances(distance, plan.weights, labels, result.weights);
  return result;
}

double calinski_harabasz(const LabelledClusters& clusters) {
  if (!clusters.comparable()) return kUndefined;
  if (clusters.total_inertia == 0.0) return 1.0;
  double between = 0.0;
  for (std::size_t c = 0; c < clusters.counts.size(); ++c) {
    between += weighted_distance(clusters.weights[c], clusters.distance_to_mean[c]);
  }
  const auto k = static_cast<double>(clusters.non_empty());
  return between * (clusters.total - k) / (clusters.total_inertia * (k - 1.0));
}

double davies_bouldin(const LabelledClusters& clusters) {
  if (!clusters.comparable()) return kUndefined;
  const std::int64_t k = clusters.means.rows();
  std::vector<double> worst(k, 0.0);
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < i && clusters.counts[i] > 0; ++j) {
      if (clusters.counts[j] == 0) continue;
      const double apart =
          std::sqrt(squared_distance(clusters.means.row(i).data(), clusters.means.row(j).data(), clusters.columns));
      if (apart == 0.0) continue;
      const double ratio = (clusters.mean_distance[i] + clusters.mean_distance[j]) / apart;
      worst[i] = std::max(worst[i], ratio);
      worst[j] = std::max(worst[j], ratio);
    }
  }
  double sum = 0.0;
  for (const double ratio : worst) sum += ratio;
  return sum / static_cast<double>(clusters.non_empty());
}

double bayesian_information(const LabelledClusters& clusters) {
  const double n = clusters.total;
  const auto d = static_cast<double>(clusters.columns);
  const auto k = static_cast<double>(clusters.non_empty());
  if (!(clusters.total_inertia > 0.0) || k >= n) return kUndefined;
  const double variance = clusters.total_inertia / (d * (n - k));
  double likelihood = -n * d / 2 * std::log(2 * std::numbers::pi * variance) - d * (n - k) / 2;
  for (const double rows : clusters.weights) {
    if (rows > 0.0) likelihood += rows * std::log(rows / n);
  }
  const double parameters = (k - 1) + k * d + 1;
  return likelihood - parameters / 2 * std::log(n);
}

std::optional<std::size_t> knee(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3 || !(y.back() < y.front())) return {};
  const std::vector<double> away = differences(x, y);
  const double step = 1.0 / static_cast<double>(x.size() - 1);  // mean distance of neighbouring points
  std::optional<std::size_t> best;
  for (std::size_t i = 1; i + 1 < away.size(); ++i) {
    if (!(away[i] > away[i - 1] && away[i] >= away[i + 1])) continue;
    // A maximum is a knee if the curve falls below the threshold before it reaches the next maximum.
    bool falls = false;
    for (std::size_t j = i + 1; j < away.size() && !falls && (j == i + 1 || away[j] <= away[j - 1]); ++j) {
      falls = away[j] < away[i] - step;
    }
    if (falls && (!best || away[i] > away[*best])) best = i;
  }
  return best;
}

Gap gap_statistic(double inertia, std::span<const double> of_references) {
  const auto count = static_cast<double>(of_references.size());
  double mean = 0.0, squares = 0.0;
  for (const double reference : of_references) mean += std::log(reference) / count;
  for (const double reference : of_references) squares += (std::log(reference) - mean) * (std::log(reference) - mean);
  const Gap gap{mean - std::log(inertia), std::sqrt(squares / count) * std::sqrt(1.0 + 1.0 / count)};
  return std::isfinite(gap.value) ? gap : Gap{kUndefined, kUndefined};
}

std::optional<std::size_t> gap_rule(std::span<const Gap> gaps) {
  for (std::size_t i = 0; i + 1 < gaps.size(); ++i) {
    if (gaps[i].value >= gaps[i + 1].value - gaps[i + 1].error) return i;
  }
  return {};
}

PointsMatrix reference_points(const DataPlan& plan, ValueClass value_class, std::uint64_t seed, std::int64_t number) {
  const std::uint64_t stream = (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(number);
  const auto draw = [&](auto zero) -> PointsMatrix {
    using T = decltype(zero);
    Matrix<T> points(plan.rows, plan.columns);
    for (std::int64_t i = 0; i < plan.rows; ++i) {
      for (std::int64_t j = 0; j < plan.columns; ++j) {
        const std::uint64_t bits = random_bits(seed, stream, static_cast<std::uint64_t>(i * plan.columns + j));
        const double low = plan.range.minimum[j], high = plan.range.maximum[j];
        points(i, j) = static_cast<T>(low + static_cast<double>(bits >> 11) * 0x1p-53 * (high - low));
      }
    }
    return points;
  };
  return value_class == ValueClass::f32 ? draw(0.0F) : draw(0.0);
}

}  // namespace kith
