// Steps of constrained k-means; exact assignments of all rows, or of those that prices do not decide.
#include "core/kmeans/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/kmeans/mini_batch.h"
#include "core/kmeans/result.h"
#include "core/kmeans/seeding.h"
#include "core/kmeans/size_assignment.h"
#include "core/numbers/maps.h"

namespace kith {
namespace {

constexpr std::int64_t kBlockValues = std::int64_t{1} << 23;  // distances at a time, or those to one centroid
constexpr std::uint64_t kSampleStream = (std::uint64_t{1} << 62) + 1;

/// Rows of one exact assignment. Parts with few rows for each cluster cost more than all rows at once: 0.4 % with 32.
std::int64_t rows_at_once(std::int64_t exact_costs, std::int64_t rows, std::int64_t clusters) {
  constexpr std::int64_t kEnough = 32, kMostCosts = 4;  // rows for each cluster, if four times the costs suffice
  const std::int64_t fitting = exact_costs / clusters;
  const std::int64_t wanted = std::min(kEnough * clusters, kMostCosts * exact_costs / clusters);
  return std::clamp<std::int64_t>(std::max(fitting, wanted), 1, rows);
}

class Balancer {
 public:
  Balancer(const Points& points, const DataPlan& plan, const RowStore& store, const BalanceRequest& request,
           std::uint64_t seed)
      : points_(points),
        plan_(plan),
        store_(store),
        clusters_(request.centroids.rows),
        at_once_(rows_at_once(request.exact_costs, plan.rows, clusters_)),
        seed_(seed),
        labels_(request.labels.begin(), request.labels.end()),
        prices_(clusters_) {
    const std::int64_t largest = request.limits.largest > 0 ? request.limits.largest : plan.rows;
    sizes_ = {std::vector<std::int64_t>(clusters_, request.limits.smallest),
              std::vector<std::int64_t>(clusters_, largest)};
  }

  const std::vector<std::int32_t>& labels() const { return labels_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }

  /// Assigns all rows to these centroids. Returns the sum of the distances.
  double assign(MatrixView<const double> centroids) {
    set_grid(centroids);
    double sum = 0.0;
    if (at_once_ == plan_.rows) {
      const Matrix<std::int64_t> costs = costs_of(points_, centroids);
      labels_ = assign_within_sizes(costs.view(), sizes_, prices_);
      for (std::int64_t i = 0; i < plan_.rows; ++i) sum += static_cast<double>(costs(i, labels_[i]));
      counts_ = label_counts(labels_, clusters_);
    } else {
      assign_by_prices(centroids);
      for (const std::int64_t cost : own_) sum += static_cast<double>(cost);
    }
    return from_grid(sum);
  }

 private:
  struct PricedRow {
    std::int64_t slack = 0;  // the second lowest cost + price less the lowest
    std::int64_t row = 0;
    auto operator<=>(const PricedRow&) const = default;
  };

  /// The grid of the costs covers the distances from all rows to these centroids.
  void set_grid(MatrixView<const double> centroids) {
    const std::vector<std::int64_t> all(clusters_, 1);
    const int exponent = plan_.weights.value_bits() - inertia_scale(plan_, centroids, all).shift;
    const FixedScale grid = fixed_scale(cost_bits(clusters_) - exponent);
    if (grid.shift != grid_.shift) std::fill(prices_.begin(), prices_.end(), 0);
    grid_ = grid;
  }
  std::int64_t cost_of(double distance) const { return to_fixed(distance, grid_.first, grid_.second); }
  double from_grid(double sum) const { return scaled_by(sum, -grid_.shift); }

  Matrix<std::int64_t> costs_of(const Points& points, MatrixView<const double> centroids) const {
    Matrix<std::int64_t> costs(points.rows(), clusters_);
    for_centroids(points, centroids, kBlockValues, [&](std::int64_t c, std::span<const double> distances) {
      for (std::int64_t i = 0; i < points.rows(); ++i) costs(i, c) = cost_of(distances[i]);
    });
    return costs;
  }
  Matrix<std::int64_t> costs_of(std::span<const std::int64_t> rows, MatrixView<const double> centroids) const {
    const RowSubset some = store_.hold(rows);
    some.points->prepare(plan_);
    return costs_of(*some.points, centroids);
  }

