// Searches cells, nearest first: panels of near queries, repacked relative to the center of each cell that they visit.
//
// A query visits a cell, and a tile of it, only if |distance to the center - distance of the rows from it| does not
// exceed the distance of its k-th neighbour so far. Rows within the limit of a score are measured by the definition at
// once, so that every limit is exact.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>

#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/lists.h"
#include "kernels/cpu/search/cells.h"

namespace kith::cpu {
namespace {

/// The lists of nearest neighbours of a panel of queries.
class NearestResults {
 public:
  NearestResults(NeighborLists& lists, std::atomic<std::int64_t>&, std::int64_t) : lists_(lists) {}
  /// Takes over the lists so far.
  void begin(std::span<const std::int64_t> queries) {
    nearest_.clear();
    for (const std::int64_t q : queries) nearest_.emplace_back(k()).add(lists_, q);
  }
  /// Rows with a larger D are not wanted.
  double limit(int lane) const { return nearest_[lane].limit(); }
  /// The number of rows that a limit of scores must admit before limit() is finite; 0 if it is for all queries.
  std::int64_t required() const {
    const auto full = [](const NearestHeap& heap) { return heap.full(); };
    return std::all_of(nearest_.begin(), nearest_.end(), full) ? 0 : k();
  }
  void add(int lane, std::int64_t, Neighbor neighbor) { nearest_[lane].add(neighbor); }
  void finish(std::span<const std::int64_t> queries) {
    for (std::size_t lane = 0; lane < queries.size(); ++lane) nearest_[lane].store(queries[lane], lists_);
  }
  static void add_counts(NeighborLists& lists, std::int64_t candidates, std::int64_t products) {
    lists.candidates += candidates;
    lists.products += products;
  }

 private:
  std::int64_t k() const { return lists_.index.columns(); }
  NeighborLists& lists_;
  std::vector<NearestHeap> nearest_;
};

/// The rows within the limit of a radius search. Each query belongs to one panel, so no two threads share its list.
class RadiusResults {
 public:
  /// reserved: of StoredRows.
  RadiusResults(RadiusLists& lists, std::atomic<std::int64_t>& reserved, std::int64_t threads)
      : lists_(lists), stored_(reserved, lists.capacity, threads) {}
  void begin(std::span<const std::int64_t>) {}
  double limit(int) const { return lists_.limit; }
  static std::int64_t required() { return 0; }
  void add(int, std::int64_t q, Neighbor neighbor) {
    if (!(neighbor.distance <= lists_.limit) || neighbor.row < lists_.first_row) return;
    ++lists_.counts[q];
    if (stored_.may_store()) lists_.rows[q].push_back(neighbor);
  }
  void finish(std::span<const std::int64_t>) {}
  static void add_counts(RadiusLists&, std::int64_t, std::int64_t) {}

 private:
  RadiusLists& lists_;
  StoredRows stored_;
};

/// Places that earlier searches have filled.
std::int64_t reserved_of(const NeighborLists&) { return 0; }
std::int64_t reserved_of(const RadiusLists& lists) { return lists.total(); }

template <class T, class Results, class Lists>
class CellSearch {
 public:
  CellSearch(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
             Lists& lists)
      : held_(held),
        cells_(cells),
        kernels_(kernels),
        queries_(queries),
        lists_(lists),
        d_(held.columns()),
        reserved_(reserved_of(lists)),
        centers_(held, held.set.float32, cells.count()) {
    centers_.pack(held, cells.center_rows().data(), cells.count());
  }

  void run(std::vector<std::int64_t> chosen) {
    sort_by_cell(chosen);
    // Few queries: panels with fewer of them give every thread work.
    const std::int64_t per_panel =
        std::clamp<std::int64_t>(ceil_div(std::ssize(chosen), 2 * held_.threads.count()), 1, kernels_.lanes);
    std::vector<std::unique_ptr<Worker>> workers(held_.threads.count());
    held_.threads.run(ceil_div(std::ssize(chosen), per_panel), [&](std::int64_t task, int thread) {
      if (!workers[thread]) workers[thread] = std::make_unique<Worker>(*this);
      const std::int64_t first = task * per_panel;
      workers[thread]->search(std::span(chosen).subspan(first, std::min(per_panel, std::ssize(chosen) - first)));
    });
    for (const std::unique_ptr<Worker>& worker : workers) {
      if (!worker) continue;
      Results::add_counts(lists_, worker->candidates, worker->products);
    }
  }

