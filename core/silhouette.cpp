// Exact silhouettes from integer sums of distances, and simplified silhouettes from distances to centroids.
#include "core/silhouette.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/fixed_point.h"

namespace kith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double silhouette_of(double own, double other) {
  const double larger = std::max(own, other);
  return larger > 0.0 ? (other - own) / larger : 0.0;
}

RowWeights of_rows(const Weights& weights) {
  return {weights.given() ? weights.rows.data() : nullptr, weights.integral};
}

/// The total weight and the number of terms of each cluster.
struct ClusterWeights {
  std::vector<double> total;        // (k)
  std::vector<std::int64_t> terms;  // (k) copies with integral weights, else rows

  /// rows: row numbers; empty: all rows
  ClusterWeights(const SilhouetteRequest& request, std::span<const std::int64_t> rows) : terms(request.counts.size()) {
    const std::size_t count = rows.empty() ? request.labels.size() : rows.size();
    const RowWeights weights = of_rows(request.weights);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t row = rows.empty() ? static_cast<std::int64_t>(i) : rows[i];
      terms[request.labels[row]] += weights.of(row).copies;
    }
    const int bits = term_bits(sum());
    const FixedScale grid = fixed_scale(request.weights.integral ? 0 : bits - request.weights.exponent);
    std::vector<Limbs> sums(terms.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t row = rows.empty() ? static_cast<std::int64_t>(i) : rows[i];
      const Limbs limbs = weighted_limbs(1.0, grid.first, grid.second, power_of_two(bits), weights.of(row));
      sums[request.labels[row]].high += limbs.high;
      sums[request.labels[row]].low += limbs.low;
    }
    for (const Limbs& limbs : sums) total.push_back(from_limbs(limbs, grid.shift, bits));
  }
  std::int64_t sum() const { return std::accumulate(terms.begin(), terms.end(), std::int64_t{0}); }
};

/// The grid for sums of distances to a cluster; no distance exceeds the diagonal of the bounding box.
FixedScale root_scale(const DataPlan& plan, std::int64_t largest_cluster) {
  const int squared_exponent = plan.weights.value_bits() - inertia_scale(plan, {}).shift;
  const int exponent = (squared_exponent + 1) >> 1;  // half of it, rounded up
  return fixed_scale(term_bits(largest_cluster) - exponent);
}

/// Computes the means from integer sums, so the order of the rows does not matter.
void add_means(const SilhouetteRequest& request, Silhouette& result) {
  const ClusterWeights scored(request, request.scored);
  const FixedScale scale = fixed_scale(term_bits(scored.sum()) - request.weights.exponent - 1);  // no value exceeds 1
  const RowWeights weights = of_rows(request.weights);
  std::vector<std::int64_t> sums(request.counts.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const std::int64_t row = request.scored.empty() ? static_cast<std::int64_t>(i) : request.scored[i];
    sums[request.labels[row]] += weighted_fixed(result.rows[i], scale.first, scale.second, weights.of(row));
  }
  double total = 0.0;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    result.clusters.push_back(from_fixed(sums[c], scale.shift) / scored.total[c]);
    total += scored.total[c];
  }
  result.mean = from_fixed(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}), scale.shift) / total;
}

/// The rows of one cluster with one weight; their distances are summed together.
struct Group {
  std::int32_t cluster = 0;
  RowWeight weight;
};

/// All groups by ascending cluster and weight, and the group of each row. Without weights, groups are clusters.
struct Groups {
  std::vector<Group> all;
  std::vector<std::int32_t> of_rows;  // (n); empty without weights, where labels are groups

  explicit Groups(const SilhouetteRequest& request) {
    if (!request.weights.given()) {
      for (std::size_t c = 0; c < request.counts.size(); ++c) all.push_back({static_cast<std::int32_t>(c), {}});
      return;
    }
    std::map<std::pair<std::int32_t, double>, std::int32_t> numbers;
    for (std::size_t i = 0; i < request.labels.size(); ++i) numbers[{request.labels[i], request.weights.rows[i]}] = 0;
    for (auto& [key, number] : numbers) {
      number = static_cast<std::int32_t>(all.size());
      all.push_back({key.first, row_weight(key.second, request.weights.integral)});
    }
    for (std::size_t i = 0; i < request.labels.size(); ++i) {
      of_rows.push_back(numbers[{request.labels[i], request.weights.rows[i]}]);
    }
  }
};

/// Computes the exact silhouette of a row from the sums of its distances to each group.
class FromSums {
 public:
  FromSums(const Groups& groups, const SilhouetteRequest& request, int shift)
      : groups_(groups), request_(request), clusters_(request, {}), shift_(shift), distance_(request.counts.size()) {}

  double operator()(std::span<const std::int64_t> sums, std::int64_t row) {
    const std::int32_t label = request_.labels[row];
    if (clusters_.terms[label] == 1) return 0.0;
    add(sums);
    double nearest = kInfinity;
    for (std::size_t c = 0; c < distance_.size(); ++c) {
      if (request_.counts[c] == 0 || static_cast<std::int32_t>(c) == label) continue;
      nearest = std::min(nearest, distance_[c] / clusters_.total[c]);
    }
    const double itself = of_rows(request_.weights).of(row).factor;  // one copy with integral weights
    return silhouette_of(distance_[label] / (clusters_.total[label] - itself), nearest);
  }

