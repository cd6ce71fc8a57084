// Suite `knn`: exact nearest neighbours of queries among generated points, in the same blocks as in `kith knn`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "bench/suites/bench.h"
#include "core/neighbors/neighbors.h"

namespace kith::app {
namespace {

constexpr std::array kCpuSearches{"100000x128,2000,10", "100000x128,2000,100", "50000x768,1000,10",
                                  "1000000x16,1000,10", "20000x64,10",         "100000x128,1,10"};
constexpr std::array kGpuSearches{"1000000x128,10000,10",  "1000000x128,10000,100", "1000000x768,1000,10",
                                  "10000000x128,1,10",     "10000000x128,128,10",   "1000000x64,100000,10",
                                  "1000000x768,10000,10",  "100000x128,16384,4",    "100000x128,16384,32",
                                  "1000000x128,10000,5000"};

/// The problem that a shape describes.
struct Search {
  explicit Search(const BenchShape& shape)
      : itself(shape.counts.size() == 1),
        queries(itself ? shape.rows : shape.counts[0]),
        neighbors(shape.counts.back()) {}
  bool itself;  // the rows of the set are the queries; each is excluded from its own list
  std::int64_t queries;
  std::int64_t neighbors;
};

Measure measure_named(const std::string& metric) {
  return metric == "hamming"         ? Measure::hamming
         : metric == "jaccard"       ? Measure::jaccard
         : metric == "inner-product" ? Measure::inner_product
                                     : Measure::squared_euclidean;
}

/// The queries and results of a problem, in the same blocks as in `kith knn`.
class Blocks {
 public:
  Blocks(const BenchRun& run, const Search& search, BenchPoints& held)
      : search_(search),
        held_(held),
        queries_(search.itself ? held.first_rows(search.queries) : held.queries(search.queries)),
        radius_(run.options.radius),
        measure_(measure_named(run.options.metric)),
        size_(std::clamp<std::int64_t>(kQueryBlockBytes / bytes_per_query(search.neighbors, queries_.columns()), 1,
                                       search.queries)) {}

  void empty_lists() {
    lists_.clear();
    for (std::int64_t first = 0; first < search_.queries; first += size_) lists_.emplace_back(rows(first), k());
  }
  void find_lists() {
    if (search_.itself && !radius_) {
      if (auto joined = held_.points().self_join({.neighbors = k(), .measure = measure_})) {
        lists_.clear();
        lists_.push_back(std::move(*joined));
        return;
      }
    }
    std::int64_t first = 0;
    for (NeighborLists& part : lists_) {
      held_.points().search(block(first), part);
      first += part.index.rows();
    }
  }
  /// Prepares the results of find_rows(): all rows at D <= limit.
  void empty_rows(double limit) {
    within_.clear();
    for (std::int64_t first = 0; first < search_.queries; first += size_) {
      within_.emplace_back(rows(first), limit, std::numeric_limits<std::int64_t>::max());
    }
  }
  void find_rows() {
    std::int64_t first = 0;
    for (RadiusLists& part : within_) {
      held_.points().search_radius(block(first), part);
      first += std::ssize(part.counts);
    }
  }

  /// The queries of the first block.
  Queries first_queries() const {
    return {queries_.view().middle(0, lists_.front().index.rows()), search_.itself ? 0 : -1, measure_};
  }
  Queries block(std::int64_t first) const {
    return {queries_.view().middle(first, rows(first)), search_.itself ? first : -1, measure_};
  }
  const std::vector<NeighborLists>& lists() const { return lists_; }
  double per_query(std::int64_t NeighborLists::*counted) const {
    std::int64_t total = 0;
    for (const NeighborLists& part : lists_) total += part.*counted;
    return static_cast<double>(total) / static_cast<double>(search_.queries);
  }