 private:
  /// Bounds of the distances between the queries of a panel and all centers.
  class CenterDistances {
   public:
    explicit CenterDistances(const CellSearch& search)
        : search_(search),
          panel_(1, search.held_.set.float32.panel_bytes(search.d_)),
          products_(kTileColumns, search.held_.set.float32.lanes) {}
    /// visit(cell, lane, lower, upper), in the scale of the screen, for queries row_of(0) .. row_of(count - 1).
    template <class Visit>
    void measure(std::span<const std::int64_t> queries, const Visit& visit) {
      const ScreenKernels& float32 = search_.held_.set.float32;
      for (std::size_t first = 0; first < queries.size(); first += float32.lanes) {
        const int count = static_cast<int>(std::min<std::size_t>(float32.lanes, queries.size() - first));
        const double* rows[kMaxLanes];
        for (int lane = 0; lane < float32.lanes; ++lane)
          rows[lane] = search_.queries_.values.row(queries[first + std::min(lane, count - 1)]).data();
        PanelNorms norms;
        const HeldRows<T>& held = search_.held_;
        float32.pack_rows.template of<double>()(rows, search_.d_, held.scale(), held.plan.screen.center.data(),
                                                panel_.data(), &norms);
        double least[kMaxLanes], most[kMaxLanes];
        for (int lane = 0; lane < count; ++lane) {
          const double margin = search_.centers_.margin(norms.norm[lane], norms.residual[lane]);
          const double half = static_cast<double>(norms.norm[lane]) * norms.norm[lane] / 2;
          least[lane] = lower_half_sq_norm(norms.norm[lane], search_.d_) - margin;
          most[lane] = half * (1 + (static_cast<double>(search_.d_) + 16) * 0x1p-22) + margin + 0x1p-120;
        }
        for (std::int64_t t = 0; t < search_.centers_.tiles(); ++t) {
          const MultipliedColumns columns = search_.centers_.multiply(t, panel_.data(), products_.data());
          for (std::int64_t c = 0; c < columns.count; ++c) {
            for (int lane = 0; lane < count; ++lane) {
              const double score = columns.half_sq_norm[c] - products_(c, lane);
              const double lower = 2 * (score + least[lane]), upper = 2 * (score + most[lane]);
              visit(columns.first + c, static_cast<int>(first) + lane,
                    lower > 0 ? static_cast<float>(std::sqrt(lower) * (1 - 0x1p-20)) : 0.0F,
                    upper >= 0 ? static_cast<float>(std::sqrt(upper) * (1 + 0x1p-20)) : kInfinity);
            }
          }
        }
      }
    }

   private:
    const CellSearch& search_;
    Matrix<std::byte> panel_;
    Matrix<float> products_;
  };

  /// Sorts queries by their nearest cell, so that those of a panel visit the same cells.
  void sort_by_cell(std::vector<std::int64_t>& chosen) const {
    const std::int64_t step = held_.set.float32.lanes, count = std::ssize(chosen);
    std::vector<std::pair<std::int64_t, std::int64_t>> order(static_cast<std::size_t>(count));
    held_.threads.run(ceil_div(count, step), [&](std::int64_t task, int) {
      float nearest[kMaxLanes];
      std::fill_n(nearest, kMaxLanes, kInfinity);
      const auto part = std::span(chosen).subspan(task * step, std::min(step, count - task * step));
      for (std::size_t i = 0; i < part.size(); ++i) order[task * step + i] = {0, part[i]};
      CenterDistances(*this).measure(part, [&](std::int64_t cell, int lane, float, float upper) {
        if (upper < nearest[lane]) nearest[lane] = upper, order[task * step + lane].first = cell;
      });
    });
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < count; ++i) chosen[i] = order[i].second;
  }

  /// The workspace of one thread.
  class Worker {
   public:
    explicit Worker(const CellSearch& search)
        : search_(search),
          held_(search.held_),
          kernels_(search.kernels_),
          distances_(search),
          bound_(search.cells_.count(), search.kernels_.lanes),
          panel_(1, search.kernels_.panel_bytes(search.d_)),
          products_(kChunkTiles * kTileColumns, search.kernels_.lanes),
          minima_(kChunkTiles * kTileColumnBlocks, search.kernels_.lanes),
          error_(kChunkTiles, search.kernels_.lanes),
          hits_(static_cast<std::size_t>(kTileColumns) * search.kernels_.lanes),
          results_(search.lists_, search.reserved_, search.held_.threads.count()) {}

