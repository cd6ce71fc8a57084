// The nearest rows of every row in its own set, as a symmetric join: each product of two rows is a score of either row
// for the other.
//
// Blocks of columns, packed as in search.cpp, are multiplied with the row panels from their own first row on: slightly
// more than n^2 d / 2 multiply-adds. A row of a panel collects columns whose score is within its limit, and a column
// collects rows of the panel: h_q - x_q.x_c <= limit_c is -limit_c - x_q.x_c <= -h_q, so the same kernel finds both,
// with -limit in place of h. A row has a limit from all earlier rows when it becomes a column. The lists of all rows
// are in memory, and any thread adds to any list; the definition ranks the candidates, so the order of insertion does
// not matter.
//
// The margin of a row covers both roles, as a row of a panel and as a column, with the rounding errors of both kinds of
// packing. Collecting rows rounds once more than collecting columns, by 2^-24 of |h| + 2 |x_q| |x_c|; all roundings of
// scores and limits together take 5 |h| + 4 |x_q| |x_c| of the 8 |h| + 6 |x_q| |x_c| that 2 E covers.
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>

#include "kernels/cpu/choice/search.h"
#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/lists.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/search/first_copies.h"
#include "kernels/cpu/search/tree.h"

namespace kith::cpu {
namespace {

template <class T>
class Join {
 public:
  Join(const Points& points, const HeldRows<T>& held, const SelfJoin& join)
      : points_(points),
        held_(held),
        join_(join),
        k_(join.neighbors),
        scores_(join.measure == Measure::inner_product ? Scores::centred_product : Scores::plain),
        kernels_(held.set.screen_for(held.columns(), held.rows())),
        lanes_(kernels_.lanes),
        step_(tile_columns(kernels_)),
        lists_(0, 0) {}

  std::optional<NeighborLists> run() {
    allocate();
    ScreenColumns columns(held_, kernels_, block_, scores_);
    for (std::int64_t first = 0; first < held_.rows(); first += group_) {
      pack_panels(first, std::min(first + group_, held_.rows()));
      columns.include_norms(largest_);
      for (std::int64_t block = 0; block < last_row_; block += block_) {
        columns.pack(held_, held_.row(block), std::min(block_, held_.rows() - block));
        if (!columns.is_usable()) return std::nullopt;
        join_block(columns, block);
        if (last_row_ == held_.rows()) rank(block, block + columns.count());
      }
    }
    search_overflowed();
    return std::move(lists_);
  }

 private:
  using Row = std::int32_t;
  using List = CandidateList<Row>;
  static constexpr std::int64_t kEntryBytes = sizeof(typename List::Entry);
  static constexpr std::int64_t kPanelBytes = std::int64_t{1} << 28;  // panels in memory at a time
  static constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;  // a block, which fits the second-level cache
  static constexpr std::int64_t kLimitTiles = 32;                     // minimum number of tiles for initial limits
  static constexpr std::int64_t kLocks = 256;

  /// The columns that are scored to find the first limit of each list: 1.5 times the k + 1 column blocks that a limit
  /// needs.
  std::int64_t columns_for_limits() const { return 3 * kColumnBlock * (k_ + 1) / 2; }

  void allocate() {
    // Blocks are small, because a block joined with itself computes each pair twice.
    constexpr std::int64_t kMinBlocks = 16, kMinLimitBlocks = 8;
    const std::int64_t n = held_.rows(), d = held_.columns(), multiple = std::lcm<std::int64_t>(step_, lanes_);
    const std::int64_t target = std::max(std::min(kBlockBytes / kernels_.column_bytes(d), n / kMinBlocks),
                                         std::min(columns_for_limits(), n / kMinLimitBlocks));
    block_ = std::max<std::int64_t>((held_.block_rows > 0 ? held_.block_rows : target) / multiple, 1) * multiple;
    const std::int64_t panels = std::min(kPanelBytes, join_.bytes / 4) / kernels_.panel_bytes(d);
    const std::int64_t fitting = held_.block_rows > 0 ? 2 * block_ : panels * lanes_;
    const std::int64_t rows = std::clamp<std::int64_t>(fitting, 1, n);
    group_ = ceil_div(rows, block_) * block_;
    panels_ = Matrix<std::byte>(group_ / lanes_, kernels_.panel_bytes(d));
    norms_.resize(static_cast<std::size_t>(group_ / lanes_));
    lists_ = NeighborLists(n, k_);
    half_sq_norm_.resize(static_cast<std::size_t>(n));
    norm_.resize(static_cast<std::size_t>(n));
    limit_ = std::vector<std::atomic<float>>(static_cast<std::size_t>(n));
    candidates_.resize(static_cast<std::size_t>(n));
    const std::int64_t capacity = List::initial_capacity(k_);
    storage_.resize(static_cast<std::size_t>(n * capacity));
    const std::int64_t most = std::min(List::max_capacity(k_), join_.bytes / 4 / kEntryBytes / n);
    for (std::int64_t r = 0; r < n; ++r) {
      candidates_[r].reset(k_, storage_.data() + r * capacity, most);
      limit_[r] = candidates_[r].limit();
    }
    scratch_.resize(static_cast<std::size_t>(held_.threads.count()));
  }

