// Exact silhouettes from integer sums of distances, and simplified silhouettes from distances to centroids.
#include "core/scores/silhouette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/kmeans/result.h"
#include "core/kmeans/rows_by_label.h"
#include "core/numbers/distance.h"
#include "core/numbers/fixed_point.h"
#include "core/runtime/clock.h"

namespace kith {

class SilhouetteCandidates {
 public:
  /// request.means are the centres m; any points will do, means are best. scale: grid of the sums of distances.
  SilhouetteCandidates(const Points& points, const SilhouetteRequest& request, FixedScale scale);

  /// Whether the i-th scored row needs its distances to a cluster: its own, and those that can be the nearest.
  bool needs(std::int64_t i, std::int64_t cluster) const {
    return needed_[static_cast<std::size_t>(i * clusters_ + cluster)];
  }
  /// The indices of the scored rows, ordered so that rows that need distances to the same clusters are adjacent.
  const std::vector<std::int64_t>& order() const { return order_; }
  /// The share of the pairs (scored row, row) whose distances are needed.
  double share() const;
  /// The largest part of share() that tighter bounds could prune.
  double excess() const;

  /// Leaves fewer clusters to the i-th scored row. lower, upper: (k) bounds of the means of its distances, before their
  /// rounding to the grid; anything for clusters that are not needed.
  void refine(std::int64_t i, std::span<const double> lower, std::span<const double> upper);
  /// Orders a range of order() again, after refine().
  void sort(std::int64_t first, std::int64_t count);

 private:
  std::int64_t row_of(std::int64_t i) const { return request_.scored.empty() ? i : request_.scored[i]; }
  /// Upper and lower bounds of the mean as the sums of integers give it.
  double above(double mean) const { return mean * (1.0 + rounding_) + grid_; }
  double below(double mean) const { return mean * (1.0 - rounding_) - grid_; }
  std::vector<bool>::reference needed(std::int64_t i, std::int64_t cluster) {
    return needed_[static_cast<std::size_t>(i * clusters_ + cluster)];
  }

  const SilhouetteRequest& request_;
  std::int64_t rows_, clusters_;
  double rounding_;                     // relative: at least that of any sum here and in the silhouettes
  double grid_;                         // at least what rounding each distance to the grid changes in a mean
  std::vector<bool> needed_;            // (scored, k)
  std::vector<std::int32_t> probable_;  // (scored) the other cluster with the smallest upper bound
  std::vector<std::int64_t> order_;
};

namespace {

/// How the rows of a cluster lie around its centre.
struct Spread {
  double variance = 0.0;  // at least the weighted mean of |y - m|^2
  double offset = 0.0;    // at least the distance from m to the weighted mean of the rows
};

/// rounding: relative, at least that of sums over the rows.
Spread spread_of(const Points& points, const SilhouetteRequest& request, std::span<const std::int64_t> rows,
                 std::span<const double> centre, double rounding) {
  constexpr std::size_t kValuesAtOnce = std::size_t{1} << 20;
  const std::int64_t d = points.columns();
  const std::size_t block = std::max<std::size_t>(kValuesAtOnce / static_cast<std::size_t>(d), 1);
  Matrix<double> values(static_cast<std::int64_t>(std::min(block, rows.size())), d);
  std::vector<double> sum(d, 0.0);
  double weight = 0.0, squares = 0.0, largest = 0.0;
  for (std::size_t first = 0; first < rows.size(); first += block) {
    const std::span<const std::int64_t> some = rows.subspan(first, std::min(block, rows.size() - first));
    const MatrixView<double> view = values.view().middle(0, std::ssize(some));
    points.copy_rows(some, view);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const double w = request.weights.given() ? request.weights.rows[some[i]] : 1.0;
      const double* row = view.row(static_cast<std::int64_t>(i)).data();
      const double squared = squared_distance(row, centre.data(), d);
      for (std::int64_t j = 0; j < d; ++j) sum[j] += w * (row[j] - centre[j]);
      weight += w;
      squares += w * squared;
      largest = std::max(largest, squared);
    }
  }
  const double offset = std::sqrt(squared_length(sum.data(), d)) / weight;
  return {squares / weight * (1.0 + rounding), offset * (1.0 + rounding) + std::sqrt(largest) * rounding};
}

std::vector<Spread> spreads_of(const Points& points, const SilhouetteRequest& request, double rounding) {
  const std::int64_t k = std::ssize(request.counts);
  const RowsByLabel sorted = rows_by_label(request.labels, k);
  std::vector<Spread> spreads;
  for (std::int64_t c = 0; c < k; ++c) {
    spreads.push_back(spread_of(points, request, std::span(sorted.rows).subspan(sorted.first[c], request.counts[c]),
                                request.means.row(c), rounding));
  }
  return spreads;
}

constexpr std::int64_t kDistancesAtOnce = std::int64_t{1} << 24;  // distances to centres at a time

}  // namespace