    void search(std::span<const std::int64_t> queries) {
      begin(queries);
      while (!order_.empty()) {
        std::pop_heap(order_.begin(), order_.end(), later);
        const Visit next = order_.back();
        order_.pop_back();
        bool needed = false;
        for (std::size_t lane = 0; lane < queries.size(); ++lane) needed |= !(bound_(next.cell, lane) > reach_[lane]);
        if (needed) visit(next.cell, queries);
      }
      results_.finish(queries);
    }

    std::int64_t candidates = 0, products = 0;

   private:
    static constexpr std::int64_t kChunkTiles = 8;  // tiles of products that stay in the second-level cache
    struct Visit {
      float bound, distance;
      std::int64_t cell;
    };
    static bool later(const Visit& a, const Visit& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.distance > b.distance;
    }

    /// Fills bound_ and the order of the cells, and takes over the lists so far.
    void begin(std::span<const std::int64_t> queries) {
      const Cells<T>& cells = search_.cells_;
      order_.resize(static_cast<std::size_t>(cells.count()));
      for (std::int64_t cell = 0; cell < cells.count(); ++cell) order_[cell] = {kInfinity, kInfinity, cell};
      distances_.measure(queries, [&](std::int64_t cell, int lane, float lower, float upper) {
        const float bound = std::max({lower - cells.outer(cell), cells.inner(cell) - upper, 0.0F});
        bound_(cell, lane) = bound * (1 - 0x1p-20F);
        order_[cell].bound = std::min(order_[cell].bound, bound_(cell, lane));
        order_[cell].distance = std::min(order_[cell].distance, lower);
      });
      std::make_heap(order_.begin(), order_.end(), later);
      results_.begin(queries);
      for (std::size_t lane = 0; lane < queries.size(); ++lane) update_reach(static_cast<int>(lane));
    }

    /// reach_: an upper bound of the distance of wanted rows, in the scale of the screen, with the rounding of the
    /// definition.
    void update_reach(int lane) {
      reach_[lane] = static_cast<float>(std::sqrt(results_.limit(lane)) * held_.scale() * (1 + 0x1p-20)) + 0x1p-100F;
    }

    void visit(std::int64_t cell, std::span<const std::int64_t> queries) {
      const LocalColumns& columns = search_.cells_.columns(cell);
      const double* rows[kMaxLanes];
      for (int lane = 0; lane < kernels_.lanes; ++lane)
        rows[lane] = search_.queries_.values.row(queries[std::min<std::size_t>(lane, queries.size() - 1)]).data();
      kernels_.pack_rows.template of<double>()(rows, search_.d_, held_.scale(), search_.cells_.center(cell),
                                               panel_.data(), &norms_);
      chunk_.clear();
      for (std::int64_t tile = 0; tile < columns.tiles(); ++tile) {
        if (is_needed(columns, tile, std::ssize(queries))) chunk_.push_back(tile);
        if (std::ssize(chunk_) == kChunkTiles) search_chunk(cell, queries);
      }
      if (!chunk_.empty()) search_chunk(cell, queries);
    }

    bool is_needed(const LocalColumns& columns, std::int64_t tile, std::int64_t count) const {
      const float rounding = 0x1p-20F + static_cast<float>(search_.d_ + 16) * 0x1p-23F;
      bool needed = false;
      for (std::int64_t lane = 0; lane < count; ++lane) {
        const float distance = norms_.norm[lane], slack = distance * rounding + 0x1p-100F;
        const float bound = std::max(distance - columns.outer(tile), columns.inner(tile) - distance) - slack;
        needed |= !(bound * (1 - 0x1p-20F) > reach_[lane]);  // true for NaN
      }
      return needed;
    }

