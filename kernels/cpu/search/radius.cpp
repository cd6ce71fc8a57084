// Every row within a distance of a query: a screen drops the rows that are certainly farther, the definition decides
// the others.
//
// Queries lie in vector lanes, as in search.cpp: q n d multiply-adds, and d float64 operations for every row found and
// for the few near the limit. Where there are few queries, and by measures that the screen does not know, the
// definition decides all.
#include <atomic>
#include <limits>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

template <class T>
class Within {
 public:
  Within(const HeldRows<T>& held, const Queries& queries, RadiusLists& found)
      : held_(held),
        queries_(queries),
        found_(found),
        distance_(held.set.template rows<T>().by(queries.measure)),
        kernels_(held.set.screen_for(held.columns(), held.rows())),
        first_(std::clamp<std::int64_t>(found.first_row - held.first_row, 0, held.rows())),
        rows_(held.rows() - first_),
        kept_(found.total()) {}

  void run() {
    if (rows_ == 0) return;
    const bool screened = queries_.measure == Measure::squared_euclidean && queries_.values.rows * 3 >= kernels_.lanes;
    const std::int64_t groups = groups_of(queries_.values.rows, screened ? kernels_.lanes : kDirectQueries);
    parts_ = std::clamp<std::int64_t>(4 * held_.threads.count() / groups, 1, 64);
    parts_of_.resize(static_cast<std::size_t>(queries_.values.rows * parts_));
    screened ? screen() : look_at_all();
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) gather(q);
  }

 private:
  static constexpr std::int64_t kDirectQueries = 8;  // that take a range of rows from the cache together

  /// What one task finds for one query.
  struct Part {
    std::int64_t count = 0;
    std::vector<Neighbor> rows;
  };

  void look_at(std::int64_t q, std::int64_t i, Part& part) {
    const std::int64_t row = held_.first_row + i;
    if (queries_.excluded_row >= 0 && row == queries_.excluded_row + q) return;
    const double distance = distance_(held_.row(i), queries_.values.row(q).data(), held_.columns());
    if (!(distance <= found_.limit)) return;
    ++part.count;
    if (kept_.fetch_add(1, std::memory_order_relaxed) < found_.capacity) part.rows.push_back({distance, row});
  }

  void gather(std::int64_t q) {
    for (std::int64_t p = q * parts_; p < (q + 1) * parts_; ++p) {
      Part& part = parts_of_[p];
      found_.counts[q] += part.count;
      found_.rows[q].insert(found_.rows[q].end(), part.rows.begin(), part.rows.end());
      part = {};
    }
  }

  void look_at_all() {
    const std::int64_t count = queries_.values.rows, groups = groups_of(count, kDirectQueries);
    constexpr std::int64_t kRangeBytes = 128 << 10;
    const std::int64_t row_bytes = held_.columns() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t step = std::max<std::int64_t>(kRangeBytes / row_bytes, 8);
    held_.threads.run(groups * parts_, [&](std::int64_t task, int) {
      const std::int64_t part = task % parts_, begin = task / parts_ * kDirectQueries;
      const std::int64_t end = std::min(begin + kDirectQueries, count);
      const std::int64_t last = first_ + rows_ * (part + 1) / parts_;
      for (std::int64_t first = first_ + rows_ * part / parts_; first < last; first += step) {
        for (std::int64_t q = begin; q < end; ++q) {
          for (std::int64_t i = first; i < std::min(first + step, last); ++i)
            look_at(q, i, parts_of_[q * parts_ + part]);
        }
      }
    });
  }

  void screen() {
    const int lanes = kernels_.lanes;
    const std::int64_t count = queries_.values.rows, d = held_.columns(), panels = groups_of(count, lanes);
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
    constexpr std::int64_t kBlockBytes = 1 << 20;  // it stays in the second-level cache
    const std::int64_t wanted =
        held_.block_rows > 0 ? held_.block_rows : std::max(kBlockBytes / kernels_.column_bytes(d), 4 * step);
    const std::int64_t block = std::min(groups_of(wanted, step), groups_of(rows_, step)) * step;
    ScreenColumns base(held_, kernels_, block);
    for (std::int64_t first = first_; first < held_.rows(); first += block) {
      base.pack(held_, held_.row(first), std::min(block, held_.rows() - first));
      const std::int64_t tiles = groups_of(base.count(), step);
      held_.threads.run(panels * parts_, [&](std::int64_t task, int) {
        const std::int64_t panel = task / parts_, part = task % parts_;
        screen_panel(base, first, {panel, part, tiles * part / parts_, tiles * (part + 1) / parts_},
                     packed.row(panel).data());
      });
    }
  }

  struct Task {
    std::int64_t panel, part, first_tile, last_tile;
  };

  void screen_panel(const ScreenColumns& base, std::int64_t first, Task task, const std::byte* panel) {
    const int lanes = kernels_.lanes;
    float limit[kMaxLanes];
    for (int lane = 0; lane < lanes; ++lane) limit[lane] = limit_of(base, task.panel * lanes + lane);
    Matrix<float> products(kTileColumns, lanes);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    for (std::int64_t tile = task.first_tile; tile < task.last_tile; ++tile) {
      base.multiply_tile(
          tile, panel, products.data(), [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
            const std::int64_t hit = kernels_.scores.within(products.data(), half_sq_norm, columns, limit, hits.data());
            for (std::int64_t h = 0; h < hit; ++h) {
              const std::int64_t q = task.panel * lanes + hits[h].lane;
              if (q >= queries_.values.rows) continue;
              look_at(q, first + from + hits[h].column, parts_of_[q * parts_ + task.part]);
            }
          });
    }
  }

  /// A score above this proves that D is above the limit of the search.
  float limit_of(const ScreenColumns& base, std::int64_t q) const {
    constexpr double kLargest = std::numeric_limits<double>::infinity();
    if (q >= queries_.values.rows) return -std::numeric_limits<float>::infinity();
    const int lane = static_cast<int>(q % kernels_.lanes);
    const PanelNorms& norms = norms_[q / kernels_.lanes];
    return score_limit(std::nextafter(found_.limit, kLargest), held_.scale(),
                       least_half_sq_norm(norms.norm[lane], held_.columns()),
                       base.margin(norms.norm[lane], norms.residual[lane]));
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  RadiusLists& found_;
  typename RowKernels<T>::Distance distance_;
  const ScreenKernels& kernels_;
  std::int64_t first_, rows_;       // that are wanted: the first one's position, and their number
  std::atomic<std::int64_t> kept_;  // rows found so far
  std::int64_t parts_ = 1;          // of the rows, so that every thread has work
  std::vector<Part> parts_of_;      // [query][part]
  std::vector<PanelNorms> norms_;
};

}  // namespace

template <class T>
void search_radius(const HeldRows<T>& held, const Queries& queries, RadiusLists& found) {
  if (queries.values.rows > 0) Within<T>(held, queries, found).run();
}

#define KITH_INSTANTIATE(T) template void search_radius(const HeldRows<T>&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
