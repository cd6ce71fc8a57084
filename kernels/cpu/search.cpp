// Exact nearest neighbours: a float32 screen keeps, per query, every row whose score is within the certificate's margin
// of the k-th best so far; the few survivors are ordered by the definition.
//
// Queries lie in vector lanes as points do in assign.cpp, and rows of the base take the place of centroids: q n d
// multiply-adds. A row that is dropped had a score more than 2 E above k others, so k others are truly nearer. Few
// queries do not fill a panel; they get the definition at once, which then runs at the speed of memory.
#include <cmath>
#include <mutex>

#include "kernels/cpu/nearest_list.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/panels.h"

namespace kith::cpu {
namespace {

struct Survivor {
  float score;
  std::int64_t row;
};

/// Rows that may be among the k nearest of one query. `margin` (finite) is 2 E.
class Survivors {
 public:
  void reset(std::int64_t k, float margin) {
    k_ = k;
    margin_ = margin;
    capacity_ = static_cast<std::size_t>(2 * k + 128);
  }
  /// No row at all once there were too many of nearly equal score.
  float limit() const { return limit_; }
  bool given_up() const { return given_up_; }
  void add(Survivor survivor) {
    if (given_up_) return;
    kept_.push_back(survivor);
    if (kept_.size() >= capacity_) make_room();
  }
  void add(const Survivors& other) { kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end()); }
  /// Drops what the k-th best score excludes.
  void drop_excluded() {
    if (static_cast<std::int64_t>(kept_.size()) <= k_) return;
    const auto lower = [](const Survivor& a, const Survivor& b) { return a.score < b.score; };
    std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end(), lower);
    limit_ = std::min(limit_, kept_[k_ - 1].score + margin_);
    std::erase_if(kept_, [this](const Survivor& s) { return s.score > limit_; });
  }
  const std::vector<Survivor>& kept() const { return kept_; }
  void clear() { std::vector<Survivor>().swap(kept_); }

 private:
  /// More room where dropping gains little, up to a point: many equal scores would otherwise fill the memory.
  void make_room() {
    drop_excluded();
    if (kept_.size() <= capacity_ / 4 * 3) return;
    capacity_ *= 2;
    if (capacity_ <= kMostGrowth * static_cast<std::size_t>(2 * k_ + 128)) return;
    given_up_ = true;
    limit_ = -std::numeric_limits<float>::infinity();
    clear();
  }

  static constexpr std::size_t kMostGrowth = 4;
  std::int64_t k_ = 0;
  float margin_ = 0.0F;
  float limit_ = std::numeric_limits<float>::infinity();
  std::size_t capacity_ = 0;
  bool given_up_ = false;
  std::vector<Survivor> kept_;
};

