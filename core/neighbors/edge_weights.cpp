// Weights of edges, each from the lists and the scale of its two rows.
#include "core/neighbors/edge_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/runtime/threads.h"

namespace kith {

const char* name_of(EdgeWeight weight) {
  constexpr const char* kNames[] = {"jaccard", "gaussian", "umap"};
  return kNames[static_cast<int>(weight)];
}

double exponential(double x) {
  // x = k log(2) + r, |r| <= log(2) / 2. log(2) is a number of 32 bits, whose products with k are exact, and the rest.
  constexpr double kPerLog = 0x1.71547652b82fep+0, kLog = 0x1.62e42feep-1, kLogRest = 0x1.a39ef35793c76p-33;
  constexpr double kLeast = -746.0;  // the exponential of less rounds to 0
  if (x < kLeast) return 0.0;
  const double k = std::floor(x * kPerLog + 0.5), r = (x - k * kLog) - k * kLogRest;
  double tail = 1.0 / 87178291200.0;  // r^n / n! for n = 14, 13, ..., 2, by Horner's rule
  for (const double factorial :
       {6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0}) {
    tail = tail * r + 1.0 / factorial;
  }
  const double value = 1.0 + (r + r * r * tail);
  const auto power = static_cast<int>(k);
  return power < -1021 ? std::ldexp(value, power)
                       : value * std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
}

double binary_logarithm(double x) {
  int power = 0;
  double m = 2.0 * std::frexp(x, &power);  // from 1 to 2
  --power;
  if (m > 1.5) {
    m /= 2.0;
    ++power;
  }
  // log(m) = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| <= 1/5
  constexpr int kLast = 25;
  constexpr double kPerLog = 0x1.71547652b82fep+0;
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double series = 1.0 / kLast;
  for (int n = kLast - 2; n >= 1; n -= 2) series = series * z + 1.0 / n;
  return power + 2.0 * s * series * kPerLog;
}

namespace {

class WeightedEdges {
 public:
  WeightedEdges(const NeighborGraph& lists, std::span<const double> distances, EdgeWeight weight, Threads& threads)
      : lists_(lists), distances_(distances), weight_(weight), k_(lists.edges() / lists.rows()) {
    sorted_.assign(lists.row.begin(), lists.row.end());
    scale_.resize(static_cast<std::size_t>(lists.rows()));
    const double mean_of_all = weight == EdgeWeight::umap ? mean_distance(threads) : 0.0;
    for_rows(threads, [&](std::int64_t row) {
      std::sort(sorted_.begin() + row * k_, sorted_.begin() + (row + 1) * k_);
      if (weight_ == EdgeWeight::gaussian) scale_[static_cast<std::size_t>(row)] = median_square(list(row));
      if (weight_ == EdgeWeight::umap) scale_[static_cast<std::size_t>(row)] = bandwidth(list(row), mean_of_all);
    });
  }

  /// Calls work(row) for all rows, on all threads.
  template <class Work>
  void for_rows(Threads& threads, const Work& work) const {
    constexpr std::int64_t kRowsAtOnce = 1024;
    const std::int64_t rows = lists_.rows();
    threads.run((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t task, int) {
      const std::int64_t end = std::min((task + 1) * kRowsAtOnce, rows);
      for (std::int64_t row = task * kRowsAtOnce; row < end; ++row) work(row);
    });
  }

  double of(std::int64_t a, std::int64_t b) const {
    const std::int64_t in_a = place(a, b), in_b = place(b, a);
    if (weight_ == EdgeWeight::gaussian) return kernel(a, b, in_a < k_ ? list(a)[in_a] : list(b)[in_b]);
    double from_a = 0.0, from_b = 0.0;  // of the edge of each list, 0 if it does not have it
    if (weight_ == EdgeWeight::jaccard) {
      const double share = shared(a, b);
      from_a = in_a < k_ ? share : 0.0;
      from_b = in_b < k_ ? share : 0.0;
      return (from_a + from_b) / 2.0;
    }
    if (in_a < k_) from_a = membership(a, list(a)[in_a]);
    if (in_b < k_) from_b = membership(b, list(b)[in_b]);
    return from_a + from_b - from_a * from_b;
  }

 private:
  std::span<const double> list(std::int64_t row) const {
    return distances_.subspan(static_cast<std::size_t>(row * k_), static_cast<std::size_t>(k_));
  }

  /// The place of a row in the list of another one; k: it is not there.
  std::int64_t place(std::int64_t of, std::int64_t row) const {
    const auto begin = lists_.row.begin() + of * k_;
    return std::find(begin, begin + k_, row) - begin;
  }