  /// Packs the panels of rows first .. last - 1, and computes the terms that rows add to scores.
  void pack_panels(std::int64_t first, std::int64_t last) {
    first_row_ = first;
    last_row_ = last;
    const std::int64_t d = held_.columns();
    const std::vector<float>& center = held_.plan.screen.center;
    std::vector<LargestNorms> largest(static_cast<std::size_t>(panels()));
    held_.threads.run(panels(), [&](std::int64_t p, int thread) {
      std::vector<float>& centred = scratch_[thread].centred;
      centred.resize(static_cast<std::size_t>(d));
      const T* rows[kMaxLanes];
      for (int lane = 0; lane < lanes_; ++lane) {
        const std::int64_t r = std::min(first + p * lanes_ + lane, last - 1);
        rows[lane] = held_.row(r);
        const CentredNorms norms =
            held_.set.template rows<T>().centre(rows[lane], d, held_.scale(), center.data(), centred.data());
        half_sq_norm_[r] = half_sq_norm_of(scores_, norms, centred.data(), center);
        norm_[r] = static_cast<float>(std::sqrt(norms.squared_norm));
        update_largest(largest[p], norms);
      }
      kernels_.pack_rows.of<T>()(rows, d, held_.scale(), center.data(), panels_.row(p).data(), &norms_[p]);
      const float* residual = norms_[p].residual;
      largest[p].residual += upper_residual(*std::max_element(residual, residual + lanes_), d);
    });
    for (const LargestNorms& each : largest) update_largest(largest_, each);
  }
  std::int64_t panels() const { return ceil_div(last_row_ - first_row_, lanes_); }

  /// Joins a block of columns with the row panels from its first row on.
  void join_block(const ScreenColumns& columns, std::int64_t block) {
    for (std::int64_t c = 0; c < columns.count(); ++c) {
      update(block + c, [&](List& list) { list.raise_margin(columns.margin(norm_[block + c], columns.residual(c))); });
    }
    const auto panel_of = [&](std::int64_t row) {  // the first panel from that row on; blocks are whole panels
      return std::clamp<std::int64_t>(ceil_div(row - first_row_, lanes_), 0, panels());
    };
    const auto with_panels = [&](std::int64_t begin, std::int64_t end) {
      held_.threads.run(end - begin, [&](std::int64_t task, int thread) {
        join_panel(PanelTask{columns, block, begin + task, first_row_ + (begin + task) * lanes_, scratch_[thread]});
      });
    };
    const std::int64_t own = panel_of(block), others = panel_of(block + block_);
    if (block == 0) {  // rows of the first block have no limits before they are joined
      with_panels(own, others);
      with_panels(others, panels());
    } else {
      with_panels(own, panels());
    }
    done_ += static_cast<double>(columns.count()) * static_cast<double>(panels() - own) * lanes_;
    const auto n = static_cast<double>(held_.rows()), all = n * (n + static_cast<double>(block_ + lanes_)) / 2;
    if (join_.progress) join_.progress(static_cast<std::int64_t>(n * std::min(done_ / all, 1.0)));
  }

  /// Workspace of a thread.
  struct Scratch {
    std::vector<float> centred;                                    // (d)
    std::vector<float> products;                                   // (tiles, kTileColumns, lanes)
    std::vector<float> minima;                                     // (column blocks, lanes)
    std::vector<Hit> hits;                                         // of a tile
    std::pair<std::vector<double>, std::vector<Neighbor>> ranked;  // a row (d) and its candidates
  };
  struct PanelTask {
    const ScreenColumns& columns;
    std::int64_t block;  // the row of column 0
    std::int64_t panel;
    std::int64_t first_row;  // of the panel
    Scratch& scratch;
  };

