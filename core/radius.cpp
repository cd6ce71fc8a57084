// A block of queries is searched with limited room; where it finds more, its counts say in which parts to ask again.
#include "core/radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kith {

double limit_of_radius(double radius, Metric metric) {
  const bool is_product = metric == Metric::inner_product;
  if (!std::isfinite(radius) || (radius < 0.0 && !is_product)) {
    throw Error(ExitCode::usage, fmt::format("--radius {}: expected a finite number{}", radius,
                                             is_product ? "" : ", 0 or above, in the unit of the distances"));
  }
  if (is_product) return -radius;
  return measure_of(metric) == Measure::squared_euclidean ? radius * radius : radius;
}

namespace {

/// Blocks of queries against the base.
class RadiusSearch {
 public:
  RadiusSearch(const Points& base, const PointsView& queries, const RadiusOptions& options)
      : base_(base), queries_(queries), options_(options) {
    check_queries(base, queries, options.measure);
  }

  /// work(first, count) on all blocks, until it returns false; then that is the answer.
  template <class Work>
  bool for_blocks(Observer& observer, const Work& work) const {
    const std::int64_t count = rows_of(queries_);
    // As many as a search of few neighbours has.
    const std::int64_t usual = kQueryBlockBytes / bytes_per_query(1, base_.columns());
    const std::int64_t block =
        std::clamp<std::int64_t>(options_.block_queries > 0 ? options_.block_queries : usual, 1, count);
    observer.phase("search", count);
    for (std::int64_t first = 0; first < count; first += block) {
      const std::int64_t here = std::min(block, count - first);
      if (!work(first, here)) return false;
      observer.progress(first + here);
    }
    return true;
  }

  RowsWithin ask(std::int64_t first, std::int64_t count, std::int64_t room) const {
    Matrix<double> values(count, base_.columns());
    copy_queries(queries_, first, values.view());
    const bool leaves_out = options_.base_is_queries && !options_.include_self;
    RowsWithin found(count, options_.limit, room);
    base_.within({values.view(), leaves_out ? first : -1, options_.measure}, found);
    return found;
  }

  /// Lists of queries first .. first + count - 1; in parts where their rows are more than there is room for.
  bool find(std::int64_t first, std::int64_t count, const RadiusSink& sink) const {
    RowsWithin found = ask(first, count, options_.room);
    if (found.is_complete()) return hand_on(first, found, sink);
    for (std::int64_t begin = 0; begin < count;) {
      std::int64_t end = begin + 1, total = found.counts[begin];
      while (end < count && total + found.counts[end] <= options_.room) total += found.counts[end++];
      found.rows.clear();
      RowsWithin part = ask(first + begin, end - begin, total);
      if (!hand_on(first + begin, part, sink)) return false;
      begin = end;
    }
    return true;
  }

 private:
  static bool hand_on(std::int64_t first, RowsWithin& found, const RadiusSink& sink) {
    for (std::vector<Neighbor>& list : found.rows) std::sort(list.begin(), list.end());
    return sink(first, found.rows);
  }

  const Points& base_;
  const PointsView& queries_;
  const RadiusOptions& options_;
};

}  // namespace

bool rows_within(const Points& base, PointsView queries, const RadiusOptions& options, const RadiusSink& sink,
                 Observer& observer) {
  const RadiusSearch search(base, queries, options);
  return search.for_blocks(observer,
                           [&](std::int64_t first, std::int64_t count) { return search.find(first, count, sink); });
}

std::vector<std::int64_t> count_within(const Points& base, PointsView queries, const RadiusOptions& options,
                                       Observer& observer) {
  const RadiusSearch search(base, queries, options);
  std::vector<std::int64_t> counts;
  search.for_blocks(observer, [&](std::int64_t first, std::int64_t count) {
    const RowsWithin found = search.ask(first, count, 0);
    counts.insert(counts.end(), found.counts.begin(), found.counts.end());
    return true;
  });
  return counts;
}

}  // namespace kith