  /// The rows that both lists have, divided by those that either has.
  double shared(std::int64_t a, std::int64_t b) const {
    std::int64_t both = 0;
    for (auto x = sorted_.begin() + a * k_, y = sorted_.begin() + b * k_, x_end = x + k_, y_end = y + k_;
         x != x_end && y != y_end;) {
      both += *x == *y ? 1 : 0;
      const bool is_less = *x < *y;
      if (!(*y < *x)) ++x;
      if (!is_less) ++y;
    }
    return static_cast<double>(both) / static_cast<double>(2 * k_ - both);
  }

  static double median_square(std::span<const double> distances) {
    const std::size_t middle = distances.size() / 2;
    const double upper = distances[middle] * distances[middle];
    if (distances.size() % 2 == 1) return upper;
    return (distances[middle - 1] * distances[middle - 1] + upper) / 2.0;
  }

  double kernel(std::int64_t a, std::int64_t b, double distance) const {
    const double of_a = scale_[static_cast<std::size_t>(a)], of_b = scale_[static_cast<std::size_t>(b)];
    const double sum = of_a + of_b;
    if (!(sum > 0.0)) return distance > 0.0 ? 0.0 : 1.0;  // copies, whose nearest rows are copies too
    return std::sqrt(2.0 * (std::sqrt(of_a) * std::sqrt(of_b)) / sum) * exponential(-(distance * distance) / sum);
  }

  /// The distance to the nearest row that is no copy; 0 if all are.
  static double nearest(std::span<const double> distances) {
    const auto found = std::upper_bound(distances.begin(), distances.end(), 0.0);
    return found == distances.end() ? 0.0 : *found;
  }

  /// The width at which the memberships of a list add up to log2(k + 1), within 1e-5, as umap-learn finds it.
  double bandwidth(std::span<const double> distances, double mean_of_all) const {
    constexpr double kTolerance = 1e-5, kLeastShare = 1e-3;
    constexpr int kSteps = 64;
    const double target = binary_logarithm(static_cast<double>(k_ + 1)), from = nearest(distances);
    double low = 0.0, high = std::numeric_limits<double>::infinity(), width = 1.0;
    for (int step = 0; step < kSteps; ++step) {
      double sum = 0.0;
      for (const double distance : distances) sum += distance > from ? exponential(-((distance - from) / width)) : 1.0;
      if (std::abs(sum - target) < kTolerance) break;
      (sum > target ? high : low) = width;
      width = std::isinf(high) ? 2.0 * width : (low + high) / 2.0;
    }
    // The mean includes the row itself, at the distance 0.
    const double mean = from > 0.0
                            ? std::accumulate(distances.begin(), distances.end(), 0.0) / static_cast<double>(k_ + 1)
                            : mean_of_all;
    return std::max(width, kLeastShare * mean);
  }

  double membership(std::int64_t row, double distance) const {
    const double beyond = distance - nearest(list(row)), width = scale_[static_cast<std::size_t>(row)];
    return beyond <= 0.0 || width == 0.0 ? 1.0 : exponential(-(beyond / width));
  }

  /// The mean distance of all lists, in which each row counts itself, too; sums are added one after another.
  double mean_distance(Threads& threads) const {
    std::vector<double> sums(static_cast<std::size_t>(lists_.rows()));
    for_rows(threads, [&](std::int64_t row) {
      const std::span<const double> own = list(row);
      sums[static_cast<std::size_t>(row)] = std::accumulate(own.begin(), own.end(), 0.0);
    });
    const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    return sum / static_cast<double>(lists_.rows()) / static_cast<double>(k_ + 1);
  }

  const NeighborGraph& lists_;
  std::span<const double> distances_;
  EdgeWeight weight_;
  std::int64_t k_;
  std::vector<std::int64_t> sorted_;  // the rows of each list in their order
  std::vector<double> scale_;         // of each row
};

}  // namespace

NeighborGraph with_weights(const NeighborGraph& lists, std::span<const double> distances, EdgeWeight weight,
                           Threads& threads) {
  NeighborGraph graph = with_edges(lists, GraphEdges::symmetric);
  const WeightedEdges weights(lists, distances, weight, threads);
  graph.weight.resize(graph.row.size());
  weights.for_rows(threads, [&](std::int64_t row) {
    for (std::int64_t e = graph.begin[row]; e < graph.begin[row + 1]; ++e)
      graph.weight[e] = weights.of(row, graph.row[e]);
  });
  std::int64_t kept = 0;
  for (std::int64_t row = 0, e = 0; row < graph.rows(); ++row) {
    for (const std::int64_t end = graph.begin[row + 1]; e < end; ++e) {
      if (!(graph.weight[e] > 0.0)) continue;
      graph.row[kept] = graph.row[e];
      graph.distance[kept] = graph.distance[e];
      graph.weight[kept++] = graph.weight[e];
    }
    graph.begin[row + 1] = kept;
  }
  graph.row.resize(static_cast<std::size_t>(kept));
  graph.distance.resize(graph.row.size());
  graph.weight.resize(graph.row.size());
  return graph;
}

}  // namespace kith
