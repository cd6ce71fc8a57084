// A block of queries is searched with limited capacity; where it finds more, its counts say in which parts to ask
// again.
//
// A set in itself: D(x, y) and D(y, x) have the same bits, so that a block looks at the rows from its first on, and
// what it finds behind its last row is kept for the blocks to come: half the products and a block's more.
#include "core/radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kith {

double limit_of_radius(double radius, Metric metric) {
  const bool is_product = metric == Metric::inner_product;
  if (!std::isfinite(radius) || (radius < 0.0 && !is_product)) {
    throw Error(ExitCode::usage,
                fmt::format("radius {}: expected a finite number{}", radius,
                            is_product ? "" : ", 0 or above, in the unit of the distances"),
                Cause::radius);
  }
  if (is_product) return -radius;
  return measure_of(metric) == Measure::squared_euclidean ? radius * radius : radius;
}

namespace {

using Lists = std::vector<std::vector<Neighbor>>;

/// Pairs of rows of a set that were found for the first one and wait for the block of the second.
class KeptPairs {
 public:
  KeptPairs(std::int64_t rows, std::int64_t block, std::int64_t most)
      : block_(block),
        most_(std::max<std::int64_t>(most, 0)),
        waiting_(static_cast<std::size_t>((rows + block - 1) / block)) {}

  /// The lowest row that the block which begins with this row has to look at.
  std::int64_t lowest_row(std::int64_t first) const { return is_complete(first / block_) ? first : 0; }

  void keep(std::int64_t row, const Neighbor& neighbor) {
    const std::int64_t block = neighbor.row / block_;
    if (!is_complete(block)) return;
    waiting_[block].push_back({neighbor.row, {neighbor.distance, row}});
    ++kept_;
    while (kept_ > most_) {  // those of the last block would wait for the longest
      kept_ -= std::ssize(waiting_.back());
      waiting_.pop_back();
    }
  }

  /// What waited for a block of `count` rows, in no order, with rows below lowest_row(first) alone. Once.
  Lists take(std::int64_t first, std::int64_t count) {
    Lists lists(static_cast<std::size_t>(count));
    if (!is_complete(first / block_)) return lists;
    const std::vector<Pair> pairs = std::exchange(waiting_[first / block_], {});
    for (const Pair& pair : pairs) lists[pair.row - first].push_back(pair.neighbor);
    kept_ -= std::ssize(pairs);
    return lists;
  }

 private:
  struct Pair {
    std::int64_t row;
    Neighbor neighbor;
  };

  bool is_complete(std::int64_t block) const { return block < std::ssize(waiting_); }

  std::int64_t block_, most_, kept_ = 0;
  std::vector<std::vector<Pair>> waiting_;  // [block]; the last ones are missing when there were too many
};

/// Blocks of queries against the base.
class RadiusSearch {
 public:
  RadiusSearch(const Points& base, const PointsView& queries, const RadiusOptions& options)
      : base_(base), queries_(queries), options_(options) {
    check_queries(base, queries, options.measure);
  }

  /// Queries of a block: as many as a search of few neighbours has.
  std::int64_t block() const {
    const std::int64_t usual = kQueryBlockBytes / bytes_per_query(1, base_.columns());
    return std::clamp<std::int64_t>(options_.block_queries > 0 ? options_.block_queries : usual, 1, rows_of(queries_));
  }

  /// Of a set in itself: so many blocks that little is looked at twice, each with work enough for a backend.
  std::int64_t block_of_set() const {
    constexpr std::int64_t kBlocks = 16, kLeastRows = 2048;
    if (options_.block_queries > 0) return block();
    return std::min(block(), std::max((rows_of(queries_) + kBlocks - 1) / kBlocks, kLeastRows));
  }

  /// work(first, count) on all blocks, until it returns false; then that is the answer.
  template <class Work>
  bool for_blocks(std::int64_t block, Observer& observer, const Work& work) const {
    const std::int64_t count = rows_of(queries_);
    observer.phase("search", count);
    for (std::int64_t first = 0; first < count; first += block) {
      const std::int64_t here = std::min(block, count - first);
      if (!work(first, here)) return false;
      observer.progress(first + here);
    }
    return true;
  }