  void join_panel(const PanelTask& task) {
    const ScreenColumns& columns = task.columns;
    const std::byte* panel = panels_.row(task.panel).data();
    const PanelNorms& norms = norms_[task.panel];
    const std::int64_t rows = std::min<std::int64_t>(lanes_, last_row_ - task.first_row);
    for (std::int64_t lane = 0; lane < rows; ++lane) {
      raise_margin(task, task.first_row + lane, columns.margin(norms.norm[lane], norms.residual[lane]));
    }
    const std::int64_t tiles = ceil_div(columns.count(), step_);
    const std::int64_t target = std::max(kLimitTiles, ceil_div(columns_for_limits(), step_));
    const std::int64_t limit_tiles = task.block == 0 ? std::min(tiles, target) : 0;
    const std::int64_t tile_size = kTileColumns * lanes_;
    task.scratch.hits.resize(static_cast<std::size_t>(tile_size));
    task.scratch.products.resize(static_cast<std::size_t>(std::max<std::int64_t>(limit_tiles, 1) * tile_size));
    float* products = task.scratch.products.data();
    for (std::int64_t tile = 0; tile < limit_tiles; ++tile) columns.multiply(tile, panel, products + tile * tile_size);
    set_initial_limits(task, limit_tiles);
    for (std::int64_t tile = 0; tile < limit_tiles; ++tile) update_lists(task, tile, products + tile * tile_size);
    for (std::int64_t tile = limit_tiles; tile < tiles; ++tile) {
      columns.multiply(tile, panel, products);
      update_lists(task, tile, products);
    }
  }

  std::int64_t columns_of(const PanelTask& task, std::int64_t tile) const {
    return std::min(step_, task.columns.count() - tile * step_);
  }

  /// Initial limits for the rows of a panel, from column block minima of the first tiles; one of them may be the row
  /// itself.
  void set_initial_limits(const PanelTask& task, std::int64_t tiles) {
    const std::int64_t required = k_ + (join_.include_self ? 0 : 1);
    if (tiles * kTileColumnBlocks < required) return;
    std::vector<float>& minima = task.scratch.minima;
    minima.resize(static_cast<std::size_t>(tiles * kTileColumnBlocks * lanes_));
    std::int64_t column_blocks = 0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t columns = columns_of(task, tile);
      kernels_.scores.block_minima(task.scratch.products.data() + tile * kTileColumns * lanes_,
                                   half_sq_norm_.data() + task.block + tile * step_, columns,
                                   minima.data() + column_blocks * lanes_);
      column_blocks += ceil_div(columns, kColumnBlock);
    }
    if (column_blocks < required) return;
    float limit[kMaxLanes];
    kernels_.scores.kth_limit(minima.data(), column_blocks, required, limit);
    for (std::int64_t r = task.first_row; r < std::min(task.first_row + lanes_, last_row_); ++r) {
      update(task, r, [&](List& list) { list.set_limit(limit[r - task.first_row]); });
    }
  }

  /// Adds the scores of a tile to the lists of the rows of the panel and, unless these are also columns of the block,
  /// to those of the columns.
  void update_lists(const PanelTask& task, std::int64_t tile, const float* products) {
    const std::int64_t first = task.block + tile * step_, columns = columns_of(task, tile);
    const std::int64_t rows = std::min<std::int64_t>(lanes_, last_row_ - task.first_row);
    const float* half_sq_norm = half_sq_norm_.data() + task.first_row;
    Hit* hits = task.scratch.hits.data();
    float negated_limit[kTileColumns], limit[kMaxLanes];
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      limit[lane] = lane < rows ? limit_of(task.first_row + lane) : -kInfinity;
    std::int64_t hit_count = kernels_.scores.collect(products, half_sq_norm_.data() + first, columns, limit, hits);
    for (std::int64_t h = 0; h < hit_count; ++h) {
      const std::int64_t r = task.first_row + hits[h].lane, c = first + hits[h].column;
      if (hits[h].lane < rows && (r != c || join_.include_self)) add(task, r, hits[h].score, c);
    }
    if (task.first_row < task.block + block_) return;
    for (std::int64_t c = 0; c < columns; ++c) negated_limit[c] = -limit_of(first + c);
    for (std::int64_t lane = 0; lane < lanes_; ++lane) limit[lane] = lane < rows ? -half_sq_norm[lane] : -kInfinity;
    hit_count = kernels_.scores.collect(products, negated_limit, columns, limit, hits);
    for (std::int64_t h = 0; h < hit_count;) {  // column by column
      const std::int32_t c = hits[h].column;
      update(task, first + c, [&](List& list) {
        for (; h < hit_count && hits[h].column == c; ++h) {
          const int lane = hits[h].lane;
          if (lane >= rows) continue;
          list.add({half_sq_norm[lane] - products[c * lanes_ + lane], static_cast<Row>(task.first_row + lane)});
        }
      });
    }
  }

