// The row nearest to each centroid, from the labels and distances that the last assignment left behind.
//
// A row x at squared distance a from its own centroid has D(x, c) >= a for every other centroid c. With r the smallest
// D to c so far, x can be nearer to c only if a <= r. The first r come from the rows of each cluster. Centroids are
// sorted by r, the largest first, so those that a row passes for are the first ones: the row is multiplied with these
// in low precision, and the definition measures what may be within r. The nearest row of each cluster (the pivot) is
// compared before the others, since it lowers the r of empty clusters and of centroids far from their rows.
//
// Cost: one pass over 12 bytes per row, d multiply-adds for every row and centroid with a <= r, and few distances by
// the definition. If these become too many, float32 takes the place of low precision, and then a general search.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/kmeans/bounds.h"
#include "kernels/cpu/choice/assignment.h"
#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/runtime/sorted_rows.h"

namespace kith::cpu {
namespace {

template <class T>
class NearestRowFinder {
 public:
  NearestRowFinder(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result)
      : held_(held), centroids_(request.centroids), result_(result), level_(static_cast<std::size_t>(held.rows())) {}

  /// False if there are too many candidates: then the result holds rows that are near, not nearest.
  bool run() {
    set_classes();
    const std::vector<std::int64_t> pivots = find_pivots();
    use(held_.set.screen_for(held_.columns(), clusters()));
    return screen(pivots) && screen(passing_rows(pivots));
  }

 private:
  void use(const ScreenKernels& kernels) {
    kernels_ = &kernels;
    columns_.emplace(held_, kernels);
  }
  std::int64_t clusters() const { return centroids_.rows; }

  /// Sorts the centroids into classes of length, each up to four times as long as the one before; those of usual length
  /// and shorter are one. The longest centroid of a tile determines its margin, so tiles have one class each.
  void set_classes() {
    std::vector<double> length(static_cast<std::size_t>(clusters()));  // squared
    for (std::int64_t c = 0; c < clusters(); ++c) {
      length[c] =
          held_.set.template rows<double>().distance(centroids_.row(c).data(), held_.plan.mean.data(), held_.columns());
    }
    std::vector<double> sorted = length;
    const auto middle = sorted.begin() + std::ssize(sorted) / 2;
    std::nth_element(sorted.begin(), middle, sorted.end());
    for (const double each : length) {
      double longest = 16 * *middle;
      int of_length = 0;
      for (; each > longest && of_length < kClasses - 1; ++of_length) longest *= 16;
      class_.push_back(of_length);
    }
  }

  /// Finds the nearest row of every cluster, and returns these rows (positions).
  std::vector<std::int64_t> find_pivots() {
    std::vector<std::vector<Neighbor>> parts(static_cast<std::size_t>(held_.threads.count()));
    held_.for_ranges(held_.rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
      std::vector<Neighbor>& part = parts[thread];
      part.resize(static_cast<std::size_t>(clusters()), Neighbor{kInfinity, -1});
      for (std::int64_t i = first; i < last; ++i) {
        Neighbor& nearest = part[held_.label[i]];
        const Neighbor row{held_.distance[i], held_.first_row + i};
        if (nearest.row < 0 || row < nearest) nearest = row;
      }
    });
    std::vector<std::int64_t> pivots;
    for (std::int64_t c = 0; c < clusters(); ++c) {
      Neighbor nearest{kInfinity, -1};
      for (const std::vector<Neighbor>& part : parts) {
        if (!part.empty() && part[c].row >= 0 && (nearest.row < 0 || part[c] < nearest)) nearest = part[c];
      }
      if (nearest.row < 0) continue;
      pivots.push_back(nearest.row - held_.first_row);
      improve(result_.best[c], nearest);
    }
    std::sort(pivots.begin(), pivots.end());
    return pivots;
  }
  static void improve(Neighbor& best, const Neighbor& row) {
    if (best.row < 0 || row < best) best = row;
  }

  /// Between these, a row of a cluster may be the nearest to another centroid.
  struct Range {
    double lowest, highest;  // of D to its own centroid
  };