template <class T>
class Search {
 public:
  Search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists)
      : held_(held), queries_(queries), lists_(lists), k_(lists.index.columns()) {}

  void run() {
    if (queries_.values.rows * 3 < held_.set.lanes) {
      for (std::int64_t q = 0; q < queries_.values.rows; ++q) search_directly(q);
      return;
    }
    measure_base();
    pack_queries();
    screen();
    for (std::int64_t q = 0; q < queries_.values.rows; ++q) {
      if (!screened(q)) search_directly(q);
    }
    held_.threads.run(queries_.values.rows, [&](std::int64_t q, int) {
      if (screened(q)) decide(q);
    });
  }

 private:
  std::int64_t excluded(std::int64_t q) const { return queries_.excluded_row < 0 ? -1 : queries_.excluded_row + q; }
  double distance(std::int64_t q, std::int64_t i) const {
    return held_.set.template rows<T>().distance(held_.row(i), queries_.values.row(q).data(), held_.columns());
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
    store(q, nearest);
  }

  NearestList list_of(std::int64_t q) const {
    NearestList list(k_);
    for (std::int64_t i = 0; i < k_ && lists_.index(q, i) >= 0; ++i)
      list.add({lists_.distance(q, i), lists_.index(q, i)});
    return list;
  }

  void store(std::int64_t q, NearestList& list) {
    const std::vector<Neighbor>& sorted = list.sorted();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      lists_.distance(q, static_cast<std::int64_t>(i)) = sorted[i].distance;
      lists_.index(q, static_cast<std::int64_t>(i)) = sorted[i].row;
    }
  }

  /// Half norms of the rows of the base, and the largest norm and residual for the margin.
  void measure_base() {
    ScreenedRows& base = base_;
    base.half_norm.resize(held_.rows());
    std::mutex merging;
    held_.for_ranges(
        held_.rows_per_task(4 * held_.columns()), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
          std::vector<float> row(held_.columns());
          ScreenedNorms largest;
          for (std::int64_t i = first; i < last; ++i) {
            const ScreenedNorms norms =
                screen_row(held_.row(i), held_.columns(), held_.scale(), held_.plan.screen.center.data(), row.data());
            base.half_norm[i] = static_cast<float>(norms.squared_norm / 2);
            largest.squared_norm = std::max(largest.squared_norm, norms.squared_norm);
            largest.squared_residual = std::max(largest.squared_residual, norms.squared_residual);
          }
          const std::lock_guard lock(merging);
          base.largest_norm = std::max(base.largest_norm, std::sqrt(largest.squared_norm));
          base.largest_residual = std::max(base.largest_residual, std::sqrt(largest.squared_residual));
        });
    margin_ = screen_margin(base, held_.columns(), held_.plan.screen.exponent, held_.arithmetic());
  }

  std::int64_t panels() const { return (queries_.values.rows + held_.set.lanes - 1) / held_.set.lanes; }
  bool usable(std::int64_t q) const { return std::isfinite(margin_of_[q]); }
  /// Whether the screen has left a list that holds the neighbours.
  bool screened(std::int64_t q) const {
    const auto parts = std::span(survivors_).subspan(q * parts_, parts_);
    return usable(q) && std::none_of(parts.begin(), parts.end(), [](const Survivors& part) { return part.given_up(); });
  }

  void pack_queries() {
    const int lanes = held_.set.lanes;
    const std::int64_t count = queries_.values.rows, d = held_.columns();
    panels_ = Matrix<float>(panels(), d * lanes);
    margin_of_.resize(panels() * lanes);
    held_.threads.run(panels(), [&](std::int64_t p, int) {
      const double* rows[kMaxLanes];
      float norm[kMaxLanes];
      for (int lane = 0; lane < lanes; ++lane)
        rows[lane] = queries_.values.row(std::min(p * lanes + lane, count - 1)).data();
      held_.set.template rows<double>().pack(rows, d, held_.scale(), held_.plan.screen.center.data(),
                                             panels_.row(p).data(), norm);
      for (int lane = 0; lane < lanes; ++lane) margin_of_[p * lanes + lane] = margin_.at(norm[lane]);
    });
    // Enough parts of the base that every thread has work; each has its own survivors.
    parts_ = std::clamp<std::int64_t>(4 * held_.threads.count() / panels(), 1, 64);
    survivors_.resize(panels() * lanes * parts_);
    for (std::int64_t q = 0; q < panels() * lanes; ++q) {
      for (std::int64_t part = 0; part < parts_; ++part) survivors_[q * parts_ + part].reset(k_, margin_of_[q]);
    }
  }

  /// Blocks of the base are packed by all threads, then multiplied with all panels of queries.
  void screen() {
    const std::int64_t d = held_.columns(), step = tile_columns(held_.set);
    constexpr std::int64_t kBlockFloats = 2'000'000;
    const std::int64_t wanted = held_.block_rows > 0 ? held_.block_rows : std::max(kBlockFloats / d, 4 * step);
    const std::int64_t block = std::min((wanted + step - 1) / step, (held_.rows() + step - 1) / step) * step;
    Matrix<float> groups(block / held_.set.group, d * held_.set.group);
    for (std::int64_t first = 0; first < held_.rows(); first += block) {
      const std::int64_t rows = std::min(block, held_.rows() - first);
      const std::int64_t tiles = (rows + step - 1) / step;
      held_.threads.run(tiles, [&](std::int64_t tile, int) {
        const std::int64_t from = tile * step, count = std::min(step, rows - from);
        Matrix<float> screened(count, d);
        for (std::int64_t i = 0; i < count; ++i) {
          screen_row(held_.row(first + from + i), d, held_.scale(), held_.plan.screen.center.data(),
                     screened.row(i).data());
        }
        pack_groups(screened.data(), count, d, held_.set.group, groups.data() + from * d);
      });
      held_.threads.run(panels() * parts_, [&](std::int64_t task, int) {
        const std::int64_t panel = task / parts_, part = task % parts_;
        screen_panel(panel, part, first, groups.data(), tiles * part / parts_, tiles * (part + 1) / parts_, rows);
      });
    }
  }

  void screen_panel(std::int64_t panel, std::int64_t part, std::int64_t first, const float* groups, std::int64_t tile,
                    std::int64_t last_tile, std::int64_t rows) {
    const int lanes = held_.set.lanes;
    const std::int64_t d = held_.columns(), step = tile_columns(held_.set);
    Matrix<float> products(kTileColumns, lanes);
    std::vector<Hit> hits(static_cast<std::size_t>(step) * lanes);
    float limit[kMaxLanes];
    for (; tile < last_tile; ++tile) {
      const std::int64_t from = tile * step, count = std::min(step, rows - from);
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int64_t q = panel * lanes + lane;
        const bool wanted = q < queries_.values.rows && usable(q);
        limit[lane] = wanted ? survivors_[q * parts_ + part].limit() : -std::numeric_limits<float>::infinity();
      }
      held_.set.products(panels_.row(panel).data(), groups + from * d, d, groups_of(count, held_.set.group),
                         products.data());
      const std::int64_t found =
          held_.set.within(products.data(), base_.half_norm.data() + first + from, count, limit, hits.data());
      for (std::int64_t h = 0; h < found; ++h) {
        const std::int64_t q = panel * lanes + hits[h].lane, row = held_.first_row + first + from + hits[h].column;
        if (q >= queries_.values.rows || !usable(q) || row == excluded(q)) continue;
        survivors_[q * parts_ + part].add({hits[h].score, row});
      }
    }
  }

  /// Orders the survivors of one query by the definition.
  void decide(std::int64_t q) {
    Survivors& all = survivors_[q * parts_];
    for (std::int64_t part = 1; part < parts_; ++part) all.add(survivors_[q * parts_ + part]);
    all.drop_excluded();
    NearestList nearest = list_of(q);
    for (const Survivor& s : all.kept()) nearest.add({distance(q, s.row - held_.first_row), s.row});
    store(q, nearest);
    all.clear();
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  NeighborLists& lists_;
  std::int64_t k_;
  ScreenedRows base_;  // norms only
  ScreenMargin margin_;
  Matrix<float> panels_;
  std::vector<float> margin_of_;  // (queries, padded)
  std::int64_t parts_ = 1;
  std::vector<Survivors> survivors_;  // [query][part]
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