  /// Rows from `lowest` on for queries first .. first + count - 1.
  RadiusLists ask(std::int64_t first, std::int64_t count, std::int64_t lowest, std::int64_t capacity) const {
    Matrix<double> values(count, base_.columns());
    copy_queries(queries_, first, values.view());
    const bool excludes_self = options_.base_is_queries && !options_.include_self;
    RadiusLists found(count, options_.limit, capacity);
    found.first_row = lowest;
    base_.search_radius({values.view(), excludes_self ? first : -1, options_.measure}, found);
    return found;
  }

  /// What ask() finds goes to take(first, lists), in parts where it is more than there is capacity for, until that
  /// returns false; then that is the answer.
  template <class Take>
  bool find(std::int64_t first, std::int64_t count, std::int64_t lowest, const Take& take) const {
    RadiusLists found = ask(first, count, lowest, options_.capacity);
    if (found.is_complete()) return take(first, found.rows);
    for (std::int64_t begin = 0; begin < count;) {
      std::int64_t end = begin + 1, total = found.counts[begin];
      while (end < count && total + found.counts[end] <= options_.capacity) total += found.counts[end++];
      found.rows.clear();
      RadiusLists part = ask(first + begin, end - begin, lowest, total);
      if (!take(first + begin, part.rows)) return false;
      begin = end;
    }
    return true;
  }

 private:
  const Points& base_;
  const PointsView& queries_;
  const RadiusOptions& options_;
};

/// Lists in their order to the sink.
bool hand_on(std::int64_t first, Lists& lists, const RadiusSink& sink) {
  for (std::vector<Neighbor>& list : lists) std::sort(list.begin(), list.end());
  return sink(first, lists);
}

/// Each pair in the list of its lower row.
bool pairs_within(const RadiusSearch& search, const RadiusSink& sink, Observer& observer) {
  return search.for_blocks(search.block_of_set(), observer, [&](std::int64_t first, std::int64_t count) {
    return search.find(first, count, first, [&](std::int64_t row, Lists& lists) {
      for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::int64_t own = row + static_cast<std::int64_t>(i);
        std::erase_if(lists[i], [&](const Neighbor& neighbor) { return neighbor.row < own; });
      }
      return hand_on(row, lists, sink);
    });
  });
}

/// A set in itself.
bool rows_within_set(const RadiusSearch& search, std::int64_t rows, std::int64_t max_buffered_pairs,
                     const RadiusSink& sink, Observer& observer) {
  const std::int64_t block = search.block_of_set();
  KeptPairs kept(rows, block, max_buffered_pairs);
  return search.for_blocks(block, observer, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t lowest = kept.lowest_row(first);
    Lists waited = kept.take(first, count);
    return search.find(first, count, lowest, [&](std::int64_t row, Lists& lists) {
      for (std::size_t i = 0; i < lists.size(); ++i) {
        for (const Neighbor& neighbor : lists[i]) {
          if (neighbor.row >= first + count) kept.keep(row + static_cast<std::int64_t>(i), neighbor);
        }
        const std::vector<Neighbor> lower = std::exchange(waited[row - first + static_cast<std::int64_t>(i)], {});
        lists[i].insert(lists[i].end(), lower.begin(), lower.end());
      }
      return hand_on(row, lists, sink);
    });
  });
}

}  // namespace

bool radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options, const RadiusSink& sink,
                      Observer& observer) {
  const RadiusSearch search(base, queries, options);
  if (options.base_is_queries && options.pairs_once) return pairs_within(search, sink, observer);
  if (options.base_is_queries) return rows_within_set(search, base.rows(), options.max_buffered_pairs, sink, observer);
  return search.for_blocks(search.block(), observer, [&](std::int64_t first, std::int64_t count) {
    return search.find(first, count, 0, [&](std::int64_t query, Lists& lists) { return hand_on(query, lists, sink); });
  });
}

std::vector<std::int64_t> count_radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options,
                                                 Observer& observer) {
  const RadiusSearch search(base, queries, options);
  std::vector<std::int64_t> counts;
  search.for_blocks(search.block(), observer, [&](std::int64_t first, std::int64_t count) {
    const RadiusLists found = search.ask(first, count, 0, 0);
    counts.insert(counts.end(), found.counts.begin(), found.counts.end());
    return true;
  });
  return counts;
}

}  // namespace kith
