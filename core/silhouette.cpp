// Silhouettes: how much nearer each row is to its own cluster than to the nearest other one.
#include "core/silhouette.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/fixed_point.h"

namespace kith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double silhouette_of(double own, double other) {
  const double larger = std::max(own, other);
  return larger > 0.0 ? (other - own) / larger : 0.0;
}

/// The grid on which a cluster's distances are added: no distance exceeds the diagonal of the box.
FixedScale root_scale(const DataPlan& plan, std::span<const std::int64_t> counts) {
  const int squared_exponent = term_bits(plan.rows) - inertia_scale(plan, nullptr, 0).shift;
  const int exponent = (squared_exponent + 1) >> 1;  // half of it, rounded up
  return fixed_scale(term_bits(*std::max_element(counts.begin(), counts.end())) - exponent);
}

/// Fills the means, as sums of integers: the order of the rows does not matter.
void add_means(const SilhouetteRequest& request, Silhouette& result) {
  const auto scored = static_cast<std::int64_t>(result.rows.size());
  const FixedScale scale = fixed_scale(term_bits(scored) - 1);  // no value exceeds 1
  std::vector<std::int64_t> sums(request.counts.size()), rows(request.counts.size());
  for (std::int64_t i = 0; i < scored; ++i) {
    const std::int32_t label = request.labels[request.scored.empty() ? i : request.scored[i]];
    sums[label] += to_fixed(result.rows[i], scale.first, scale.second);
    ++rows[label];
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    result.clusters.push_back(from_fixed(sums[c], scale.shift) / static_cast<double>(rows[c]));
  }
  result.mean =
      from_fixed(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}), scale.shift) / static_cast<double>(scored);
}

/// The exact silhouette of a row from the sums of its distances to each cluster.
double from_sums(std::span<const std::int64_t> sums, std::int32_t label, std::span<const std::int64_t> counts,
                 int shift) {
  if (counts[label] == 1) return 0.0;
  double nearest = kInfinity;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (counts[c] == 0 || static_cast<std::int32_t>(c) == label) continue;
    nearest = std::min(nearest, from_fixed(sums[c], shift) / static_cast<double>(counts[c]));
  }
  return silhouette_of(from_fixed(sums[label], shift) / static_cast<double>(counts[label] - 1), nearest);
}

}  // namespace

Silhouette exact_silhouette(const Points& points, const DataPlan& plan, const SilhouetteRequest& request,
                            Observer& observer) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 23;  // of queries and of their sums
  const auto k = static_cast<std::int64_t>(request.counts.size());
  const std::int64_t scored = request.scored.empty() ? points.rows() : std::ssize(request.scored);
  const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / std::max(points.columns(), k), 1, scored);
  const FixedScale scale = root_scale(plan, request.counts);
  Matrix<double> queries(block, points.columns());
  Matrix<std::int64_t> sums(block, k);
  std::vector<std::int64_t> rows(block);
  Silhouette result;
  result.rows.resize(scored);
  observer.phase("silhouette", scored);
  for (std::int64_t first = 0; first < scored; first += block) {
    const std::int64_t count = std::min(block, scored - first);
    rows.resize(count);
    for (std::int64_t i = 0; i < count; ++i) rows[i] = request.scored.empty() ? first + i : request.scored[first + i];
    points.copy_rows(rows, queries.view().middle(0, count));
    std::fill_n(sums.data(), count * k, 0);
    points.cluster_distances({queries.view().middle(0, count), scale}, sums.view().middle(0, count));
    for (std::int64_t i = 0; i < count; ++i) {
      result.rows[first + i] = from_sums(sums.row(i), request.labels[rows[i]], request.counts, scale.shift);
    }
    observer.progress(first + count);
  }
  add_means(request, result);
  return result;
}

Silhouette simplified_silhouette(const Points& points, MatrixView<const double> centroids,
                                 const SilhouetteRequest& request) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 24;  // distances at a time
  const std::int64_t n = points.rows();
  const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / n, 1, centroids.rows);
  Matrix<double> distances(block, n);
  std::vector<double> own(n, 0.0), nearest(n, kInfinity);  // squared
  for (std::int64_t first = 0; first < centroids.rows; first += block) {
    const std::int64_t count = std::min(block, centroids.rows - first);
    points.all_distances(centroids.middle(first, count), distances.view().middle(0, count));
    for (std::int64_t c = first; c < first + count; ++c) {
      if (request.counts[c] == 0) continue;
      const std::span<const double> to_centroid = distances.row(c - first);
      for (std::int64_t i = 0; i < n; ++i) {
        double& kept = request.labels[i] == c ? own[i] : nearest[i];
        kept = request.labels[i] == c ? to_centroid[i] : std::min(kept, to_centroid[i]);
      }
    }
  }
  Silhouette result;
  result.rows.resize(n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (request.counts[request.labels[i]] > 1) {
      result.rows[i] = silhouette_of(std::sqrt(own[i]), std::sqrt(nearest[i]));
    }
  }
  add_means(request, result);
  return result;
}

}  // namespace kith