SilhouetteCandidates::SilhouetteCandidates(const Points& points, const SilhouetteRequest& request, FixedScale scale)
    : request_(request),
      rows_(points.rows()),
      clusters_(std::ssize(request.counts)),
      rounding_(static_cast<double>(points.rows() + points.columns() + 64) * 0x1p-52),
      grid_(std::ldexp(1.0, 1 - scale.shift)) {
  const std::int64_t scored = request.scored.empty() ? points.rows() : std::ssize(request.scored);
  const std::vector<Spread> spreads = spreads_of(points, request, rounding_);
  std::vector<double> nearest(scored, std::numeric_limits<double>::infinity());  // upper bound of the nearest other
  probable_.assign(scored, 0);
  for_centroids(points, request.means, kDistancesAtOnce, [&](std::int64_t c, std::span<const double> squared) {
    if (request.counts[c] == 0) return;
    const auto [variance, offset] = spreads[c];
    for (std::int64_t i = 0; i < scored; ++i) {
      const std::int64_t row = row_of(i);
      if (request.labels[row] == c) continue;
      const double upper = above(std::sqrt(squared[row] + variance) + offset);
      if (upper < nearest[i]) nearest[i] = upper, probable_[i] = static_cast<std::int32_t>(c);
    }
  });
  needed_.assign(static_cast<std::size_t>(scored * clusters_), false);
  for_centroids(points, request.means, kDistancesAtOnce, [&](std::int64_t c, std::span<const double> squared) {
    if (request.counts[c] == 0) return;
    for (std::int64_t i = 0; i < scored; ++i) {
      const std::int64_t row = row_of(i);
      const bool left_out = request.labels[row] != c && below(std::sqrt(squared[row]) - spreads[c].offset) > nearest[i];
      needed(i, c) = !left_out;  // also if a bound is NaN
    }
  });
  order_.resize(static_cast<std::size_t>(scored));
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  sort(0, scored);
}

double SilhouetteCandidates::share() const {
  double pairs = 0.0;
  for (std::int64_t i = 0; i < std::ssize(order_); ++i) {
    for (std::int64_t c = 0; c < clusters_; ++c) pairs += needs(i, c) ? static_cast<double>(request_.counts[c]) : 0.0;
  }
  return pairs / (static_cast<double>(order_.size()) * static_cast<double>(rows_));
}

double SilhouetteCandidates::excess() const {
  double least = 0.0;
  for (std::int64_t i = 0; i < std::ssize(order_); ++i) {
    const std::int32_t own = request_.labels[row_of(i)];
    least += static_cast<double>(request_.counts[own] + request_.counts[probable_[i]]);
  }
  return share() - least / (static_cast<double>(order_.size()) * static_cast<double>(rows_));
}

void SilhouetteCandidates::refine(std::int64_t i, std::span<const double> lower, std::span<const double> upper) {
  const std::int32_t own = request_.labels[row_of(i)];
  double nearest = std::numeric_limits<double>::infinity();
  for (std::int64_t c = 0; c < clusters_; ++c) {
    if (c == own || request_.counts[c] == 0 || !needs(i, c)) continue;
    if (above(upper[c]) < nearest) nearest = above(upper[c]), probable_[i] = static_cast<std::int32_t>(c);
  }
  for (std::int64_t c = 0; c < clusters_; ++c) {
    if (c != own && below(lower[c]) > nearest) needed(i, c) = false;
  }
}

