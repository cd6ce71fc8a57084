// Exact nearest neighbours: for each query a screen keeps every row whose score is within the margin of the k-th best
// so far (core/numbers/screen.h); the definition ranks these candidates.
//
// Queries are packed in row panels, as points are in assign.cpp, and rows of the base take the place of centroids: q n
// d multiply-adds. A dropped row has a score more than 2 E above k others, so k others are certainly nearer. An
// additional pass over the first rows computes initial limits from column block minima, so that few rows enter a list
// only to be dropped. Queries that do not fill a panel are searched by the definition, at the speed of memory, as are
// all queries with a measure that the screen does not support. Inner products are screened without half squared norms.
#include <cmath>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/lists.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/search/cells.h"
#include "kernels/cpu/search/first_copies.h"
#include "kernels/cpu/search/quantized.h"
#include "kernels/cpu/search/tree.h"

namespace kith::cpu {
namespace {

template <class T>
class Search {
 public:
  Search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists)
      : held_(held),
        queries_(queries),
        lists_(lists),
        k_(lists.index.columns()),
        distance_(held.set.template rows<T>().distance_by(queries.measure)),
        kernels_(held.set.screen_for(held.columns(), held.rows())) {}

  /// Searches all rows for each query by the definition.
  void measure_all() {
    if (queries_.values.rows >= held_.threads.count() && queries_.values.rows > kFewQueries) return measure_blocks();
    std::vector<std::int64_t> all(static_cast<std::size_t>(queries_.values.rows));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    search_directly(all);
  }

  void screen_all() {
    const bool is_product = queries_.measure == Measure::inner_product;
    // For inner products only the base is centred, which subtracts the same value from all scores of a query.
    const std::vector<float>& center = held_.plan.screen.center;
    const QueryPanels<T> panels(held_, kernels_, queries_.values,
                                is_product ? std::vector<float>(center.size(), 0.0F) : center);
    allocate(panels);
    panels.for_blocks(
        0, partitions_, is_product ? Scores::product : Scores::plain,
        [&](const ScreenColumns& base) { set_margins(panels, base); },
        [&](const ScreenColumns& base, std::int64_t first, const QueryTask& task) {
          if (first == 0) set_initial_limits(panels, base, task);
          screen(panels, base, first, task);
        });
    lists_.products += queries_.values.rows * held_.rows();
    std::vector<std::int64_t> incomplete;
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) {
      if (!is_complete(q)) incomplete.push_back(q);
    }
    lists_.fallback_queries += std::ssize(incomplete);
    if (overflowed_take_cells(held_, queries_, std::ssize(incomplete))) {
      search_cells(held_, cells_of(held_, kernels_, SearchMethod::cells, std::ssize(incomplete)), kernels_, queries_,
                   incomplete, lists_);
    } else {
      search_directly(incomplete);
    }
    held_.threads.run(queries_.values.rows, [&](std::int64_t q, int) {
      if (is_complete(q)) rank(q);
    });
  }

 private:
  using List = CandidateList<std::int64_t>;
  static constexpr std::int64_t kFewQueries = 21;  // all threads search for all of them

  std::int64_t rows_in_cache() const {
    constexpr std::int64_t kBytes = 128 << 10;
    return std::max<std::int64_t>(kBytes / (held_.columns() * static_cast<std::int64_t>(sizeof(T))), 8);
  }

  std::int64_t excluded(std::int64_t q) const { return queries_.excluded_row < 0 ? -1 : queries_.excluded_row + q; }
  double distance(std::int64_t q, std::int64_t i) const {
    return distance_(held_.row(i), queries_.values.row(q).data(), held_.columns());
  }

  /// Adds rows first .. last - 1 to the list of query q.
  void add_rows(std::int64_t q, std::int64_t first, std::int64_t last, NearestHeap& nearest) const {
    for (std::int64_t i = first; i < last; ++i) {
      if (held_.first_row + i != excluded(q)) nearest.add({distance(q, i), held_.first_row + i});
    }
  }

  /// All threads pass over the rows for some queries at a time, in blocks of rows that stay in the cache for all of
  /// them.
  void search_directly(std::span<const std::int64_t> queries) {
    for (; queries.size() > kFewQueries; queries = queries.subspan(kFewQueries)) {
      search_directly(queries.first(kFewQueries));
    }
    std::vector<NearestHeap> nearest(queries.size(), NearestHeap(k_));
    for (std::size_t q = 0; q < queries.size(); ++q) nearest[q].add(lists_, queries[q]);
    std::mutex merging;
    held_.for_ranges(held_.rows_per_task(8 * held_.columns()),
                     [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
                       std::vector<NearestHeap> local(queries.size(), NearestHeap(k_));
                       for (std::int64_t begin = first; begin < last; begin += rows_in_cache()) {
                         const std::int64_t end = std::min(begin + rows_in_cache(), last);
                         for (std::size_t q = 0; q < queries.size(); ++q) add_rows(queries[q], begin, end, local[q]);
                       }
                       const std::lock_guard lock(merging);
                       for (std::size_t q = 0; q < queries.size(); ++q) {
                         for (const Neighbor& each : local[q].kept()) nearest[q].add(each);
                       }
                     });
    for (std::size_t q = 0; q < queries.size(); ++q) nearest[q].store(queries[q], lists_);
  }

