// Weights of edges: the definitions in plain loops over dense matrices, with the functions of the C library.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "core/neighbors/edge_weights.h"
#include "core/runtime/threads.h"
#include "tests/support/catch.h"

using namespace kith;

namespace {

struct Lists {
  NeighborGraph graph;
  std::vector<double> distance;  // of its edges
  std::int64_t k = 0;
};

/// The k nearest of n points of a line; some of them lie on each other.
Lists lists_of(std::int64_t n, std::int64_t k, bool with_copies) {
  std::mt19937 engine(7);
  std::vector<double> x;
  for (std::int64_t i = 0; i < n; ++i) {
    const double place = static_cast<double>(engine() % 100000) / 1000.0;
    x.push_back(with_copies && i % 4 != 0 ? x.back() : place);
  }
  Lists lists;
  lists.k = k;
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<Neighbor> all;
    for (std::int64_t j = 0; j < n; ++j) {
      const double d = x[i] - x[j];
      if (j != i) all.push_back({d * d, j});
    }
    std::sort(all.begin(), all.end());
    all.resize(static_cast<std::size_t>(k));
    lists.graph.add_row(all);
    for (const Neighbor& neighbor : all) lists.distance.push_back(std::sqrt(neighbor.distance));
  }
  return lists;
}

using Dense = std::vector<std::vector<double>>;

/// m(i, j) of each list, before both directions are joined.
Dense directed(const Lists& lists, EdgeWeight weight) {
  const auto n = static_cast<std::size_t>(lists.graph.rows());
  Dense dense(n, std::vector<double>(n, 0.0));
  double sum_of_all = 0.0;
  for (const double d : lists.distance) sum_of_all += d;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t* to = lists.graph.row.data() + i * lists.k;
    const double* d = lists.distance.data() + i * lists.k;
    if (weight == EdgeWeight::jaccard) {
      for (std::int64_t e = 0; e < lists.k; ++e) {
        const std::int64_t* other = lists.graph.row.data() + to[e] * lists.k;
        const std::set<std::int64_t> a(to, to + lists.k), b(other, other + lists.k);
        std::set<std::int64_t> either = a;
        either.insert(b.begin(), b.end());
        dense[i][to[e]] = static_cast<double>(a.size() + b.size() - either.size()) / static_cast<double>(either.size());
      }
      continue;
    }
    double nearest = 0.0, sum = 0.0;
    for (std::int64_t e = lists.k; e-- > 0;) {
      if (d[e] > 0.0) nearest = d[e];
      sum += d[e];
    }
    double low = 0.0, high = INFINITY, sigma = 1.0;
    for (int step = 0; step < 64; ++step) {
      double total = 0.0;
      for (std::int64_t e = 0; e < lists.k; ++e) total += d[e] > nearest ? std::exp(-(d[e] - nearest) / sigma) : 1.0;
      if (std::abs(total - std::log2(lists.k + 1.0)) < 1e-5) break;
      (total > std::log2(lists.k + 1.0) ? high : low) = sigma;
      sigma = std::isinf(high) ? sigma * 2.0 : (low + high) / 2.0;
    }
    const double mean = (nearest > 0.0 ? sum : sum_of_all / static_cast<double>(n)) / static_cast<double>(lists.k + 1);
    sigma = std::max(sigma, 1e-3 * mean);
    for (std::int64_t e = 0; e < lists.k; ++e) {
      dense[i][to[e]] = d[e] > nearest ? std::exp(-(d[e] - nearest) / sigma) : 1.0;
    }
  }
  return dense;
}

Dense expected(const Lists& lists, EdgeWeight weight) {
  const auto n = static_cast<std::size_t>(lists.graph.rows());
  Dense dense(n, std::vector<double>(n, 0.0));
  if (weight != EdgeWeight::gaussian) {
    const Dense m = directed(lists, weight);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        dense[i][j] = weight == EdgeWeight::jaccard ? (m[i][j] + m[j][i]) / 2.0 : m[i][j] + m[j][i] - m[i][j] * m[j][i];
      }
    }
    return dense;
  }
  const auto square = [&](std::size_t i) {  // the median of the squared distances
    std::vector<double> all;
    for (std::int64_t e = 0; e < lists.k; ++e) all.push_back(std::pow(lists.distance[i * lists.k + e], 2));
    const auto middle = all.size() / 2;
    return all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2.0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::int64_t e = 0; e < lists.k; ++e) {
      const auto j = static_cast<std::size_t>(lists.graph.row[i * lists.k + e]);
      const double d = lists.distance[i * lists.k + e], a = square(i), b = square(j);
      const double value = a + b > 0.0 ? std::sqrt(2.0 * std::sqrt(a * b) / (a + b)) * std::exp(-d * d / (a + b))
                           : d == 0.0  ? 1.0
                                       : 0.0;
      dense[i][j] = dense[j][i] = value;
    }
  }
  return dense;
}

}  // namespace

TEST_CASE("weights are those of the definition, symmetric, and the same on any number of threads") {
  for (const bool with_copies : {false, true}) {
    for (const std::int64_t k : {1, 2, 3, 6}) {
      const Lists lists = lists_of(60, k, with_copies);
      for (const EdgeWeight weight : kEdgeWeights) {
        INFO(name_of(weight) << " " << k << " " << with_copies);
        Threads one(1), three(3);
        const NeighborGraph graph = with_weights(lists.graph, lists.distance, weight, one);
        const NeighborGraph again = with_weights(lists.graph, lists.distance, weight, three);
        CHECK(graph.row == again.row);
        REQUIRE(graph.weight.size() == again.weight.size());
        CHECK((graph.weight.empty() ||
               std::memcmp(graph.weight.data(), again.weight.data(), graph.weight.size() * sizeof(double)) == 0));
        const Dense dense = expected(lists, weight);
        Dense found(dense.size(), std::vector<double>(dense.size(), 0.0));
        for (std::int64_t i = 0; i < graph.rows(); ++i) {
          for (std::int64_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e) {
            found[i][graph.row[e]] = graph.weight[e];
            CHECK((graph.weight[e] > 0.0 && graph.weight[e] <= 1.0));
          }
        }
        for (std::size_t i = 0; i < dense.size(); ++i) {
          for (std::size_t j = 0; j < dense.size(); ++j) {
            CHECK(std::abs(found[i][j] - dense[i][j]) <= 1e-12);
            CHECK(found[i][j] == found[j][i]);
          }
        }
      }
    }
  }
}

TEST_CASE("the exponential and the logarithm are within a unit in the last place of exact ones") {
  CHECK(exponential(0.0) == 1.0);
  CHECK(exponential(-1e9) == 0.0);
  for (int n = 0; n <= 60; ++n) CHECK(binary_logarithm(std::ldexp(1.0, n)) == n);
  for (double x = 1e-20; x < 708.0; x *= 1.003) {
    const double exact = std::exp(-x);
    CHECK(std::abs(exponential(-x) - exact) <= 2.0 * (std::nextafter(exact, 2.0) - exact));
    CHECK(std::abs(binary_logarithm(1.0 + x) - std::log2(1.0 + x)) <= 1e-15 * std::log2(1.0 + x));
  }
  CHECK(exponential(-740.0) == std::exp(-740.0));
}