void SilhouetteCandidates::sort(std::int64_t first, std::int64_t count) {
  // The own and the probable cluster, then the first two of the others that are needed, or -1.
  using Key = std::array<std::int32_t, 4>;
  std::vector<std::pair<Key, std::int64_t>> keys(static_cast<std::size_t>(count));
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int64_t i = order_[first + p];
    Key key{request_.labels[row_of(i)], probable_[i], -1, -1};
    std::size_t others = 2;
    for (std::int32_t c = 0; c < clusters_ && others < key.size(); ++c) {
      if (c != key[0] && c != key[1] && needs(i, c)) key[others++] = c;
    }
    keys[p] = {key, i};
  }
  std::sort(keys.begin(), keys.end());
  for (std::int64_t p = 0; p < count; ++p) order_[first + p] = keys[p].second;
}

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

  /// needs(c): whether sums has the distances to cluster c.
  template <class Needs>
  double operator()(std::span<const std::int64_t> sums, std::int64_t row, const Needs& needs) {
    const std::int32_t label = request_.labels[row];
    if (clusters_.terms[label] == 1) return 0.0;
    add(sums);
    double nearest = kInfinity;
    for (std::size_t c = 0; c < distance_.size(); ++c) {
      if (request_.counts[c] == 0 || static_cast<std::int32_t>(c) == label || !needs(c)) continue;
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

/// Scores rows in blocks: which clusters need distances, the sums of those, and the silhouettes.
class BlockwiseScores {
 public:
  BlockwiseScores(Points& points, const DataPlan& plan, const SilhouetteRequest& request)
      : points_(points),
        request_(request),
        groups_(request),
        clusters_(request, {}),
        scale_(root_scale(plan, *std::max_element(clusters_.terms.begin(), clusters_.terms.end()))),
        silhouette_(groups_, request, scale_.shift),
        scored_(request.scored.empty() ? points.rows() : std::ssize(request.scored)) {
    constexpr std::int64_t kBlockValues = std::int64_t{1} << 23;  // limit for queries and for sums
    constexpr std::int64_t kMinRows = 16384, kSteps = 20;  // rows per block; number of blocks, for progress reports
    constexpr std::int64_t kBoundsGain = 8;  // scored rows per cluster from which bounds are worth their cost
    constexpr double kExcess = 0.1;          // share of all pairs from which products of low precision are
    const std::int64_t sums_each = std::ssize(groups_.all);
    const std::int64_t fitting = std::max<std::int64_t>(kBlockValues / std::max(points.columns(), sums_each), 1);
    block_ = std::min({fitting, std::max(kMinRows, scored_ / kSteps), scored_});
    queries_ = Matrix<double>(block_, points.columns());
    sums_ = Matrix<std::int64_t>(block_, sums_each);
    if (request.means.data == nullptr || kBoundsGain * sums_each > scored_) return;
    candidates_.emplace(points, request, scale_);
    wanted_ = Matrix<std::uint8_t>(block_, sums_each);
    if (candidates_->excess() <= kExcess) return;
    lower_ = Matrix<double>(block_, sums_each);
    upper_ = Matrix<double>(block_, sums_each);
  }

  void run(Silhouette& result, Observer& observer) {
    result.rows.resize(scored_);
    observer.phase("silhouette", scored_);
    if (!groups_.of_rows.empty()) points_.set_labels(groups_.of_rows);
    std::int64_t count = 0;
    for (std::int64_t first = 0; first < scored_; first += count) {
      const bool is_trial = first == 0 && request_.on_estimate && scored_ > 2 * kTrialRows;
      count = std::min(is_trial ? kTrialRows : block_, scored_ - first);
      const double work = is_trial ? pairs(0, scored_) / pairs(0, count) : 0.0;
      const auto begin = Clock::now();
      ClusterDistancesRequest distances = request_for(first, count);
      if (lower_.size() > 0 &&
          points_.bound_cluster_distances(distances, lower_.view().middle(0, count), upper_.view().middle(0, count))) {
        refine(first, count);
        distances = request_for(first, count);
      }
      std::fill_n(sums_.data(), count * sums_.columns(), 0);
      points_.cluster_distances(distances, sums_.view().middle(0, count));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = index(first + i);
        result.rows[at] = silhouette_(sums_.row(i), row_of(at), [&](std::int64_t c) { return needs(at, c); });
      }
      if (is_trial) {
        request_.on_estimate(work * seconds_since(begin));
      } else {
        observer.progress(first + count);
      }
    }
    if (!groups_.of_rows.empty()) points_.set_labels(request_.labels);
    if (candidates_) result.share = candidates_->share();
  }

 private:
  static constexpr std::int64_t kTrialRows = 1024;

  /// Distances that these places of the order of computation need.
  double pairs(std::int64_t first, std::int64_t count) const {
    double sum = 0.0;
    for (std::int64_t i = first; i < first + count; ++i) {
      for (std::size_t c = 0; c < request_.counts.size(); ++c) {
        sum += needs(index(i), static_cast<std::int64_t>(c)) ? static_cast<double>(request_.counts[c]) : 0.0;
      }
    }
    return sum;
  }
  /// The scored row at a place of the order of computation.
  std::int64_t index(std::int64_t place) const { return candidates_ ? candidates_->order()[place] : place; }
  std::int64_t row_of(std::int64_t i) const { return request_.scored.empty() ? i : request_.scored[i]; }
  bool needs(std::int64_t i, std::int64_t cluster) const { return !candidates_ || candidates_->needs(i, cluster); }

  ClusterDistancesRequest request_for(std::int64_t first, std::int64_t count) {
    rows_.resize(count);
    for (std::int64_t i = 0; i < count; ++i) {
      rows_[i] = row_of(index(first + i));
      for (std::int64_t g = 0; g < wanted_.columns(); ++g)
        wanted_(i, g) = needs(index(first + i), groups_.all[g].cluster);
    }
    points_.copy_rows(rows_, queries_.view().middle(0, count));
    ClusterDistancesRequest distances{queries_.view().middle(0, count), scale_};
    if (candidates_) distances.wanted = wanted_.view().middle(0, count);
    return distances;
  }

  /// Joins the bounds of the groups of each cluster to bounds of the mean distance.
  void refine(std::int64_t first, std::int64_t count) {
    std::vector<double> lower(request_.counts.size()), upper(request_.counts.size());
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill(lower.begin(), lower.end(), 0.0);
      std::fill(upper.begin(), upper.end(), 0.0);
      for (std::size_t g = 0; g < groups_.all.size(); ++g) {
        const auto& [cluster, weight] = groups_.all[g];
        const double share = static_cast<double>(weight.copies) * weight.factor / clusters_.total[cluster];
        lower[cluster] += share * lower_(i, static_cast<std::int64_t>(g));
        upper[cluster] += share * upper_(i, static_cast<std::int64_t>(g));
      }
      candidates_->refine(index(first + i), lower, upper);
    }
    candidates_->sort(first, count);
  }

  Points& points_;
  const SilhouetteRequest& request_;
  Groups groups_;
  ClusterWeights clusters_;
  FixedScale scale_;
  FromSums silhouette_;
  std::int64_t scored_, block_ = 0;
  std::optional<SilhouetteCandidates> candidates_;
  std::vector<std::int64_t> rows_;  // (block) the scored rows of the current block
  Matrix<double> queries_;          // (block, d)
  Matrix<std::int64_t> sums_;       // (block, groups)
  Matrix<std::uint8_t> wanted_;     // (block, groups), or nothing
  Matrix<double> lower_, upper_;    // (block, groups), or nothing
};

}  // namespace

Silhouette exact_silhouette(Points& points, const DataPlan& plan, const SilhouetteRequest& request,
                            Observer& observer) {
  Silhouette result;
  BlockwiseScores(points, plan, request).run(result, observer);
  add_means(request, result);
  return result;
}

CentroidDistances centroid_distances(const Points& points, MatrixView<const double> centroids,
                                     const SilhouetteRequest& request) {
  const auto n = static_cast<std::size_t>(points.rows());
  CentroidDistances result{std::vector<double>(n, 0.0), std::vector<double>(n, kInfinity)};
  for_centroids(points, centroids, kDistancesAtOnce, [&](std::int64_t c, std::span<const double> to_centroid) {
    if (request.counts[c] == 0) return;
    const double on_centroid = request.on_centroid.empty() ? 0.0 : request.on_centroid[c];
    for (std::size_t i = 0; i < n; ++i) {
      double& kept = request.labels[i] == c ? result.own[i] : result.nearest[i];
      const double distance = to_centroid[i] > on_centroid ? to_centroid[i] : 0.0;
      kept = request.labels[i] == c ? distance : std::min(kept, distance);
    }
  });
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
