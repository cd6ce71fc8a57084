// All rows within a distance of each query: a screen drops the rows that are certainly farther, and the definition
// tests the others.
//
// Queries are packed in row panels, as in search.cpp: q n d multiply-adds, and d float64 operations for every result
// and the few rows near the limit. For few queries, and for measures that the screen does not support, the definition
// tests all rows.
#include <atomic>
#include <limits>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/runtime/panels.h"

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
        found_(lists.total()) {}

  void run() {
    if (rows_ == 0) return;
    const bool screened = queries_.measure == Measure::squared_euclidean && queries_.values.rows * 3 >= kernels_.lanes;
    const std::int64_t groups = ceil_div(queries_.values.rows, screened ? kernels_.lanes : kDirectQueries);
    partitions_ = std::clamp<std::int64_t>(4 * held_.threads.count() / groups, 1, 64);
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

  void measure(std::int64_t q, std::int64_t i, Result& result) {
    const std::int64_t row = held_.first_row + i;
    if (queries_.excluded_row >= 0 && row == queries_.excluded_row + q) return;
    const double distance = distance_(held_.row(i), queries_.values.row(q).data(), held_.columns());
    if (!(distance <= lists_.limit)) return;
    ++result.count;
    if (found_.fetch_add(1, std::memory_order_relaxed) < lists_.capacity) result.rows.push_back({distance, row});
  }

  void gather(std::int64_t q) {
    for (std::int64_t p = q * partitions_; p < (q + 1) * partitions_; ++p) {
      Result& result = results_[p];
      lists_.counts[q] += result.count;
      lists_.rows[q].insert(lists_.rows[q].end(), result.rows.begin(), result.rows.end());
      result = {};
    }
  }

  void measure_all() {
    const std::int64_t count = queries_.values.rows, groups = ceil_div(count, kDirectQueries);
    constexpr std::int64_t kRangeBytes = 128 << 10;
    const std::int64_t row_bytes = held_.columns() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t step = std::max<std::int64_t>(kRangeBytes / row_bytes, 8);
    held_.threads.run(groups * partitions_, [&](std::int64_t task, int) {
      const std::int64_t partition = task % partitions_, begin = task / partitions_ * kDirectQueries;
      const std::int64_t end = std::min(begin + kDirectQueries, count);
      const std::int64_t last = first_ + rows_ * (partition + 1) / partitions_;
      for (std::int64_t first = first_ + rows_ * partition / partitions_; first < last; first += step) {
        for (std::int64_t q = begin; q < end; ++q) {
          for (std::int64_t i = first; i < std::min(first + step, last); ++i)
            measure(q, i, results_[q * partitions_ + partition]);
        }
      }
    });
  }

  void screen() {
    const int lanes = kernels_.lanes;
    const std::int64_t count = queries_.values.rows, d = held_.columns(), panels = ceil_div(count, lanes);
    Matrix<std::byte> packed(panels, kernels_.panel_bytes(d));
    norms_.resize(static_cast<std::size_t>(panels));
    held_.threads.run(panels, [&](std::int64_t p, int) {
      const double* rows[kMaxLanes];
      for (int lane = 0; lane < lanes; ++lane) {
        rows[lane] = queries_.values.row(std::min(p * lanes + lane, count - 1)).data();
      }
      kernels_.pack_rows.of<double>()(rows, d, held_.scale(), held_.plan.screen.center.data(), packed.row(p).data(),
                                      &norms_[p]);
    });
    const std::int64_t step = tile_columns(kernels_);
    constexpr std::int64_t kBlockBytes = 1 << 20;  // fits the second-level cache
    const std::int64_t target =
        held_.block_rows > 0 ? held_.block_rows : std::max(kBlockBytes / kernels_.column_bytes(d), 4 * step);
    const std::int64_t block = std::min(ceil_div(target, step), ceil_div(rows_, step)) * step;
    ScreenColumns base(held_, kernels_, block);
    for (std::int64_t first = first_; first < held_.rows(); first += block) {
      base.pack(held_, held_.row(first), std::min(block, held_.rows() - first));
      const std::int64_t tiles = ceil_div(base.count(), step);
      held_.threads.run(panels * partitions_, [&](std::int64_t task, int) {
        const std::int64_t panel = task / partitions_, partition = task % partitions_;
        screen_panel(base, first,
                     {panel, partition, tiles * partition / partitions_, tiles * (partition + 1) / partitions_},
                     packed.row(panel).data());
      });
    }
  }

  struct Task {
    std::int64_t panel, partition, first_tile, last_tile;
  };

  void screen_panel(const ScreenColumns& base, std::int64_t first, Task task, const std::byte* panel) {
    const int lanes = kernels_.lanes;
    float limit[kMaxLanes];
    for (int lane = 0; lane < lanes; ++lane) limit[lane] = limit_of(base, task.panel * lanes + lane);
    Matrix<float> products(kTileColumns, lanes);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    for (std::int64_t tile = task.first_tile; tile < task.last_tile; ++tile) {
      base.multiply_tile(tile, panel, products.data(),
                         [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
                           const std::int64_t found =
                               kernels_.scores.collect(products.data(), half_sq_norm, columns, limit, hits.data());
                           for (std::int64_t h = 0; h < found; ++h) {
                             const std::int64_t q = task.panel * lanes + hits[h].lane;
                             if (q >= queries_.values.rows) continue;
                             measure(q, first + from + hits[h].column, results_[q * partitions_ + task.partition]);
                           }
                         });
    }
  }

  /// A score above this proves that D is above the limit of the search.
  float limit_of(const ScreenColumns& base, std::int64_t q) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (q >= queries_.values.rows) return -std::numeric_limits<float>::infinity();
    const int lane = static_cast<int>(q % kernels_.lanes);
    const PanelNorms& norms = norms_[q / kernels_.lanes];
    return score_limit(std::nextafter(lists_.limit, kInfinity), held_.scale(),
                       lower_half_sq_norm(norms.norm[lane], held_.columns()),
                       base.margin(norms.norm[lane], norms.residual[lane]));
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  RadiusLists& lists_;
  typename RowKernels<T>::Distance distance_;
  const ScreenKernels& kernels_;
  std::int64_t first_, rows_;        // requested rows: position of the first, and count
  std::atomic<std::int64_t> found_;  // rows found so far
  std::int64_t partitions_ = 1;      // partitions of the rows, to give every thread work
  std::vector<Result> results_;      // [query][partition]
  std::vector<PanelNorms> norms_;
};

}  // namespace

template <class T>
void search_radius(const HeldRows<T>& held, const Queries& queries, RadiusLists& lists) {
  if (queries.values.rows > 0) RadiusSearch<T>(held, queries, lists).run();
}

#define KITH_INSTANTIATE(T) template void search_radius(const HeldRows<T>&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
