// Suite `knn`: exact nearest neighbours of queries among generated points, in blocks as `kith knn` searches them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/bench.h"
#include "core/neighbors.h"

namespace kith::app {
namespace {

constexpr std::array kCpuShapes{"100000x128,2000,10", "100000x128,2000,100", "50000x768,1000,10",
                                "1000000x16,1000,10", "20000x64,10",         "100000x128,1,10"};
constexpr std::array kGpuShapes{"1000000x128,10000,10",  "1000000x128,10000,100", "1000000x768,1000,10",
                                "10000000x128,1,10",     "10000000x128,128,10",   "1000000x64,100000,10",
                                "1000000x768,10000,10",  "100000x128,16384,4",    "100000x128,16384,32",
                                "1000000x128,10000,5000"};
constexpr std::uint64_t kQuerySet = 1;  // apart from the points

/// A problem as its shape says it.
struct Search {
  explicit Search(const BenchShape& shape)
      : itself(shape.counts.size() == 1),
        queries(itself ? shape.rows : shape.counts[0]),
        neighbors(shape.counts.back()) {
    const std::int64_t most = shape.rows - (itself ? 1 : 0);
    if (neighbors > most) {
      throw Error(ExitCode::usage, fmt::format("--shape {}: expected at most {} neighbours, found {}",
                                               show_shape(shape), most, neighbors));
    }
  }
  bool itself;  // the set is searched for its own rows, each left out of its own list
  std::int64_t queries;
  std::int64_t neighbors;
};

Matrix<double> queries_of(const BenchRun& run, const Search& search, const BenchPoints& held) {
  if (search.itself) return held.first_rows(search.queries);
  Matrix<float> drawn = normal_points(search.queries, held.values().columns, 0, kQuerySet, run.threads);
  if (run.bytes()) round_to_bytes(drawn.view(), 0);
  Matrix<double> queries(drawn.rows(), drawn.columns());
  std::copy_n(drawn.data(), drawn.size(), queries.data());
  return queries;
}

}  // namespace

std::vector<BenchRow> bench_knn(BenchRun& run) {
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : shapes_of(run, kCpuShapes, kGpuShapes)) {
    const Search search(shape);
    run.tell(show_shape(shape));
    held.make(shape, 0);
    const Matrix<double> queries = queries_of(run, search, held);
    const std::int64_t block = std::clamp<std::int64_t>(
        kQueryBlockBytes / bytes_per_query(search.neighbors, shape.columns), 1, search.queries);

    std::vector<NeighborLists> lists;
    const auto empty_lists = [&] {
      lists.clear();
      for (std::int64_t first = 0; first < search.queries; first += block) {
        lists.emplace_back(std::min(block, search.queries - first), search.neighbors);
      }
    };
    // Of the search that is checked.
    const auto count_of = [&](std::int64_t NeighborLists::*counted) {
      std::int64_t total = 0;
      for (const NeighborLists& part : lists) total += part.*counted;
      return static_cast<double>(total) / static_cast<double>(search.queries);
    };
    const auto find = [&] {
      std::int64_t first = 0;
      for (NeighborLists& part : lists) {
        const std::int64_t count = part.index.rows();
        held.points().search({queries.view().middle(first, count), search.itself ? first : -1}, part);
        first += count;
      }
    };
    empty_lists();
    find();
    BenchRow row{.name = search.itself ? "in itself" : "queries", .shape = show_shape(shape), .unit = WorkUnit::rows};
    if (const double measured = count_of(&NeighborLists::candidates); measured > 0) {
      row.certified = 1.0 - count_of(&NeighborLists::widened);
      row.candidates = measured;
    }
    row.wrong = check_neighbors(held.values(), queries.view(), search.itself, lists.front(), 0, run.threads);
    if (row.wrong.empty()) {
      row.timing = timing_of(time_repeats(run.options.repeat, empty_lists, find));
      row.rate = static_cast<double>(search.queries) / row.timing->median;
      const double cells = static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
      const double value_bytes = run.on_gpu() ? 2.0 : run.value_bytes();  // a card reads half-precision copies
      run.limits.hold(row, 2.0 * cells * static_cast<double>(search.queries), value_bytes * cells, run.product);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kith::app