 private:
  /// Adds up the distances to each cluster; with integral weights in integers.
  void add(std::span<const std::int64_t> sums) {
    std::fill(distance_.begin(), distance_.end(), 0.0);
    std::int64_t copies = 0;
    for (std::size_t g = 0; g < sums.size(); ++g) {
      const auto& [cluster, weight] = groups_.all[g];
      if (!request_.weights.integral) {
        distance_[cluster] += weight.factor * from_fixed(sums[g], shift_);
        continue;
      }
      copies += weight.copies * sums[g];
      if (g + 1 < sums.size() && groups_.all[g + 1].cluster == cluster) continue;
      distance_[cluster] = from_fixed(copies, shift_);
      copies = 0;
    }
  }

  const Groups& groups_;
  const SilhouetteRequest& request_;
  ClusterWeights clusters_;
  int shift_;
  std::vector<double> distance_;  // (k) sums for the current row
};

}  // namespace

Silhouette exact_silhouette(Points& points, const DataPlan& plan, const SilhouetteRequest& request,
                            Observer& observer) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 23;  // limit for queries and for sums
  constexpr std::int64_t kMinRows = 4096,
                         kSteps = 20;  // minimum rows per block; number of blocks, for progress reports
  const Groups groups(request);
  const std::int64_t sums_each = std::ssize(groups.all);
  const std::int64_t scored = request.scored.empty() ? points.rows() : std::ssize(request.scored);
  const std::int64_t fitting = std::max<std::int64_t>(kBlockValues / std::max(points.columns(), sums_each), 1);
  const std::int64_t block = std::min({fitting, std::max(kMinRows, scored / kSteps), scored});
  const ClusterWeights clusters(request, {});
  const FixedScale scale = root_scale(plan, *std::max_element(clusters.terms.begin(), clusters.terms.end()));
  FromSums silhouette(groups, request, scale.shift);
  Matrix<double> queries(block, points.columns());
  Matrix<std::int64_t> sums(block, sums_each);
  std::vector<std::int64_t> rows(block);
  Silhouette result;
  result.rows.resize(scored);
  observer.phase("silhouette", scored);
  if (!groups.of_rows.empty()) points.set_labels(groups.of_rows);
  for (std::int64_t first = 0; first < scored; first += block) {
    const std::int64_t count = std::min(block, scored - first);
    rows.resize(count);
    for (std::int64_t i = 0; i < count; ++i) rows[i] = request.scored.empty() ? first + i : request.scored[first + i];
    points.copy_rows(rows, queries.view().middle(0, count));
    std::fill_n(sums.data(), count * sums_each, 0);
    points.cluster_distances({queries.view().middle(0, count), scale}, sums.view().middle(0, count));
    for (std::int64_t i = 0; i < count; ++i) result.rows[first + i] = silhouette(sums.row(i), rows[i]);
    observer.progress(first + count);
  }
  if (!groups.of_rows.empty()) points.set_labels(request.labels);
  add_means(request, result);
  return result;
}

CentroidDistances centroid_distances(const Points& points, MatrixView<const double> centroids,
                                     const SilhouetteRequest& request) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 24;  // distances per block
  const std::int64_t n = points.rows();
  const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / n, 1, centroids.rows);
  Matrix<double> distances(block, n);
  CentroidDistances result{std::vector<double>(n, 0.0), std::vector<double>(n, kInfinity)};
  for (std::int64_t first = 0; first < centroids.rows; first += block) {
    const std::int64_t count = std::min(block, centroids.rows - first);
    points.all_distances({centroids.middle(first, count)}, distances.view().middle(0, count));
    for (std::int64_t c = first; c < first + count; ++c) {
      if (request.counts[c] == 0) continue;
      const std::span<const double> to_centroid = distances.row(c - first);
      const double on_centroid = request.on_centroid.empty() ? 0.0 : request.on_centroid[c];
      for (std::int64_t i = 0; i < n; ++i) {
        double& kept = request.labels[i] == c ? result.own[i] : result.nearest[i];
        const double distance = to_centroid[i] > on_centroid ? to_centroid[i] : 0.0;
        kept = request.labels[i] == c ? distance : std::min(kept, distance);
      }
    }
  }
  return result;
}

Silhouette simplified_silhouette(const CentroidDistances& distances, const SilhouetteRequest& request) {
  const ClusterWeights clusters(request, {});
  Silhouette result;
  result.rows.resize(distances.own.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (clusters.terms[request.labels[i]] == 1) continue;
    result.rows[i] = silhouette_of(std::sqrt(distances.own[i]), std::sqrt(distances.nearest[i]));
  }
  add_means(request, result);
  return result;
}

Silhouette simplified_silhouette(const Points& points, MatrixView<const double> centroids,
                                 const SilhouetteRequest& request) {
  return simplified_silhouette(centroid_distances(points, centroids, request), request);
}

}  // namespace kith
