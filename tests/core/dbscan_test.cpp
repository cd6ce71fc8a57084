// DBSCAN on every backend against its definition.
#include "core/neighbors/graph.h"

#include <deque>

#include "core/numbers/distance.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

/// Grows each cluster from its lowest core row, as the paper does; border rows belong to the first that reaches them.
std::vector<std::int32_t> by_definition(MatrixView<const double> rows, const DbscanOptions& options) {
  const std::int64_t n = rows.rows;
  std::vector<std::vector<std::int64_t>> near(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double distance = distance_by(options.measure, rows.row(i).data(), rows.row(j).data(), rows.columns);
      if (distance <= options.limit) near[static_cast<std::size_t>(i)].push_back(j);
    }
  }
  const auto is_core = [&](std::int64_t i) {
    return std::ssize(near[static_cast<std::size_t>(i)]) >= options.min_points;
  };
  std::vector<std::int32_t> labels(static_cast<std::size_t>(n), -1);
  std::int32_t clusters = 0;
  for (std::int64_t start = 0; start < n; ++start) {
    if (labels[static_cast<std::size_t>(start)] >= 0 || !is_core(start)) continue;
    std::deque<std::int64_t> reached{start};
    labels[static_cast<std::size_t>(start)] = clusters;
    for (; !reached.empty(); reached.pop_front()) {
      if (!is_core(reached.front())) continue;
      for (const std::int64_t next : near[static_cast<std::size_t>(reached.front())]) {
        if (labels[static_cast<std::size_t>(next)] >= 0) continue;
        labels[static_cast<std::size_t>(next)] = clusters;
        reached.push_back(next);
      }
    }
    ++clusters;
  }
  return labels;
}

}  // namespace

TEST_CASE("DBSCAN has the labels of its definition on every backend", "[dbscan]") {
  std::vector<Tested> backends = tested_backends();
  for (Tested& tested : tested_backends({.threads = 2, .block_rows = 70})) backends.push_back(std::move(tested));
  Observer observer;
  std::size_t with_border = 0, with_noise = 0, several = 0;
  for (const Kind& kind : kinds()) {
    for (const Shape& shape : {Shape{1, 2, 1}, Shape{150, 1, 1}, Shape{250, 2, 1}, Shape{120, 7, 1}}) {
      const Bench bench(kind, storages(kind).back(), shape, backends);
      for (const Measure measure : {Measure::squared_euclidean, Measure::manhattan}) {
        for (const std::int64_t min_points : {1, 4}) {
          // From all distances of some rows, so that rows lie at the limit itself.
          std::vector<double> some;
          for (std::int64_t i = 0; i < std::min<std::int64_t>(shape.n, 40); ++i) {
            for (std::int64_t j = 0; j < i; ++j) {
              some.push_back(distance_by(measure, bench.values.row(i).data(), bench.values.row(j).data(), shape.d));
            }
          }
          some.push_back(0.0);
          std::sort(some.begin(), some.end());
          for (const std::size_t part : {std::size_t{100}, std::size_t{20}, std::size_t{3}}) {
            const DbscanOptions options{
                .limit = some[some.size() / part], .measure = measure, .min_points = min_points, .block_queries = 33};
            const std::vector<std::int32_t> expected = by_definition(bench.values.view(), options);
            INFO(kind.name << ", " << shape.n << " x " << shape.d << ", limit " << options.limit << ", min "
                           << min_points);
            bench.on_each([&](const Points& points) {
              const DbscanResult found = dbscan(points, view_of(bench.stored.front()), options, observer);
              CHECK(std::equal(found.labels.begin(), found.labels.end(), expected.begin(), expected.end()));
              std::int64_t counted = found.noise;
              for (const std::int64_t count : found.counts) counted += count;
              CHECK(counted == shape.n);
              with_border += std::ssize(found.labels) > found.core + found.noise ? 1 : 0;
              with_noise += found.noise > 0 ? 1 : 0;
              several += found.counts.size() > 1 ? 1 : 0;
            });
          }
        }
      }
    }
  }
  CHECK(with_border > 10);
  CHECK(with_noise > 10);
  CHECK(several > 10);
}

TEST_CASE("the knee of ascending distances is where they begin to rise", "[dbscan]") {
  CHECK(knee_of({2.0}) == 2.0);
  CHECK(knee_of({1.0, 1.0, 1.0}) == 1.0);
  CHECK(knee_of({1.0, 1.1, 1.2, 1.3, 5.0, 9.0}) == 1.3);
}