  /// The mean over the queries of the rows within the limit.
  double rows_within() const {
    std::int64_t total = 0;
    for (const RadiusLists& part : within_) total += part.total();
    return static_cast<double>(total) / static_cast<double>(search_.queries);
  }
  /// The median over the queries of D to the k-th neighbour.
  double median_limit() const {
    std::vector<double> last;
    for (const NeighborLists& part : lists_) {
      for (std::int64_t q = 0; q < part.index.rows(); ++q) last.push_back(part.distance(q, k() - 1));
    }
    std::nth_element(last.begin(), last.begin() + std::ssize(last) / 2, last.end());
    return last[last.size() / 2];
  }
  /// Compares the rows within the limit with the lists, which were checked. Returns the first difference, or an empty
  /// text.
  std::string compare_rows() const {
    for (std::size_t b = 0; b < within_.size(); ++b) {
      for (std::size_t q = 0; q < within_[b].counts.size(); ++q) {
        std::vector<Neighbor> found = within_[b].rows[q];
        std::sort(found.begin(), found.end());
        const auto row = static_cast<std::int64_t>(q);
        for (std::int64_t i = 0; i < k(); ++i) {
          const bool is_within = lists_[b].distance(row, i) <= within_[b].limit, is_found = i < std::ssize(found);
          if (is_within == is_found && (!is_found || found[i].row == lists_[b].index(row, i))) continue;
          return fmt::format("query {}: the rows within the limit differ from position {} onwards", b * size_ + row, i);
        }
      }
    }
    return {};
  }

 private:
  std::int64_t rows(std::int64_t first) const { return std::min(size_, search_.queries - first); }
  std::int64_t k() const { return search_.neighbors; }

  const Search& search_;
  BenchPoints& held_;
  Matrix<double> queries_;
  bool radius_;  // the lists only serve to find a limit
  Measure measure_;
  std::int64_t size_;
  std::vector<NeighborLists> lists_;
  std::vector<RadiusLists> within_;
};

BenchRow searched_row(const BenchRun& run, const BenchShape& shape, const Search& search, BenchPoints& held) {
  Blocks blocks(run, search, held);
  blocks.empty_lists();
  blocks.find_lists();
  BenchRow row{.name = run.options.radius ? "radius"
                       : search.itself    ? "self-join"
                                          : "queries",
               .shape = show_shape(shape),
               .data = held.data(),
               .unit = WorkUnit::rows};
  row.wrong = check_neighbors(held.values(), blocks.first_queries(), blocks.lists().front(), run.threads);
  if (row.wrong.empty() && run.options.radius) {
    const double limit = blocks.median_limit();
    row.timing = timing_of(time_repeats(
        run.options.repeat, [&] { blocks.empty_rows(limit); }, [&] { blocks.find_rows(); }));
    row.wrong = blocks.compare_rows();
    row.note = fmt::format("{:.4g} rows within the radius of a query", blocks.rows_within());
  } else if (row.wrong.empty()) {
    // The counts are those of the search that was checked.
    if (const double measured = blocks.per_query(&NeighborLists::candidates); measured > 0) {
      row.certified = 1.0 - blocks.per_query(&NeighborLists::fallback_queries);
      row.candidates = measured;
    }
    row.timing = timing_of(time_repeats(
        run.options.repeat, [&] { blocks.empty_lists(); }, [&] { blocks.find_lists(); }));
  }
  if (row.timing) {
    row.rate = static_cast<double>(search.queries) / row.timing->median;
    const double cells = static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
    // The GPU reads fp16 copies, but for bits, of which it multiplies eight in the time of such a value.
    const double value_bytes = run.on_gpu() && !is_of_bits(measure_named(run.options.metric)) ? 2.0 : run.value_bytes();
    run.limits.compare(row, 2.0 * cells * static_cast<double>(search.queries), value_bytes * cells, run.product);
  }
  return row;
}

}  // namespace

std::vector<BenchRow> bench_knn(BenchRun& run) {
  if (is_of_bits(measure_named(run.options.metric)) && !run.bytes()) {
    throw Error(ExitCode::usage,
                fmt::format("--metric {}: expected values of eight bits each; give --type uint8", run.options.metric));
  }
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : shapes_of(run, kCpuSearches, kGpuSearches)) {
    const Search search(shape);
    for (const Kind* kind : run.kinds) {
      held.make(shape, *kind);
      rows.push_back(searched_row(run, shape, search, held));
    }
  }
  return rows;
}

}  // namespace kith::app