  /// A thread takes some queries, and passes over ranges of rows that stay in the cache.
  void measure_blocks() {
    constexpr std::int64_t kQueriesPerTask = 8;
    const std::int64_t step = rows_in_cache(), count = queries_.values.rows;
    held_.threads.run(ceil_div(count, kQueriesPerTask), [&](std::int64_t task, int) {
      const std::int64_t begin = task * kQueriesPerTask, end = std::min(begin + kQueriesPerTask, count);
      std::vector<NearestHeap> nearest;
      for (std::int64_t q = begin; q < end; ++q) nearest.emplace_back(k_).add(lists_, q);
      for (std::int64_t first = 0; first < held_.rows(); first += step) {
        const std::int64_t last = std::min(first + step, held_.rows());
        for (std::int64_t q = begin; q < end; ++q) add_rows(q, first, last, nearest[q - begin]);
      }
      for (std::int64_t q = begin; q < end; ++q) nearest[q - begin].store(q, lists_);
    });
  }

  bool usable(std::int64_t q) const { return std::isfinite(margin_of_[q]); }
  /// Whether the candidates of a query certainly include its neighbours.
  bool is_complete(std::int64_t q) const {
    const auto partitions = std::span(candidates_).subspan(q * partitions_, partitions_);
    return usable(q) &&
           std::none_of(partitions.begin(), partitions.end(), [](const List& list) { return list.overflowed(); });
  }

  /// Each partition of the base has its own candidates.
  void allocate(const QueryPanels<T>& panels) {
    partitions_ = partitions_for(held_.threads, panels.count());
    margin_of_.assign(panels.count() * kernels_.lanes, 0.0F);
    candidates_.resize(margin_of_.size() * partitions_);
    const std::int64_t capacity = List::initial_capacity(k_);
    storage_.resize(candidates_.size() * capacity);
    for (std::size_t s = 0; s < candidates_.size(); ++s)
      candidates_[s].reset(k_, storage_.data() + s * capacity, List::max_capacity(k_));
  }

  /// Updates the margins, which grow with the longest row packed so far.
  void set_margins(const QueryPanels<T>& panels, const ScreenColumns& base) {
    for (std::int64_t q = 0; q < std::ssize(margin_of_); ++q) {
      margin_of_[q] = panels.margin(base, q);
      for (std::int64_t partition = 0; partition < partitions_; ++partition)
        candidates_[q * partitions_ + partition].raise_margin(margin_of_[q]);
    }
  }

  /// The number of tiles for initial limits that minimises their cost plus that of the rows within the limits; 0 if
  /// there are too few tiles for a limit.
  std::int64_t limit_tiles(std::int64_t tiles) const {
    constexpr double kHit = 4096, kTile = 64;  // costs of a hit and of a product by itself, in multiply-adds
    const double rows =
        std::sqrt(static_cast<double>(k_ * held_.rows()) / partitions_ * kHit / (held_.columns() + kTile));
    const std::int64_t step = tile_columns(kernels_), fewest = ceil_div(2 * (k_ + 1) * kColumnBlock, step);
    const std::int64_t best = std::max(fewest, static_cast<std::int64_t>(rows) / step);
    const std::int64_t result = std::min(best, tiles);
    return result < fewest || result * step > held_.rows() / partitions_ / 2 ? 0 : result;
  }

  /// Limits for the queries of a panel from column block minima of the first tiles: k of them are scores of k rows. A
  /// query that is itself one of these rows needs one more.
  void set_initial_limits(const QueryPanels<T>& panels, const ScreenColumns& base, const QueryTask& task) {
    const std::int64_t tiles = limit_tiles(task.last_tile - task.first_tile);
    if (tiles == 0) return;
    const int lanes = kernels_.lanes;
    Matrix<float> products(kTileColumns, lanes);
    Matrix<float> minima(tiles * kTileColumnBlocks, lanes);
    std::int64_t column_blocks = 0;
    for (std::int64_t tile = task.first_tile; tile < task.first_tile + tiles; ++tile) {
      const MultipliedColumns columns = base.multiply(tile, panels.panel(task.panel), products.data());
      kernels_.scores.block_minima(products.data(), columns.half_sq_norm, columns.count,
                                   minima.row(column_blocks).data());
      column_blocks += ceil_div(columns.count, kColumnBlock);
    }
    float limit[kMaxLanes];
    kernels_.scores.kth_limit(minima.data(), column_blocks, k_ + (queries_.excluded_row < 0 ? 0 : 1), limit);
    for (int lane = 0; lane < lanes; ++lane)
      candidates_[(task.panel * lanes + lane) * partitions_ + task.partition].set_limit(limit[lane]);
  }

