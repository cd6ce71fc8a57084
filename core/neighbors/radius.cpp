// Searches blocks of queries with limited capacity. If a block finds more rows, its counts determine the parts to
// search again.
//
// A set searched in itself needs about half the distances: D(x, y) and D(y, x) have the same bits, so a block searches
// only rows from its first row on and buffers the pairs with rows of later blocks.
#include "core/neighbors/radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/numbers/places.h"

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
  if (metric == Metric::correlation) return 2.0 * std::min(radius, 4.0);  // no D of directions is that large
  if (metric == Metric::haversine) return chord_within(radius);
  return measure_of(metric) == Measure::squared_euclidean ? radius * radius : radius;
}

double radius_of_cosine(double cosine) {
  // A direction has a relative error of some roundings in each value (core/numbers/metric.h), and one of up to half a
  // rounding for each column in its length, which the distance has too. 10^4 columns stay below these.
  constexpr double kRelative = 1e-12, kAbsolute = 1e-14;
  return std::sqrt(2.0 - 2.0 * cosine) * (1.0 + kRelative) + kAbsolute;
}

double cosine_of_radius(double radius) { return 1.0 - radius * radius / 2.0; }

namespace {

using Lists = std::vector<std::vector<Neighbor>>;

/// A buffer for pairs that the block of the first row finds, until the block of the second row needs them.
class BufferedPairs {
 public:
  BufferedPairs(std::int64_t rows, std::int64_t block, std::int64_t capacity)
      : block_(block),
        capacity_(std::max<std::int64_t>(capacity, 0)),
        pairs_of_block_(static_cast<std::size_t>((rows + block - 1) / block)) {}

  /// The lowest row that the block starting at row `first` has to search.
  std::int64_t lowest_row(std::int64_t first) const { return is_complete(first / block_) ? first : 0; }

  void add(std::int64_t row, const Neighbor& neighbor) {
    const std::int64_t block = neighbor.row / block_;
    if (!is_complete(block)) return;
    pairs_of_block_[block].push_back({neighbor.row, {neighbor.distance, row}});
    ++size_;
    while (size_ > capacity_) {  // drop the last block, whose pairs would wait longest
      size_ -= std::ssize(pairs_of_block_.back());
      pairs_of_block_.pop_back();
    }
  }

  /// Removes and returns the unordered pairs of a block of `count` rows with rows below lowest_row(first).
  Lists take(std::int64_t first, std::int64_t count) {
    Lists lists(static_cast<std::size_t>(count));
    if (!is_complete(first / block_)) return lists;
    const std::vector<Pair> pairs = std::exchange(pairs_of_block_[first / block_], {});
    for (const Pair& pair : pairs) lists[pair.row - first].push_back(pair.neighbor);
    size_ -= std::ssize(pairs);
    return lists;
  }

 private:
  struct Pair {
    std::int64_t row;
    Neighbor neighbor;
  };

  bool is_complete(std::int64_t block) const { return block < std::ssize(pairs_of_block_); }

  std::int64_t block_, capacity_, size_ = 0;
  std::vector<std::vector<Pair>> pairs_of_block_;  // [block]; dropped blocks are missing at the end
};

/// Blocks of queries against the base.
class RadiusSearch {
 public:
  RadiusSearch(const Points& base, const PointsView& queries, const RadiusOptions& options)
      : base_(base), queries_(queries), options_(options) {
    check_queries(base, queries, options.measure);
  }

  /// Queries per block, as in a search of few neighbours.
  std::int64_t block() const {
    const std::int64_t usual = kQueryBlockBytes / bytes_per_query(1, base_.columns());
    return std::clamp<std::int64_t>(options_.block_queries > 0 ? options_.block_queries : usual, 1, rows_of(queries_));
  }

  /// Queries per block for a set in itself: small blocks avoid repeated distances, large ones keep a backend busy.
  std::int64_t block_of_set() const {
    constexpr std::int64_t kBlocks = 16, kLeastRows = 2048;
    if (options_.block_queries > 0) return block();
    return std::min(block(), std::max((rows_of(queries_) + kBlocks - 1) / kBlocks, kLeastRows));
  }

  /// Calls work(first, count) for all blocks until it returns false. Returns false in that case.
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