  void assign_by_prices(MatrixView<const double> centroids) {
    constexpr std::int64_t kLeastRows = 8;  // of a sample, for each cluster
    const bool unknown = std::all_of(prices_.begin(), prices_.end(), [](std::int64_t price) { return price == 0; });
    if (unknown && at_once_ >= kLeastRows * clusters_) {
      std::vector<std::int64_t> rows = random_rows(plan_.rows, at_once_, {seed_, kSampleStream});
      std::sort(rows.begin(), rows.end());
      const Matrix<std::int64_t> costs = costs_of(rows, centroids);
      assign_within_sizes(costs.view(), share_of(sizes_, at_once_, plan_.rows), prices_);
    }
    std::vector<PricedRow> rows = decide(centroids);
    std::int64_t excess = 0;
    for (std::int64_t c = 0; c < clusters_; ++c) {
      excess += std::max({counts_[c] - sizes_.largest[c], sizes_.smallest[c] - counts_[c], std::int64_t{0}});
    }
    for (std::int64_t count = std::max(at_once_, 4 * excess);; count *= 2) {
      if (count < plan_.rows) std::nth_element(rows.begin(), rows.begin() + count, rows.end());
      const std::span<PricedRow> least(rows.data(), std::min(count, plan_.rows));
      if (count < plan_.rows && !may_move(least)) continue;
      std::sort(least.begin(), least.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
      assign_nearly_tied(least, centroids);
      return;
    }
  }

  /// Labels of least cost + price for all rows, and how clear each is.
  std::vector<PricedRow> decide(MatrixView<const double> centroids) {
    constexpr std::int64_t kFar = std::int64_t{1} << 62;
    std::vector<std::int64_t> second(plan_.rows, kFar);
    own_.assign(plan_.rows, kFar);
    for_centroids(points_, centroids, kBlockValues, [&](std::int64_t c, std::span<const double> distances) {
      for (std::int64_t i = 0; i < plan_.rows; ++i) {
        const std::int64_t cost = cost_of(distances[i]) + prices_[c];
        if (cost >= own_[i]) {
          second[i] = std::min(second[i], cost);
          continue;
        }
        second[i] = std::exchange(own_[i], cost);
        labels_[i] = static_cast<std::int32_t>(c);
      }
    });
    std::vector<PricedRow> rows(plan_.rows);
    for (std::int64_t i = 0; i < plan_.rows; ++i) {
      rows[i] = {second[i] - own_[i], i};
      own_[i] -= prices_[labels_[i]];
    }
    counts_ = label_counts(labels_, clusters_);
    return rows;
  }

  /// Whether the sizes can be brought within the limits if no other rows change their labels.
  bool may_move(std::span<const PricedRow> rows) const {
    std::vector<std::int64_t> others = counts_;
    for (const PricedRow& row : rows) --others[labels_[row.row]];
    std::int64_t needed = 0;
    for (std::int64_t c = 0; c < clusters_; ++c) {
      if (others[c] > sizes_.largest[c]) return false;
      needed += std::max<std::int64_t>(sizes_.smallest[c] - others[c], 0);
    }
    return needed <= std::ssize(rows);
  }

  /// Assigns these rows within what the others leave of the limits. If they are too many for one assignment, random
  /// parts of them get their share of that, one after the other.
  void assign_nearly_tied(std::span<const PricedRow> rows, MatrixView<const double> centroids) {
    SizeRange left = sizes_;
    for (const PricedRow& row : rows) --counts_[labels_[row.row]];
    for (std::int64_t c = 0; c < clusters_; ++c) {
      left.largest[c] -= counts_[c];
      left.smallest[c] = std::max<std::int64_t>(left.smallest[c] - counts_[c], 0);
    }
    const std::vector<std::int64_t> order = epoch_order(std::ssize(rows), 0, {seed_, kSampleStream});
    for (std::int64_t first = 0; first < std::ssize(rows); first += at_once_) {
      const std::int64_t remaining = std::ssize(rows) - first, count = std::min(at_once_, remaining);
      std::vector<std::int64_t> numbers;
      for (std::int64_t i = first; i < first + count; ++i) numbers.push_back(rows[order[i]].row);
      std::sort(numbers.begin(), numbers.end());
      const Matrix<std::int64_t> costs = costs_of(numbers, centroids);
      const std::vector<std::int32_t> labels =
          assign_within_sizes(costs.view(), share_of(left, count, remaining), prices_);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t label = labels[i];
        labels_[numbers[i]] = label;
        own_[numbers[i]] = costs(i, label);
        ++counts_[label];
        --left.largest[label];
        left.smallest[label] = std::max<std::int64_t>(left.smallest[label] - 1, 0);
      }
    }
  }