  void screen(const QueryPanels<T>& panels, const ScreenColumns& base, std::int64_t first, const QueryTask& task) {
    panels.collect(
        base, first, task,
        [&](float* limit) {
          for (int lane = 0; lane < kernels_.lanes; ++lane) {
            const std::int64_t q = task.panel * kernels_.lanes + lane;
            const bool active = q < queries_.values.rows && usable(q);
            limit[lane] = active ? candidates_[q * partitions_ + task.partition].limit()
                                 : -std::numeric_limits<float>::infinity();
          }
        },
        [&](std::int64_t q, std::int64_t i, float score) {
          const std::int64_t row = held_.first_row + i;
          if (usable(q) && row != excluded(q)) candidates_[q * partitions_ + task.partition].add({score, row});
        });
  }

  /// Ranks the candidates of one query by the definition.
  void rank(std::int64_t q) {
    List& all = candidates_[q * partitions_];
    for (std::int64_t partition = 1; partition < partitions_; ++partition)
      all.add(candidates_[q * partitions_ + partition]);
    all.prune();
    std::vector<Neighbor> nearest;
    for (std::int64_t i = 0; i < k_ && lists_.index(q, i) >= 0; ++i) {
      nearest.push_back({lists_.distance(q, i), lists_.index(q, i)});
    }
    for (const auto& c : all.kept()) nearest.push_back({distance(q, c.row - held_.first_row), c.row});
    set_nearest(nearest, q, lists_);
    all.clear();
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  NeighborLists& lists_;
  std::int64_t k_;
  typename RowKernels<T>::Distance distance_;
  const ScreenKernels& kernels_;
  std::vector<float> margin_of_;  // (queries, padded)
  std::int64_t partitions_ = 1;
  std::vector<List> candidates_;              // [query][partition]
  UninitializedVector<List::Entry> storage_;  // [query][partition][initial capacity]
};

/// Searches all rows, or the first of equal ones, which are searched by another method.
template <class T>
void search_rows(const HeldRows<T>& held, SearchRequest request, NeighborLists& lists) {
  const Queries& queries = request.queries;
  const ScreenKernels& kernels = held.set.screen_for(held.columns(), held.rows());
  SearchMethod method = choose_search(held, request);
  if (method == SearchMethod::first_copies) {
    const auto first = find_first_copies(held, request.places());
    request.fail(method);
    if (first != nullptr) {
      return search_first_copies(held, *first, queries, lists, [&](const auto& rows, const Queries& all, auto& among) {
        search_rows(rows, {.queries = all, .neighbors = among.index.columns(), .failed = request.failed}, among);
      });
    }
    method = choose_search(held, request);
  }
  if (method == SearchMethod::tree) {
    if (const auto tree = tree_of(held); tree != nullptr) {
      lists.candidates += search_tree(searcher_of(held, *tree), queries, lists).distances;
      return;
    }
    request.fail(method);
    method = choose_search(held, request);
  }
  if (method == SearchMethod::quantized) {
    const auto rows = quantized_rows(held);
    if (rows != nullptr && search_quantized(held, *rows, queries, lists)) return;
    request.fail(method);
    method = choose_search(held, request);
  }
  if (method == SearchMethod::cells || method == SearchMethod::ranges) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(queries.values.rows));
    std::iota(all.begin(), all.end(), 0);
    return search_cells(held, cells_of(held, kernels, method, std::ssize(all)), kernels, queries, all, lists);
  }
  Search<T> products(held, queries, lists);
  method == SearchMethod::definition ? products.measure_all() : products.screen_all();
}

}  // namespace

template <class T>
void CpuPoints<T>::search(const Queries& queries, NeighborLists& lists) const {
  if (is_of_bits(queries.measure)) return search_bits(bytes(), queries, lists);
  if (queries.values.rows > 0) search_rows(held_, {.queries = queries, .neighbors = lists.index.columns()}, lists);
}

#define KITH_INSTANTIATE(T) template void CpuPoints<T>::search(const Queries&, NeighborLists&) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