    /// Multiplies the tiles of the chunk, and measures the rows within the limits.
    void search_chunk(std::int64_t cell, std::span<const std::int64_t> queries) {
      const LocalColumns& columns = search_.cells_.columns(cell);
      const int lanes = kernels_.lanes;
      std::int64_t column_blocks = 0;
      float largest_error[kMaxLanes] = {};
      for (std::size_t t = 0; t < chunk_.size(); ++t) {
        float* out = products_.row(t * kTileColumns).data();
        float* error = error_.row(t).data();
        const std::int64_t count = columns.columns(chunk_[t]);
        columns.multiply(chunk_[t], panel_.data(), out);
        columns.errors(chunk_[t], norms_, error);
        kernels_.scores.block_minima(out, columns.half_sq_norm(chunk_[t]), count, minima_.row(column_blocks).data());
        column_blocks += ceil_div(count, kColumnBlock);
        products += count * std::ssize(queries);
        for (int lane = 0; lane < lanes; ++lane) {
          // Also NaN becomes infinite.
          largest_error[lane] = error[lane] < kInfinity ? std::max(largest_error[lane], error[lane]) : kInfinity;
        }
      }
      const std::int64_t required = results_.required() + (search_.queries_.excluded_row < 0 ? 0 : 1);
      float initial[kMaxLanes];
      std::fill_n(initial, kMaxLanes, kInfinity);
      if (results_.required() > 0 && column_blocks >= required)
        kernels_.scores.kth_limit(minima_.data(), column_blocks, required, initial);
      for (std::size_t t = 0; t < chunk_.size(); ++t) {
        float limit[kMaxLanes];
        std::fill_n(limit, kMaxLanes, -kInfinity);
        const float* error = error_.row(t).data();
        for (int lane = 0; lane < std::ssize(queries); ++lane) {
          const float first = initial[lane] + largest_error[lane] + error[lane];
          const double above = std::nextafter(results_.limit(lane), std::numeric_limits<double>::infinity());
          const float known =
              score_limit(above, held_.scale(), lower_half_sq_norm(norms_.norm[lane], search_.d_), 2 * error[lane]);
          limit[lane] = first < known ? first + std::abs(first) * 0x1p-22F : known;
        }
        collect(cell, t, limit, queries);
      }
      chunk_.clear();
    }

    void collect(std::int64_t cell, std::size_t t, const float* limit, std::span<const std::int64_t> queries) {
      const LocalColumns& columns = search_.cells_.columns(cell);
      const std::int64_t count =
          kernels_.scores.collect(products_.row(t * kTileColumns).data(), columns.half_sq_norm(chunk_[t]),
                                  columns.columns(chunk_[t]), limit, hits_.data());
      const std::int64_t* rows = search_.cells_.rows(cell, chunk_[t]);
      std::uint64_t changed = 0;
      for (std::int64_t h = 0; h < count; ++h) {
        const int lane = hits_[h].lane;
        if (lane >= std::ssize(queries)) continue;
        const std::int64_t q = queries[lane], position = rows[hits_[h].column], row = held_.first_row + position;
        if (search_.queries_.excluded_row >= 0 && row == search_.queries_.excluded_row + q) continue;
        ++candidates;
        const double distance = held_.set.template rows<T>().distance(
            held_.row(position), search_.queries_.values.row(q).data(), search_.d_);
        results_.add(lane, q, {distance, row});
        changed |= std::uint64_t{1} << lane;
      }
      for (; changed != 0; changed &= changed - 1) update_reach(__builtin_ctzll(changed));
    }

    const CellSearch& search_;
    const HeldRows<T>& held_;
    const ScreenKernels& kernels_;
    CenterDistances distances_;
    Matrix<float> bound_;  // (cells, lanes) lower bounds of the distances to the rows of a cell
    Matrix<std::byte> panel_;
    PanelNorms norms_;
    Matrix<float> products_, minima_, error_;
    std::vector<Hit> hits_;
    std::vector<Visit> order_;         // a heap of the cells to visit
    std::vector<std::int64_t> chunk_;  // tiles
    Results results_;
    float reach_[kMaxLanes];
  };

  const HeldRows<T>& held_;
  const Cells<T>& cells_;
  const ScreenKernels& kernels_;
  const Queries& queries_;
  Lists& lists_;
  std::int64_t d_;
  mutable std::atomic<std::int64_t> reserved_;  // of StoredRows
  ScreenColumns centers_;
};

}  // namespace

template <class T>
void search_cells(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
                  const std::vector<std::int64_t>& chosen, NeighborLists& lists) {
  CellSearch<T, NearestResults, NeighborLists>(held, cells, kernels, queries, lists).run(chosen);
}

template <class T>
void search_cells(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
                  RadiusLists& lists) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(queries.values.rows));
  std::iota(all.begin(), all.end(), 0);
  CellSearch<T, RadiusResults, RadiusLists>(held, cells, kernels, queries, lists).run(std::move(all));
}

#define KITH_INSTANTIATE(T)                                                                             \
  template void search_cells(const HeldRows<T>&, const Cells<T>&, const ScreenKernels&, const Queries&, \
                             const std::vector<std::int64_t>&, NeighborLists&);                         \
  template void search_cells(const HeldRows<T>&, const Cells<T>&, const ScreenKernels&, const Queries&, RadiusLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