  /// Searches rows from `lowest` on for queries first .. first + count - 1.
  RadiusLists search(std::int64_t first, std::int64_t count, std::int64_t lowest, std::int64_t capacity) const {
    Matrix<double> values(count, base_.columns());
    copy_queries(queries_, first, values.view());
    const bool excludes_self = options_.base_is_queries && !options_.include_self;
    RadiusLists result(count, options_.limit, capacity);
    result.first_row = lowest;
    base_.search_radius({values.view(), excludes_self ? first : -1, options_.measure}, result);
    return result;
  }

  /// Passes the lists of search() to take(first, lists), in parts if they exceed the capacity, until take() returns
  /// false. Returns false in that case.
  template <class Take>
  bool find(std::int64_t first, std::int64_t count, std::int64_t lowest, const Take& take) const {
    RadiusLists result = search(first, count, lowest, options_.capacity);
    if (result.is_complete()) return take(first, result.rows);
    for (std::int64_t begin = 0; begin < count;) {
      std::int64_t end = begin + 1, total = result.counts[begin];
      while (end < count && total + result.counts[end] <= options_.capacity) total += result.counts[end++];
      result.rows.clear();
      RadiusLists part = search(first + begin, end - begin, lowest, total);
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

/// Sorts the lists unless any order will do, and passes them on.
struct Emit {
  const RadiusSink& sink;
  bool sorted;
  bool operator()(std::int64_t first, Lists& lists) const {
    for (std::vector<Neighbor>& list : lists) {
      if (sorted) std::sort(list.begin(), list.end());
    }
    return sink(first, lists);
  }
};

/// Searches a set in itself and reports each pair in the list of its lower row.
bool pairs_within(const RadiusSearch& search, const Emit& emit, Observer& observer) {
  return search.for_blocks(search.block_of_set(), observer, [&](std::int64_t first, std::int64_t count) {
    return search.find(first, count, first, [&](std::int64_t row, Lists& lists) {
      for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::int64_t own = row + static_cast<std::int64_t>(i);
        std::erase_if(lists[i], [&](const Neighbor& neighbor) { return neighbor.row < own; });
      }
      return emit(row, lists);
    });
  });
}

/// Searches a set in itself with buffered pairs.
bool rows_within_set(const RadiusSearch& search, std::int64_t rows, std::int64_t max_buffered_pairs, const Emit& emit,
                     Observer& observer) {
  const std::int64_t block = search.block_of_set();
  BufferedPairs buffer(rows, block, max_buffered_pairs);
  return search.for_blocks(block, observer, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t lowest = buffer.lowest_row(first);
    Lists buffered = buffer.take(first, count);
    return search.find(first, count, lowest, [&](std::int64_t row, Lists& lists) {
      for (std::size_t i = 0; i < lists.size(); ++i) {
        for (const Neighbor& neighbor : lists[i]) {
          if (neighbor.row >= first + count) buffer.add(row + static_cast<std::int64_t>(i), neighbor);
        }
        const std::vector<Neighbor> lower = std::exchange(buffered[row - first + static_cast<std::int64_t>(i)], {});
        lists[i].insert(lists[i].end(), lower.begin(), lower.end());
      }
      return emit(row, lists);
    });
  });
}

}  // namespace

bool radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options, const RadiusSink& sink,
                      Observer& observer) {
  const RadiusSearch search(base, queries, options);
  const Emit emit{sink, options.sorted};
  if (options.base_is_queries && options.pairs_once) return pairs_within(search, emit, observer);
  if (options.base_is_queries) return rows_within_set(search, base.rows(), options.max_buffered_pairs, emit, observer);
  return search.for_blocks(search.block(), observer, [&](std::int64_t first, std::int64_t count) {
    return search.find(first, count, 0, [&](std::int64_t query, Lists& lists) { return emit(query, lists); });
  });
}

std::vector<std::int64_t> count_radius_neighbors(const Points& base, PointsView queries, const RadiusOptions& options,
                                                 Observer& observer) {
  const RadiusSearch search(base, queries, options);
  std::vector<std::int64_t> counts;
  search.for_blocks(search.block(), observer, [&](std::int64_t first, std::int64_t count) {
    const RadiusLists result = search.search(first, count, 0, 0);
    counts.insert(counts.end(), result.counts.begin(), result.counts.end());
    return true;
  });
  return counts;
}

}  // namespace kith
