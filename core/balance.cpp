// Moves rows from clusters above a size to clusters below it, in order of regret.
#include "core/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "core/distance.h"
#include "core/error.h"

namespace kith {
namespace {

/// A row that may move, and its cheapest target.
struct Move {
  double regret = 0.0;  // increase of the inertia
  std::int64_t row = 0;
  std::int32_t target = 0;
  bool operator>(const Move& other) const {
    return std::tie(regret, row, target) > std::tie(other.regret, other.row, other.target);
  }
};

class Balancer {
 public:
  Balancer(const Points& points, MatrixView<const double> centroids, std::vector<std::int32_t>& labels)
      : points_(points), centroids_(centroids), labels_(labels), counts_(static_cast<std::size_t>(centroids.rows), 0) {
    for (const std::int32_t label : labels) ++counts_[static_cast<std::size_t>(label)];
  }

  /// Moves rows from clusters of more than `size` rows to clusters of fewer, as long as both exist.
  void move_rows(std::int64_t size) {
    const auto gives = [&](std::int32_t c) { return counts_[static_cast<std::size_t>(c)] > size; };
    const auto takes = [&](std::int32_t c) { return counts_[static_cast<std::size_t>(c)] < size; };
    std::priority_queue<Move, std::vector<Move>, std::greater<>> moves;
    for (const Move& move : first_moves(gives, takes)) moves.push(move);
    while (!moves.empty()) {
      const Move move = moves.top();
      moves.pop();
      std::int32_t& label = labels_[static_cast<std::size_t>(move.row)];
      if (!gives(label)) continue;
      if (takes(move.target)) {
        --counts_[static_cast<std::size_t>(label)];
        ++counts_[static_cast<std::size_t>(move.target)];
        label = move.target;
      } else if (const Move other = best_move(move.row, label, takes); other.target >= 0) {
        moves.push(other);
      }
    }
  }

 private:
  /// The best move for every row of a cluster that gives rows, computed in blocks of centroids.
  template <class Gives, class Takes>
  std::vector<Move> first_moves(const Gives& gives, const Takes& takes) const {
    constexpr std::int64_t kBlockValues = kBalanceBytes / static_cast<std::int64_t>(sizeof(double));
    const std::int64_t rows = points_.rows(), k = centroids_.rows;
    const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / rows, 1, k);
    std::vector<double> own(static_cast<std::size_t>(rows)), best(own.size(), kNone);
    std::vector<std::int32_t> target(own.size(), -1);
    Matrix<double> distance(block, rows);
    for (std::int64_t first = 0; first < k; first += block) {
      const MatrixView<const double> some = centroids_.middle(first, std::min(block, k - first));
      points_.all_distances({some}, distance.view().middle(0, some.rows));
      for (std::int64_t c = 0; c < some.rows; ++c) {
        const auto cluster = static_cast<std::int32_t>(first + c);
        for (std::int64_t i = 0; i < rows; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (labels_[at] == cluster) own[at] = distance(c, i);
          if (labels_[at] == cluster || !takes(cluster) || !(distance(c, i) < best[at])) continue;
          best[at] = distance(c, i);
          target[at] = cluster;
        }
      }
    }
    std::vector<Move> moves;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (gives(labels_[at]) && target[at] >= 0) moves.push_back({best[at] - own[at], i, target[at]});
    }
    return moves;
  }

  /// The best move for one row at present; target -1: no cluster takes rows.
  template <class Takes>
  Move best_move(std::int64_t row, std::int32_t label, const Takes& takes) const {
    Matrix<double> values(1, centroids_.columns);
    points_.copy_rows({&row, 1}, values.view());
    const auto distance = [&](std::int64_t c) {
      return squared_distance(values.data(), centroids_.row(c).data(), centroids_.columns);
    };
    double best = kNone;
    Move move{0.0, row, -1};
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(centroids_.rows); ++c) {
      if (c == label || !takes(c)) continue;
      const double candidate = distance(c);
      if (!(candidate < best)) continue;
      best = candidate;
      move.target = c;
    }
    move.regret = best - distance(label);
    return move;
  }

  static constexpr double kNone = std::numeric_limits<double>::infinity();
  const Points& points_;
  MatrixView<const double> centroids_;
  std::vector<std::int32_t>& labels_;
  std::vector<std::int64_t> counts_;
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

std::int64_t balance(const Points& points, MatrixView<const double> centroids, const SizeLimits& limits,
                     std::vector<std::int32_t>& labels) {
  const std::vector<std::int32_t> before = labels;
  Balancer balancer(points, centroids, labels);
  if (limits.largest > 0) balancer.move_rows(limits.largest);
  if (limits.smallest > 0) balancer.move_rows(limits.smallest);
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) moved += labels[i] != before[i] ? 1 : 0;
  return moved;
}

}  // namespace kith