  const Points& points_;
  const DataPlan& plan_;
  const RowStore& store_;
  std::int64_t clusters_, at_once_;  // rows of an exact assignment
  std::uint64_t seed_;
  SizeRange sizes_;
  std::vector<std::int32_t> labels_;  // (n)
  std::vector<std::int64_t> counts_;  // (k)
  std::vector<std::int64_t> prices_;  // (k) on the grid
  FixedScale grid_;
  std::vector<std::int64_t> own_;  // (n) costs of the labels, if not all rows are assigned at once
};

}  // namespace

void check_limits(const SizeLimits& limits, std::int64_t rows, std::int64_t clusters) {
  const std::int64_t largest = limits.largest > 0 ? limits.largest : rows;
  if (limits.smallest > largest) {
    throw Error(ExitCode::usage,
                fmt::format("smallest cluster size {}: expected at most the largest cluster size, {}", limits.smallest,
                            limits.largest),
                Cause::cluster_sizes);
  }
  if (limits.smallest > rows / clusters) {
    throw Error(ExitCode::usage,
                fmt::format("smallest cluster size {}: expected at most {} for {} rows in {} clusters", limits.smallest,
                            rows / clusters, rows, clusters),
                Cause::cluster_sizes);
  }
  if (largest < (rows + clusters - 1) / clusters) {
    throw Error(ExitCode::usage,
                fmt::format("largest cluster size {}: expected at least {} for {} rows in {} clusters", limits.largest,
                            (rows + clusters - 1) / clusters, rows, clusters),
                Cause::cluster_sizes);
  }
}

std::int64_t balance_bytes(std::int64_t rows, std::int64_t clusters, std::int64_t row_bytes) {
  constexpr std::int64_t kLabels = 8, kByPrices = 48;  // for each row
  const std::int64_t some = rows_at_once(kExactCosts, rows, clusters);
  const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / rows, 1, clusters) * rows;
  const std::int64_t of_rows = some == rows ? kLabels * rows : (kLabels + kByPrices) * rows + some * row_bytes;
  return of_rows + 8 * (block + some * clusters + some * clusters / 2) + size_assignment_bytes(some, clusters);
}

Balanced balance(Points& points, const DataPlan& plan, const RowStore& store, const BalanceRequest& request,
                 const KMeansOptions& options, Observer& observer) {
  constexpr double kLeastGain = 1e-4;
  Balancer balancer(points, plan, store, request, options.seed);
  Balanced result;
  result.centroids = copied(request.centroids);
  result.labels.assign(request.labels.begin(), request.labels.end());
  double before = 0.0;
  for (;;) {
    const double cost = balancer.assign(std::as_const(result.centroids).view());
    const bool same = balancer.labels() == result.labels;
    if (!same) ++result.steps;
    result.converged = same || (result.steps > 1 && cost >= before * (1.0 - kLeastGain));
    result.labels = balancer.labels();
    observer.progress(result.steps);
    if (result.converged || result.steps >= options.max_iterations) return result;
    before = cost;
    result.centroids = centroids_from_labels(points, plan, result.labels, balancer.counts(),
                                             std::as_const(result.centroids).view(), options);
  }
}

}  // namespace kith
