// Bounds of mean distances from distances to centres, rounded outwards, and the clusters that they leave.
#include "core/scores/silhouette_candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/kmeans/rows_by_label.h"
#include "core/numbers/distance.h"

namespace kith {
namespace {

/// How the rows of a cluster lie around its centre.
struct Spread {
  double variance = 0.0;  // at least the weighted mean of |y - m|^2
  double offset = 0.0;    // at least the distance from m to the weighted mean of the rows
};

/// rounding: relative, at least that of sums over the rows.
Spread spread_of(const Points& points, const SilhouetteRequest& request, std::span<const std::int64_t> rows,
                 std::span<const double> centre, double rounding) {
  constexpr std::size_t kBlockValues = std::size_t{1} << 20;
  const std::int64_t d = points.columns();
  const std::size_t block = std::max<std::size_t>(kBlockValues / static_cast<std::size_t>(d), 1);
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

/// Calls use(cluster, squared distances from all rows to its centre) for the clusters with rows.
template <class Use>
void for_centres(const Points& points, const SilhouetteRequest& request, const Use& use) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 24;
  const std::int64_t k = request.means.rows, block = std::clamp<std::int64_t>(kBlockValues / points.rows(), 1, k);
  Matrix<double> distances(block, points.rows());
  for (std::int64_t first = 0; first < k; first += block) {
    const std::int64_t count = std::min(block, k - first);
    points.all_distances({request.means.middle(first, count)}, distances.view().middle(0, count));
    for (std::int64_t c = first; c < first + count; ++c) {
      if (request.counts[c] > 0) use(c, distances.row(c - first));
    }
  }
}

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
  for_centres(points, request, [&](std::int64_t c, std::span<const double> squared) {
    const auto [variance, offset] = spreads[c];
    for (std::int64_t i = 0; i < scored; ++i) {
      const std::int64_t row = row_of(i);
      if (request.labels[row] == c) continue;
      const double upper = above(std::sqrt(squared[row] + variance) + offset);
      if (upper < nearest[i]) nearest[i] = upper, probable_[i] = static_cast<std::int32_t>(c);
    }
  });
  needed_.assign(static_cast<std::size_t>(scored * clusters_), false);
  for_centres(points, request, [&](std::int64_t c, std::span<const double> squared) {
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

}  // namespace kith