  /// The range of a cluster. With g its centroid, x can only be nearer to c if |g - c| <= |x - g| + sqrt(r).
  Range range_of(std::int64_t g) const {
    const std::int64_t d = held_.columns();
    double least = kInfinity, highest = -1.0;
    for (std::int64_t c = 0; c < clusters(); ++c) {
      if (c == g) continue;
      const double reach = distance_at_most(result_.best[c].distance, d);
      const double apart =
          held_.set.template rows<double>().distance(centroids_.row(g).data(), centroids_.row(c).data(), d);
      const double own = rounded_down(distance_at_least(apart, d) - reach);  // a lower bound of |x - g|
      if (own > reach) continue;
      least = std::min(least, own);
      highest = std::max(highest, result_.best[c].distance);
    }
    const double shortest = std::max(least, 0.0) * (1 - 2 * definition_rounding(d));
    return {rounded_down(shortest * shortest) - vanished_squares(d), highest};
  }

  std::vector<Range> ranges() {
    double highest = 0.0;
    for (const Neighbor& best : result_.best) highest = std::max(highest, best.distance);
    std::vector<Range> ranges(static_cast<std::size_t>(clusters()), Range{0.0, highest});
    constexpr std::int64_t kRowsPerPair = 4;  // fewer rows do not repay distances between all centroids
    if (kRowsPerPair * clusters() > held_.rows() / clusters()) return ranges;
    held_.threads.run(clusters(), [&](std::int64_t c, int) { ranges[c] = range_of(c); });
    return ranges;
  }

