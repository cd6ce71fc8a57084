// All rows within a distance of each query: a screen drops the rows that are certainly farther, and the definition
// tests the others.
//
// Queries are packed in row panels, as in search.cpp: q n d multiply-adds, and d float64 operations for every result
// and the few rows near the limit. For few queries, and for measures that the screen does not support, the definition
// tests all rows.
#include <atomic>
#include <limits>

#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/lists.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/search/cells.h"
#include "kernels/cpu/search/tree.h"

namespace kith::cpu {
namespace {

template <class T>
class RadiusSearch {
 public:
  RadiusSearch(const HeldRows<T>& held, const Queries& queries, RadiusLists& lists)
      : held_(held),
        queries_(queries),
        lists_(lists),
        distance_(held.set.template rows<T>().distance_by(queries.measure)),
        kernels_(held.set.screen_for(held.columns(), held.rows())),
        first_(std::clamp<std::int64_t>(lists.first_row - held.first_row, 0, held.rows())),
        rows_(held.rows() - first_),
        reserved_(lists.total()),
        stored_(static_cast<std::size_t>(held.threads.count()),
                StoredRows(reserved_, lists.capacity, held.threads.count())) {}

  void run(bool screened) {
    if (rows_ == 0) return;
    const std::int64_t groups = ceil_div(queries_.values.rows, screened ? kernels_.lanes : kDirectQueries);
    partitions_ = partitions_for(held_.threads, groups);
    results_.resize(static_cast<std::size_t>(queries_.values.rows * partitions_));
    screened ? screen() : measure_all();
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) gather(q);
  }

 private:
  static constexpr std::int64_t kDirectQueries = 8;  // queries that share a range of rows in the cache

  /// Results of one task for one query.
  struct Result {
    std::int64_t count = 0;
    std::vector<Neighbor> rows;
  };

  void measure(std::int64_t q, std::int64_t i, int thread, Result& result) {
    const std::int64_t row = held_.first_row + i;
    if (queries_.excluded_row >= 0 && row == queries_.excluded_row + q) return;
    const double distance = distance_(held_.row(i), queries_.values.row(q).data(), held_.columns());
    if (!(distance <= lists_.limit)) return;
    ++result.count;
    if (stored_[thread].may_store()) result.rows.push_back({distance, row});
  }

  void gather(std::int64_t q) {
    for (std::int64_t p = q * partitions_; p < (q + 1) * partitions_; ++p) {
      Result& result = results_[p];
      lists_.counts[q] += result.count;
      if (lists_.rows[q].empty()) {
        lists_.rows[q] = std::move(result.rows);
      } else {
        lists_.rows[q].insert(lists_.rows[q].end(), result.rows.begin(), result.rows.end());
      }
      result = {};
    }
  }

  void measure_all() {
    const std::int64_t count = queries_.values.rows, groups = ceil_div(count, kDirectQueries);
    constexpr std::int64_t kRangeBytes = 128 << 10;
    const std::int64_t row_bytes = held_.columns() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t step = std::max<std::int64_t>(kRangeBytes / row_bytes, 8);
    held_.threads.run(groups * partitions_, [&](std::int64_t task, int thread) {
      const std::int64_t partition = task % partitions_, begin = task / partitions_ * kDirectQueries;
      const std::int64_t end = std::min(begin + kDirectQueries, count);
      const std::int64_t last = first_ + rows_ * (partition + 1) / partitions_;
      for (std::int64_t first = first_ + rows_ * partition / partitions_; first < last; first += step) {
        for (std::int64_t q = begin; q < end; ++q) {
          for (std::int64_t i = first; i < std::min(first + step, last); ++i)
            measure(q, i, thread, results_[q * partitions_ + partition]);
        }
      }
    });
  }

  void screen() {
    const QueryPanels<T> panels(held_, kernels_, queries_.values, held_.plan.screen.center);
    panels.for_blocks(
        first_, partitions_, Scores::plain, [](const ScreenColumns&) {},
        [&](const ScreenColumns& base, std::int64_t first, const QueryTask& task) {
          float limits[kMaxLanes];
          for (int lane = 0; lane < kernels_.lanes; ++lane) {
            limits[lane] = limit_of(panels, base, task.panel * kernels_.lanes + lane);
          }
          panels.collect(
              base, first, task, [&](float* limit) { std::copy_n(limits, kMaxLanes, limit); },
              [&](std::int64_t q, std::int64_t i, float) {
                measure(q, i, task.thread, results_[q * partitions_ + task.partition]);
              });
        });
  }

  /// A score above this proves that D is above the limit of the search.
  float limit_of(const QueryPanels<T>& panels, const ScreenColumns& base, std::int64_t q) const {
    if (q >= queries_.values.rows) return -std::numeric_limits<float>::infinity();
    const double above = std::nextafter(lists_.limit, std::numeric_limits<double>::infinity());
    return score_limit(above, held_.scale(), lower_half_sq_norm(panels.norm(q), held_.columns()),
                       panels.margin(base, q));
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  RadiusLists& lists_;
  typename RowKernels<T>::Distance distance_;
  const ScreenKernels& kernels_;
  std::int64_t first_, rows_;           // requested rows: position of the first, and count
  std::atomic<std::int64_t> reserved_;  // of StoredRows
  std::vector<StoredRows> stored_;      // per thread
  std::int64_t partitions_ = 1;         // partitions of the rows, to give every thread work
  std::vector<Result> results_;         // [query][partition]
};

}  // namespace

template <class T>
void CpuPoints<T>::search_radius(const Queries& queries, RadiusLists& lists) const {
  if (is_of_bits(queries.measure)) return search_bits_radius(bytes(), queries, lists);
  if (queries.values.rows == 0) return;
  SearchRequest request{.queries = queries, .limit = lists.limit};
  SearchMethod method = choose_search(held_, request);
  if (method == SearchMethod::tree) {
    if (const auto tree = tree_of(held_); tree != nullptr) {
      search_tree_radius(searcher_of(held_, *tree), queries, lists);
      return;
    }
    request.fail(method);
    method = choose_search(held_, request);
  }
  const ScreenKernels& kernels = held_.set.screen_for(held_.columns(), held_.rows());
  if (method == SearchMethod::cells || method == SearchMethod::ranges) {
    return search_cells(held_, cells_of(held_, kernels, method, queries.values.rows), kernels, queries, lists);
  }
  RadiusSearch<T>(held_, queries, lists).run(method == SearchMethod::products);
}

#define KITH_INSTANTIATE(T) template void CpuPoints<T>::search_radius(const Queries&, RadiusLists&) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
