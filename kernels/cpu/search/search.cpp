// Exact nearest neighbours: a screen keeps, per query, every row whose score is within the certificate's margin of the
// k-th best so far; the few survivors are ordered by the definition.
//
// Queries lie in vector lanes as points do in assign.cpp, and rows of the base take the place of centroids: q n d
// multiply-adds. A row that is dropped had a score more than 2 E above k others, so k others are truly nearer. The
// first rows are looked at twice: first for the best scores of runs of them, so that few rows come for a list to drop.
// Few queries do not fill a panel; they get the definition at once, which then runs at the speed of memory. So do all
// by measures that the screen does not know; inner products it does, without half norms.
#include <cmath>
#include <mutex>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/search/nearest_list.h"
#include "kernels/cpu/search/survivors.h"

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
        distance_(held.set.template rows<T>().by(queries.measure)),
        kernels_(held.set.screen_for(held.columns(), held.rows())) {}

  void run() {
    const bool is_product = queries_.measure == Measure::inner_product;
    if (queries_.measure != Measure::squared_euclidean && !is_product) return search_all_directly();
    if (queries_.values.rows * 3 < kernels_.lanes) {
      for (std::int64_t q = 0; q < queries_.values.rows; ++q) search_directly(q);
      return;
    }
    // Of products the base alone is centred: that takes the same from all scores of a query.
    pack_queries(is_product ? std::vector<float>(held_.plan.screen.center.size(), 0.0F) : held_.plan.screen.center);
    screen(is_product ? Scores::product : Scores::plain);
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) {
      if (!screened(q)) search_directly(q);
    }
    held_.threads.run(queries_.values.rows, [&](std::int64_t q, int) {
      if (screened(q)) decide(q);
    });
  }

 private:
  using Listed = Survivors<std::int64_t>;

  std::int64_t excluded(std::int64_t q) const { return queries_.excluded_row < 0 ? -1 : queries_.excluded_row + q; }
  double distance(std::int64_t q, std::int64_t i) const {
    return distance_(held_.row(i), queries_.values.row(q).data(), held_.columns());
  }

  /// The definition for every row.
  void search_directly(std::int64_t q) {
    NearestList nearest = list_of(q);
    std::mutex merging;
    held_.for_ranges(held_.rows_per_task(8 * held_.columns()),
                     [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
                       NearestList part(k_);
                       for (std::int64_t i = first; i < last; ++i) {
                         if (held_.first_row + i != excluded(q)) part.add({distance(q, i), held_.first_row + i});
                       }
                       const std::lock_guard lock(merging);
                       nearest.add(part);
                     });
    store(nearest, q, lists_);
  }

  /// The definition for every query and row: a thread takes some queries, and ranges of rows that stay in the cache.
  void search_all_directly() {
    if (queries_.values.rows < held_.threads.count()) {
      for (std::int64_t q = 0; q < queries_.values.rows; ++q) search_directly(q);
      return;
    }
    constexpr std::int64_t kRangeBytes = 128 << 10, kTogether = 8;
    const std::int64_t row_bytes = held_.columns() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t step = std::max<std::int64_t>(kRangeBytes / row_bytes, 8), count = queries_.values.rows;
    held_.threads.run(groups_of(count, kTogether), [&](std::int64_t task, int) {
      const std::int64_t begin = task * kTogether, end = std::min(begin + kTogether, count);
      std::vector<NearestList> nearest;
      for (std::int64_t q = begin; q < end; ++q) nearest.push_back(list_of(q));
      for (std::int64_t first = 0; first < held_.rows(); first += step) {
        const std::int64_t last = std::min(first + step, held_.rows());
        for (std::int64_t q = begin; q < end; ++q) {
          for (std::int64_t i = first; i < last; ++i) {
            if (held_.first_row + i == excluded(q)) continue;
            nearest[q - begin].add({distance(q, i), held_.first_row + i});
          }
        }
      }
      for (std::int64_t q = begin; q < end; ++q) store(nearest[q - begin], q, lists_);
    });
  }

  NearestList list_of(std::int64_t q) const {
    NearestList list(k_);
    for (std::int64_t i = 0; i < k_ && lists_.index(q, i) >= 0; ++i)
      list.add({lists_.distance(q, i), lists_.index(q, i)});
    return list;
  }

  std::int64_t panels() const { return groups_of(queries_.values.rows, kernels_.lanes); }
  bool usable(std::int64_t q) const { return std::isfinite(margin_of_[q]); }
  /// Whether the screen has left a list that holds the neighbours.
  bool screened(std::int64_t q) const {
    const auto parts = std::span(survivors_).subspan(q * parts_, parts_);
    return usable(q) && std::none_of(parts.begin(), parts.end(), [](const Listed& part) { return part.given_up(); });
  }

  void pack_queries(const std::vector<float>& center) {
    const int lanes = kernels_.lanes;
    const std::int64_t count = queries_.values.rows, d = held_.columns();
    panels_ = Matrix<std::byte>(panels(), kernels_.panel_bytes(d));
    norms_.resize(panels());
    margin_of_.assign(panels() * lanes, 0.0F);
    held_.threads.run(panels(), [&](std::int64_t p, int) {
      const double* rows[kMaxLanes];
      for (int lane = 0; lane < lanes; ++lane)
        rows[lane] = queries_.values.row(std::min(p * lanes + lane, count - 1)).data();
      kernels_.pack_rows.of<double>()(rows, d, held_.scale(), center.data(), panels_.row(p).data(), &norms_[p]);
    });
    // Enough parts of the base that every thread has work; each has its own survivors.
    parts_ = std::clamp<std::int64_t>(4 * held_.threads.count() / panels(), 1, 64);
    survivors_.resize(panels() * lanes * parts_);
    const std::int64_t room = Listed::first_room(k_);
    workspaces_.resize(survivors_.size() * room);
    for (std::size_t s = 0; s < survivors_.size(); ++s)
      survivors_[s].reset(k_, workspaces_.data() + s * room, Listed::most_room(k_));
  }

  /// Margins for all rows that were packed so far: they grow with the longest of them.
  void set_margins(const ScreenColumns& base) {
    for (std::int64_t q = 0; q < panels() * kernels_.lanes; ++q) {
      const PanelNorms& norms = norms_[q / kernels_.lanes];
      margin_of_[q] = base.margin(norms.norm[q % kernels_.lanes], norms.residual[q % kernels_.lanes]);
      for (std::int64_t part = 0; part < parts_; ++part) survivors_[q * parts_ + part].raise_margin(margin_of_[q]);
    }
  }

  struct Task {
    std::int64_t panel, part, first_tile, last_tile;
  };

  /// Blocks of the base are packed by all threads, then multiplied with all panels of queries.
  void screen(Scores scores) {
    const std::int64_t step = tile_columns(kernels_);
    constexpr std::int64_t kBlockBytes = 1 << 20;  // it stays in the second-level cache
    const std::int64_t wanted = held_.block_rows > 0
                                    ? held_.block_rows
                                    : std::max(kBlockBytes / kernels_.column_bytes(held_.columns()), 4 * step);
    const std::int64_t block = std::min(groups_of(wanted, step), groups_of(held_.rows(), step)) * step;
    ScreenColumns base(held_, kernels_, block, scores);
    for (std::int64_t first = 0; first < held_.rows(); first += block) {
      base.pack(held_, held_.row(first), std::min(block, held_.rows() - first));
      set_margins(base);
      const std::int64_t tiles = groups_of(base.count(), step);
      held_.threads.run(panels() * parts_, [&](std::int64_t number, int) {
        const std::int64_t panel = number / parts_, part = number % parts_;
        const Task task{panel, part, tiles * part / parts_, tiles * (part + 1) / parts_};
        if (first == 0) bound_panel(base, task);
        screen_panel(base, first, task);
      });
    }
  }

  /// Tiles of the base that are looked at for a first bound, so that what they cost and what rows within the bound cost
  /// together is least. 0 where there are too few for one.
  std::int64_t first_look(std::int64_t tiles) const {
    constexpr double kHit = 4096, kTile = 64;  // what a hit costs, and what a product costs by itself: multiply-adds
    const double rows = std::sqrt(static_cast<double>(k_ * held_.rows()) / parts_ * kHit / (held_.columns() + kTile));
    const std::int64_t step = tile_columns(kernels_), fewest = groups_of(2 * (k_ + 1) * kWinnerColumns, step);
    const std::int64_t wanted = std::max(fewest, static_cast<std::int64_t>(rows) / step);
    const std::int64_t looked = std::min(wanted, tiles);
    return looked < fewest || looked * step > held_.rows() / parts_ / 2 ? 0 : looked;
  }

  /// Bounds for the queries of a panel from the best scores of runs of columns in the first tiles, k of which are
  /// scores of k rows. A query that is one of these rows is no neighbour of itself.
  void bound_panel(const ScreenColumns& base, Task task) {
    const std::int64_t tiles = first_look(task.last_tile - task.first_tile);
    if (tiles == 0) return;
    const int lanes = kernels_.lanes;
    Matrix<float> products(kTileColumns, lanes);
    Matrix<float> minima(tiles * kWinnersOfTile, lanes);
    std::int64_t runs = 0;
    for (std::int64_t tile = task.first_tile; tile < task.first_tile + tiles; ++tile) {
      base.multiply_tile(tile, panels_.row(task.panel).data(), products.data(),
                         [&](std::int64_t, std::int64_t columns, const float* half_sq_norm) {
                           kernels_.scores.minima(products.data(), half_sq_norm, columns, minima.row(runs).data());
                           runs += groups_of(columns, kWinnerColumns);
                         });
    }
    float limit[kMaxLanes];
    kernels_.scores.bound(minima.data(), runs, k_ + (queries_.excluded_row < 0 ? 0 : 1), limit);
    for (int lane = 0; lane < lanes; ++lane)
      survivors_[(task.panel * lanes + lane) * parts_ + task.part].set_bound(limit[lane]);
  }

  void screen_panel(const ScreenColumns& base, std::int64_t first, Task task) {
    const int lanes = kernels_.lanes;
    Matrix<float> products(kTileColumns, lanes);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    float limit[kMaxLanes];
    for (std::int64_t tile = task.first_tile; tile < task.last_tile; ++tile) {
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int64_t q = task.panel * lanes + lane;
        const bool wanted = q < queries_.values.rows && usable(q);
        limit[lane] = wanted ? survivors_[q * parts_ + task.part].limit() : -std::numeric_limits<float>::infinity();
      }
      base.multiply_tile(tile, panels_.row(task.panel).data(), products.data(),
                         [&](std::int64_t from, std::int64_t columns, const float* half_sq_norm) {
                           const std::int64_t found =
                               kernels_.scores.within(products.data(), half_sq_norm, columns, limit, hits.data());
                           for (std::int64_t h = 0; h < found; ++h) {
                             const std::int64_t q = task.panel * lanes + hits[h].lane;
                             const std::int64_t row = held_.first_row + first + from + hits[h].column;
                             if (q >= queries_.values.rows || !usable(q) || row == excluded(q)) continue;
                             survivors_[q * parts_ + task.part].add({hits[h].score, row});
                           }
                         });
    }
  }

  /// Orders the survivors of one query by the definition.
  void decide(std::int64_t q) {
    Listed& all = survivors_[q * parts_];
    for (std::int64_t part = 1; part < parts_; ++part) all.add(survivors_[q * parts_ + part]);
    all.drop_excluded();
    NearestList nearest = list_of(q);
    for (const auto& s : all.kept()) nearest.add({distance(q, s.row - held_.first_row), s.row});
    store(nearest, q, lists_);
    all.clear();
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  NeighborLists& lists_;
  std::int64_t k_;
  typename RowKernels<T>::Distance distance_;
  const ScreenKernels& kernels_;
  Matrix<std::byte> panels_;
  std::vector<PanelNorms> norms_;  // of the panels
  std::vector<float> margin_of_;   // (queries, padded)
  std::int64_t parts_ = 1;
  std::vector<Listed> survivors_;                 // [query][part]
  UninitializedVector<Listed::Kept> workspaces_;  // [query][part][first room]
};

}  // namespace

template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  Search<T>(held, queries, lists).run();
}

#define KITH_INSTANTIATE(T) template void search(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