  /// The rows, except pivots, that may be the nearest to some centroid.
  std::vector<std::int64_t> passing_rows(const std::vector<std::int64_t>& pivots) {
    const std::vector<Range> of_label = ranges();
    std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(held_.threads.count()));
    held_.for_ranges(held_.rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
      auto pivot = std::lower_bound(pivots.begin(), pivots.end(), first);
      for (std::int64_t i = first; i < last; ++i) {
        const bool is_pivot = pivot != pivots.end() && *pivot == i;
        if (is_pivot) ++pivot;
        const Range& range = of_label[held_.label[i]];
        const double own = held_.distance[i];
        if (!is_pivot && own >= range.lowest && own <= range.highest) parts[thread].push_back(i);
      }
    });
    std::vector<std::int64_t> rows;
    for (const std::vector<std::int64_t>& part : parts) rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }

  /// The state of one thread.
  struct Worker {
    Worker(const HeldRows<T>& held, const ScreenKernels& kernels, const LocalColumns& columns)
        : panel(held, kernels),
          half_sq_norm(static_cast<std::size_t>(columns.tiles() * columns.step())),
          hits(static_cast<std::size_t>(kTileColumns) * kernels.lanes) {}
    RowPanel<T> panel;
    std::vector<Neighbor> best;       // (k)
    std::vector<float> half_sq_norm;  // of the columns, less r / 2
    std::vector<Hit> hits;
    std::int64_t candidates = 0;
  };

  /// Compares rows with the centroids that they may be nearest to. False if there are too many candidates.
  bool screen(const std::vector<std::int64_t>& rows) {
    if (kernels_ != &held_.set.float32) {
      if (try_to_screen(rows, Budget::of_products)) return true;
      use(held_.set.float32);
    }
    return try_to_screen(rows, Budget::of_search);
  }

  /// What candidates may cost: as much as the products, or as much as a general search.
  enum class Budget { of_products, of_search };

  bool try_to_screen(const std::vector<std::int64_t>& rows, Budget budget) {
    const std::int64_t levels = set_levels(rows);
    if (levels == 0) return true;
    pack(levels);
    const SortedRows sorted = sort_by_label(held_.threads, rows, level_.data(), levels + 1);
    const std::int64_t first = sorted.start[1];  // rows of level 0 are nearest to none
    const std::int64_t count = std::ssize(sorted.row) - first, lanes = kernels_->lanes;
    limit_ = max_nearest_candidates(held_.rows(), clusters());
    if (budget == Budget::of_products) {
      constexpr std::int64_t kImprovements = 16;  // of the nearest row of a centroid
      std::int64_t products = 0;
      for (std::int64_t level = 1; level <= levels; ++level)
        products += (sorted.start[level + 1] - sorted.start[level]) * level * columns_->step();
      const std::int64_t affordable = kImprovements * clusters() + distances_for(held_, *kernels_, products);
      limit_ = std::min(limit_, result_.candidates + affordable);
    }
    constexpr std::int64_t kPanelsPerTask = 8;
    const std::int64_t panels = ceil_div(count, lanes);
    std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(held_.threads.count()));
    std::atomic<bool> stopped = false;
    held_.threads.run(ceil_div(panels, kPanelsPerTask), [&](std::int64_t task, int thread) {
      if (stopped) return;
      std::unique_ptr<Worker>& worker = workers[thread];
      if (!worker) worker = std::make_unique<Worker>(held_, *kernels_, *columns_);
      begin(*worker);
      const std::int64_t last = std::min(first + (task + 1) * kPanelsPerTask * lanes, first + count);
      for (std::int64_t at = first + task * kPanelsPerTask * lanes; at < last; at += lanes) {
        const auto panel = std::span(sorted.row).subspan(at, std::min(lanes, last - at));
        if (!screen_panel(*worker, panel, level_[panel.back()])) break;
      }
      if (!end(*worker)) stopped = true;
    });
    return !stopped;
  }

  /// Sorts the centroids, and sets the number of tiles of them that each row is multiplied with. Returns the largest.
  std::int64_t set_levels(const std::vector<std::int64_t>& rows) {
    const auto reach = [&](std::int32_t c) { return result_.best[c].distance; };
    const std::int64_t step = columns_->step();
    order_.clear();
    for (int of_length = kClasses - 1; of_length >= 0; --of_length) {
      const std::ptrdiff_t first = std::ssize(order_);
      for (std::int32_t c = 0; c < clusters(); ++c) {
        if (class_[c] == of_length) order_.push_back(c);
      }
      std::sort(order_.begin() + first, order_.end(),
                [&](std::int32_t a, std::int32_t b) { return reach(a) != reach(b) ? reach(a) > reach(b) : a < b; });
      order_.resize(static_cast<std::size_t>(ceil_div(std::ssize(order_), step) * step), -1);
    }
    std::vector<double> highest(order_.size() / static_cast<std::size_t>(step));  // r of a tile and those after it
    double most_reach = 0.0;
    for (std::int64_t at = std::ssize(order_) - 1; at >= 0; --at) {
      if (order_[at] >= 0) most_reach = std::max(most_reach, reach(order_[at]));
      highest[at / step] = most_reach;
    }
    std::atomic<std::int32_t> most = 0;
    constexpr std::int64_t kRowsPerTask = 16384;
    held_.threads.run(ceil_div(std::ssize(rows), kRowsPerTask), [&](std::int64_t task, int) {
      std::int32_t most_here = 0;
      for (std::int64_t i = task * kRowsPerTask; i < std::min((task + 1) * kRowsPerTask, std::ssize(rows)); ++i) {
        const double own = held_.distance[rows[i]];
        const auto tiles = std::partition_point(highest.begin(), highest.end(), [&](double r) { return own <= r; });
        level_[rows[i]] = static_cast<std::int32_t>(tiles - highest.begin());
        most_here = std::max(most_here, level_[rows[i]]);
      }
      std::int32_t before = most;
      while (before < most_here && !most.compare_exchange_weak(before, most_here)) {
      }
    });
    return most;
  }

  void pack(std::int64_t tiles) {
    columns_->reset(held_.plan.screen.center.data());
    Matrix<float> centred(columns_->step(), held_.columns());
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int32_t* of_tile = order_.data() + tile * columns_->step();
      columns_->template add_tile<double>(
          std::find(of_tile, of_tile + columns_->step(), -1) - of_tile,
          [&](std::int64_t c) { return centroids_.row(of_tile[c]).data(); }, centred);
    }
  }

  /// Takes the rows that other threads have found.
  void begin(Worker& worker) {
    {
      const std::lock_guard lock(merging_);
      worker.best = result_.best;
    }
    const std::int64_t step = columns_->step();
    for (std::int64_t tile = 0; tile < columns_->tiles(); ++tile) {
      for (std::int64_t c = 0; c < columns_->columns(tile); ++c) set_limit(worker, tile * step + c);
    }
  }
  /// Adds what the worker has found to the result. False if there are too many candidates.
  bool end(Worker& worker) {
    const std::lock_guard lock(merging_);
    for (std::int64_t c = 0; c < clusters(); ++c) improve(result_.best[c], worker.best[c]);
    result_.candidates += std::exchange(worker.candidates, 0);
    return result_.candidates <= limit_;
  }

  /// A column whose score exceeds E - |x'|^2 / 2 then has D > r. Rounded down by more than the subtractions round.
  void set_limit(Worker& worker, std::int64_t column) {
    const std::int64_t tile = column / columns_->step(), in_tile = column % columns_->step();
    const double reach = worker.best[order_[column]].distance * held_.scale() * held_.scale() / 2;
    const double score = static_cast<double>(columns_->half_sq_norm(tile)[in_tile]) - reach;
    worker.half_sq_norm[column] = static_cast<float>(score - std::abs(score) * 0x1p-22);
  }

  /// Compares the rows of a panel with the centroids of the first tiles. False if there are too many candidates.
  bool screen_panel(Worker& worker, std::span<const std::int64_t> rows, std::int64_t tiles) {
    const std::int64_t d = held_.columns(), step = columns_->step();
    worker.panel.pack(static_cast<int>(rows.size()), [&](int lane) { return rows[lane]; });
    const PanelNorms& norms = worker.panel.norms();
    float error[kMaxLanes], limit[kMaxLanes];
    std::fill_n(limit, kMaxLanes, -std::numeric_limits<float>::infinity());
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      columns_->errors(tile, norms, error);
      for (std::size_t lane = 0; lane < rows.size(); ++lane) {
        const double most = error[lane] - lower_half_sq_norm(norms.norm[lane], d);
        limit[lane] = norms.norm[lane] < kMaxScreenedNorm ? static_cast<float>(most + std::abs(most) * 0x1p-22)
                                                          : std::numeric_limits<float>::infinity();
      }
      columns_->multiply(tile, worker.panel.panel(), worker.panel.tile());
      const std::int64_t count = kernels_->scores.collect(worker.panel.tile(), &worker.half_sq_norm[tile * step],
                                                          columns_->columns(tile), limit, worker.hits.data());
      for (std::int64_t h = 0; h < count; ++h) {
        const Hit& hit = worker.hits[h];
        if (hit.lane < std::ssize(rows)) compare(worker, rows[hit.lane], tile * step + hit.column);
      }
      if (worker.candidates > limit_) return false;
    }
    return true;
  }
  void compare(Worker& worker, std::int64_t row, std::int64_t column) {
    const std::int32_t c = order_[column];
    if (held_.distance[row] > worker.best[c].distance || held_.label[row] == c) return;
    ++worker.candidates;
    const double distance =
        held_.set.template rows<T>().distance(held_.row(row), centroids_.row(c).data(), held_.columns());
    const Neighbor measured{distance, held_.first_row + row};
    if (!(measured < worker.best[c])) return;
    worker.best[c] = measured;
    set_limit(worker, column);
  }

  static constexpr int kClasses = 16;

  const HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  NearestRows& result_;
  const ScreenKernels* kernels_ = nullptr;
  std::optional<LocalColumns> columns_;  // of order_
  std::vector<int> class_;               // (k)
  // (tiles, columns) centroids by class, then by the distance of the best row, both descending; -1: none
  std::vector<std::int32_t> order_;
  UninitializedVector<std::int32_t> level_;  // (n) the tiles that a row is multiplied with
  std::int64_t limit_ = 0;                   // of candidates
  std::mutex merging_;
};

}  // namespace

template <class T>
bool CpuPoints<T>::nearest_rows(const NearestRowsRequest& request, NearestRows& result) const {
  if (held_.are_few_and_long(request.centroids.rows)) return false;
  NearestRows found(request.centroids.rows);
  found.best = result.best;
  const bool is_complete = NearestRowFinder<T>(held_, request, found).run();
  result.best = std::move(found.best);
  result.candidates += found.candidates;
  return is_complete;
}

#define KITH_INSTANTIATE(T) template bool CpuPoints<T>::nearest_rows(const NearestRowsRequest&, NearestRows&) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