  float limit_of(std::int64_t row) const { return limit_[row].load(std::memory_order_relaxed); }
  template <class Update>
  void update(std::int64_t row, const Update& update) {
    update(candidates_[row]);
    limit_[row].store(candidates_[row].limit(), std::memory_order_relaxed);
  }
  /// Threads share the rows of the block; other rows of a panel belong to the thread of that panel.
  template <class Update>
  void update(const PanelTask& task, std::int64_t row, const Update& what) {
    if (row >= task.block + block_) return update(row, what);
    const std::lock_guard lock(locks_[row % kLocks]);
    update(row, what);
  }
  void raise_margin(const PanelTask& task, std::int64_t row, float margin) {
    update(task, row, [&](List& list) { list.raise_margin(margin); });
  }
  void add(const PanelTask& task, std::int64_t row, float score, std::int64_t other) {
    update(task, row, [&](List& list) { list.add({score, static_cast<Row>(other)}); });
  }

  /// Ranks the candidates of rows that were joined with all others.
  void rank(std::int64_t first, std::int64_t last) {
    constexpr std::int64_t kRowsPerTask = 16;
    const auto distance = held_.set.template rows<T>().distance_by(join_.measure);
    held_.threads.run(ceil_div(last - first, kRowsPerTask), [&](std::int64_t task, int thread) {
      auto& [row, nearest] = scratch_[thread].ranked;
      const std::int64_t begin = first + task * kRowsPerTask;
      for (std::int64_t r = begin; r < std::min(begin + kRowsPerTask, last); ++r) {
        List& list = candidates_[r];
        if (list.overflowed()) continue;
        list.prune();
        row.assign(held_.row(r), held_.row(r) + held_.columns());
        nearest.clear();
        for (const auto& c : list.kept()) {
          nearest.push_back({distance(held_.row(c.row), row.data(), held_.columns()), held_.first_row + c.row});
        }
        set_nearest(nearest, r, lists_);
        list.clear();
      }
    });
  }

  /// Searches rows whose candidate lists overflowed, one by one.
  void search_overflowed() {
    Matrix<double> row(1, held_.columns());
    for (std::int64_t r = 0; r < held_.rows(); ++r) {
      if (!candidates_[r].overflowed()) continue;
      std::copy_n(held_.row(r), held_.columns(), row.data());
      NeighborLists list(1, k_);
      points_.search({std::as_const(row).view(), join_.include_self ? -1 : held_.first_row + r, join_.measure}, list);
      std::copy_n(list.distance.data(), k_, lists_.distance.row(r).data());
      std::copy_n(list.index.data(), k_, lists_.index.row(r).data());
      if (join_.progress) join_.progress(held_.rows());
    }
  }

  const Points& points_;  // of these rows
  const HeldRows<T>& held_;
  const SelfJoin& join_;
  std::int64_t k_;
  Scores scores_;
  const ScreenKernels& kernels_;
  std::int64_t lanes_, step_;                  // rows of a panel, columns of a tile
  std::int64_t block_ = 0, group_ = 0;         // columns of a block, rows of the panels in memory
  std::int64_t first_row_ = 0, last_row_ = 0;  // rows of these panels
  Matrix<std::byte> panels_;
  std::vector<PanelNorms> norms_;
  LargestNorms largest_;                               // of all panels so far
  std::vector<float> half_sq_norm_, norm_;             // (n)
  std::vector<List> candidates_;                       // (n)
  UninitializedVector<typename List::Entry> storage_;  // (n, initial capacity)
  std::vector<std::atomic<float>> limit_;              // (n) of the lists
  std::array<std::mutex, kLocks> locks_;               // of the lists
  std::vector<Scratch> scratch_;                       // one per thread
  NeighborLists lists_;
  double done_ = 0.0;  // pairs
};

}  // namespace

template <class T>
std::optional<NeighborLists> CpuPoints<T>::self_join(const SelfJoin& join) const {
  if (is_of_bits(join.measure)) return std::nullopt;
  SearchRequest request{.queries = {.values = {nullptr, held_.rows(), held_.columns()},
                                    .excluded_row = join.include_self ? -1 : held_.first_row,
                                    .measure = join.measure,
                                    .host_bytes = join.bytes,
                                    .cell_bytes = join.bytes},
                        .neighbors = join.neighbors,
                        .is_join = true};
  try {
    for (;;) {
      const SearchMethod method = choose_search(held_, request);
      if (method == SearchMethod::tree) {
        if (const auto tree = tree_of(held_); tree != nullptr) return join_tree(searcher_of(held_, *tree), join);
      } else if (method == SearchMethod::first_copies) {
        if (find_first_copies(held_, request.places()) != nullptr) return std::nullopt;  // search() among few rows
      } else {
        return method == SearchMethod::join ? Join<T>(*this, held_, join).run() : std::nullopt;
      }
      request.fail(method);
    }
  } catch (const std::bad_alloc&) {  // search() needs less memory
    return std::nullopt;
  }
}

#define KITH_INSTANTIATE(T) template std::optional<NeighborLists> CpuPoints<T>::self_join(const SelfJoin&) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
