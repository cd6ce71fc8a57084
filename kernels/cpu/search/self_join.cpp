// The nearest rows of every row in its own set, looking at each pair once: a product of two rows is a score of either
// for the other.
//
// Blocks of columns, which are packed as in search.cpp, meet the panels of the rows from their own first on: n^2 d / 2
// multiply-adds and a little. A row of a panel takes columns whose score is within its limit, and a column takes rows
// of the panel: h_q - x_q.x_c <= limit_c is -limit_c - x_q.x_c <= -h_q, so that with -limit in place of h the same loop
// finds both. When it is a row's turn to be a column, it has a limit from all rows before it. The lists of all rows are
// kept at a time, and any thread adds to any; the definition orders what is left, whoever came first.
//
// A row's margin is that of both: of a row in a panel against the columns, and of a column against the rows in panels,
// with what either kind of packing took. Looking for rows rounds once more than looking for columns, by 2^-24 of |h| +
// 2 |x_q| |x_c|; all roundings of scores and limits together take 5 |h| + 4 |x_q| |x_c| of the 8 |h| + 6 |x_q| |x_c|
// that 2 E has for them.
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/search/nearest_list.h"
#include "kernels/cpu/search/survivors.h"

namespace kith::cpu {
namespace {

template <class T>
class Join {
 public:
  Join(const HeldRows<T>& held, const SelfJoin& join)
      : held_(held),
        join_(join),
        k_(join.neighbors),
        scores_(join.measure == Measure::inner_product ? Scores::centred_product : Scores::plain),
        kernels_(held.set.screen_for(held.columns(), held.rows())),
        lanes_(kernels_.lanes),
        step_(tile_columns(kernels_)),
        lists_(0, 0) {}

  std::optional<NeighborLists> run() {
    if (!pays()) return std::nullopt;
    make_room();
    ScreenColumns columns(held_, kernels_, block_, scores_);
    for (std::int64_t first = 0; first < held_.rows(); first += group_) {
      pack_panels(first, std::min(first + group_, held_.rows()));
      columns.widen(largest_);
      for (std::int64_t block = 0; block < last_row_; block += block_) {
        columns.pack(held_, held_.row(block), std::min(block_, held_.rows() - block));
        if (!columns.is_usable()) return std::nullopt;
        meet(columns, block);
        if (last_row_ == held_.rows()) decide(block, block + columns.count());
      }
    }
    search_rest();
    return std::move(lists_);
  }

 private:
  using Row = std::int32_t;
  using List = Survivors<Row>;
  static constexpr std::int64_t kKeptBytes = sizeof(typename List::Kept);
  static constexpr std::int64_t kPanelBytes = std::int64_t{1} << 28;  // panels that are kept at a time
  static constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;  // columns, which stay in the second-level cache
  static constexpr std::int64_t kLookedTiles = 32;                    // for first limits, or as many as these need
  static constexpr std::int64_t kLocks = 256;
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  /// Half of the products against a second look at each and more rows that come for the lists.
  bool pays() const {
    constexpr std::int64_t kTaken = 16384;  // what taking rows for a place of a list costs, in multiply-adds
    if (join_.measure != Measure::squared_euclidean && join_.measure != Measure::inner_product) return false;
    const std::int64_t bytes = List::first_room(k_) * kKeptBytes + static_cast<std::int64_t>(sizeof(List));
    if (held_.rows() > std::min<std::int64_t>(join_.bytes / 2 / bytes, std::numeric_limits<Row>::max())) return false;
    return held_.forced.self_join || held_.columns() > kernels_.second_look + kTaken * k_ / held_.rows();
  }

  /// Columns of which runs give a first limit.
  std::int64_t columns_to_bound() const { return 3 * kWinnerColumns * (k_ + 1) / 2; }

  void make_room() {
    // A block in itself has each pair twice.
    constexpr std::int64_t kFewestBlocks = 16, kFewestForLimits = 8;
    const std::int64_t n = held_.rows(), d = held_.columns(), unit = std::lcm<std::int64_t>(step_, lanes_);
    const std::int64_t wanted = std::max(std::min(kBlockBytes / kernels_.column_bytes(d), n / kFewestBlocks),
                                         std::min(columns_to_bound(), n / kFewestForLimits));
    block_ = std::max<std::int64_t>((held_.block_rows > 0 ? held_.block_rows : wanted) / unit, 1) * unit;
    const std::int64_t panels = std::min(kPanelBytes, join_.bytes / 4) / kernels_.panel_bytes(d);
    const std::int64_t fitting = held_.block_rows > 0 ? 2 * block_ : panels * lanes_;
    const std::int64_t rows = std::clamp<std::int64_t>(fitting, 1, n);
    group_ = groups_of(rows, block_) * block_;
    panels_ = Matrix<std::byte>(group_ / lanes_, kernels_.panel_bytes(d));
    norms_.resize(static_cast<std::size_t>(group_ / lanes_));
    lists_ = NeighborLists(n, k_);
    half_sq_norm_.resize(static_cast<std::size_t>(n));
    norm_.resize(static_cast<std::size_t>(n));
    limit_ = std::vector<std::atomic<float>>(static_cast<std::size_t>(n));
    survivors_.resize(static_cast<std::size_t>(n));
    const std::int64_t room = List::first_room(k_);
    workspaces_.resize(static_cast<std::size_t>(n * room));
    const std::int64_t most = std::min(List::most_room(k_), join_.bytes / 4 / kKeptBytes / n);
    for (std::int64_t r = 0; r < n; ++r) {
      survivors_[r].reset(k_, workspaces_.data() + r * room, most);
      limit_[r] = survivors_[r].limit();
    }
    scratch_.resize(static_cast<std::size_t>(held_.threads.count()));
  }

  /// Of rows first .. last - 1, and what they add to scores.
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
        raise(largest[p], norms);
      }
      kernels_.pack_rows.of<T>()(rows, d, held_.scale(), center.data(), panels_.row(p).data(), &norms_[p]);
      const float* residual = norms_[p].residual;
      largest[p].residual += summed_residual(*std::max_element(residual, residual + lanes_), d);
    });
    for (const LargestNorms& each : largest) raise(largest_, each);
  }
  std::int64_t panels() const { return groups_of(last_row_ - first_row_, lanes_); }

  /// Adds what the columns of a block and the rows of all panels from the block's first row on are to each other.
  void meet(const ScreenColumns& columns, std::int64_t block) {
    for (std::int64_t c = 0; c < columns.count(); ++c) {
      change(block + c, [&](List& list) { list.raise_margin(columns.margin(norm_[block + c], columns.residual(c))); });
    }
    const auto panel_of = [&](std::int64_t row) {  // the first one from that row on; blocks are whole panels
      return std::clamp<std::int64_t>(groups_of(row - first_row_, lanes_), 0, panels());
    };
    const auto with_panels = [&](std::int64_t begin, std::int64_t end) {
      held_.threads.run(end - begin, [&](std::int64_t task, int thread) {
        look(Meeting{columns, block, begin + task, first_row_ + (begin + task) * lanes_, scratch_[thread]});
      });
    };
    const std::int64_t own = panel_of(block), others = panel_of(block + block_);
    if (block == 0) {  // its rows have no limits before they met each other
      with_panels(own, others);
      with_panels(others, panels());
    } else {
      with_panels(own, panels());
    }
    done_ += static_cast<double>(columns.count()) * static_cast<double>(panels() - own) * lanes_;
    const auto n = static_cast<double>(held_.rows()), all = n * (n + static_cast<double>(block_ + lanes_)) / 2;
    if (join_.progress) join_.progress(static_cast<std::int64_t>(n * std::min(done_ / all, 1.0)));
  }

  /// What a thread needs for itself.
  struct Scratch {
    std::vector<float> centred;   // (d)
    std::vector<float> products;  // (tiles, kTileColumns, lanes)
    std::vector<float> minima;    // (runs of columns, lanes)
    std::vector<Hit> hits;        // of a tile
    std::vector<double> row;      // (d)
  };
  struct Meeting {
    const ScreenColumns& columns;
    std::int64_t block;  // the row of column 0
    std::int64_t panel;
    std::int64_t first_row;  // of the panel
    Scratch& scratch;
  };

  void look(const Meeting& meeting) {
    const ScreenColumns& columns = meeting.columns;
    const std::byte* panel = panels_.row(meeting.panel).data();
    const PanelNorms& norms = norms_[meeting.panel];
    const std::int64_t rows = std::min<std::int64_t>(lanes_, last_row_ - meeting.first_row);
    for (std::int64_t lane = 0; lane < rows; ++lane) {
      raise_margin(meeting, meeting.first_row + lane, columns.margin(norms.norm[lane], norms.residual[lane]));
    }
    const std::int64_t tiles = groups_of(columns.count(), step_);
    const std::int64_t wanted = std::max(kLookedTiles, groups_of(columns_to_bound(), step_));
    const std::int64_t first_look = meeting.block == 0 ? std::min(tiles, wanted) : 0;
    const std::int64_t tile_size = kTileColumns * lanes_;
    meeting.scratch.hits.resize(static_cast<std::size_t>(tile_size));
    meeting.scratch.products.resize(static_cast<std::size_t>(std::max<std::int64_t>(first_look, 1) * tile_size));
    float* products = meeting.scratch.products.data();
    const auto multiply = [&](std::int64_t tile, float* to) {
      columns.multiply_tile(tile, panel, to, [](std::int64_t, std::int64_t, const float*) {});
    };
    for (std::int64_t tile = 0; tile < first_look; ++tile) multiply(tile, products + tile * tile_size);
    bound(meeting, first_look);
    for (std::int64_t tile = 0; tile < first_look; ++tile) take(meeting, tile, products + tile * tile_size);
    for (std::int64_t tile = first_look; tile < tiles; ++tile) {
      multiply(tile, products);
      take(meeting, tile, products);
    }
  }

  std::int64_t columns_of(const Meeting& meeting, std::int64_t tile) const {
    return std::min(step_, meeting.columns.count() - tile * step_);
  }

  /// First limits for the rows of a panel, from the best scores of runs of columns in the first tiles, of which one may
  /// be the row itself.
  void bound(const Meeting& meeting, std::int64_t tiles) {
    const std::int64_t wanted = k_ + (join_.include_self ? 0 : 1);
    if (tiles * kWinnersOfTile < wanted) return;
    std::vector<float>& minima = meeting.scratch.minima;
    minima.resize(static_cast<std::size_t>(tiles * kWinnersOfTile * lanes_));
    std::int64_t runs = 0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t columns = columns_of(meeting, tile);
      kernels_.scores.minima(meeting.scratch.products.data() + tile * kTileColumns * lanes_,
                             half_sq_norm_.data() + meeting.block + tile * step_, columns,
                             minima.data() + runs * lanes_);
      runs += groups_of(columns, kWinnerColumns);
    }
    if (runs < wanted) return;
    float limit[kMaxLanes];
    kernels_.scores.bound(minima.data(), runs, wanted, limit);
    for (std::int64_t r = meeting.first_row; r < std::min(meeting.first_row + lanes_, last_row_); ++r) {
      change(meeting, r, [&](List& list) { list.set_bound(limit[r - meeting.first_row]); });
    }
  }

  /// What the products of a tile tell the rows of the panel, and, unless these are columns of the block as well, its
  /// columns.
  void take(const Meeting& meeting, std::int64_t tile, const float* products) {
    const std::int64_t first = meeting.block + tile * step_, columns = columns_of(meeting, tile);
    const std::int64_t rows = std::min<std::int64_t>(lanes_, last_row_ - meeting.first_row);
    const float* half_sq_norm = half_sq_norm_.data() + meeting.first_row;
    Hit* hits = meeting.scratch.hits.data();
    float added[kTileColumns], limit[kMaxLanes];
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      limit[lane] = lane < rows ? limit_of(meeting.first_row + lane) : -kInfinity;
    std::int64_t found = kernels_.scores.within(products, half_sq_norm_.data() + first, columns, limit, hits);
    for (std::int64_t h = 0; h < found; ++h) {
      const std::int64_t r = meeting.first_row + hits[h].lane, c = first + hits[h].column;
      if (hits[h].lane < rows && (r != c || join_.include_self)) add(meeting, r, hits[h].score, c);
    }
    if (meeting.first_row < meeting.block + block_) return;
    for (std::int64_t c = 0; c < columns; ++c) added[c] = -limit_of(first + c);
    for (std::int64_t lane = 0; lane < lanes_; ++lane) limit[lane] = lane < rows ? -half_sq_norm[lane] : -kInfinity;
    found = kernels_.scores.within(products, added, columns, limit, hits);
    for (std::int64_t h = 0; h < found;) {  // column by column
      const std::int32_t c = hits[h].column;
      change(meeting, first + c, [&](List& list) {
        for (; h < found && hits[h].column == c; ++h) {
          const int lane = hits[h].lane;
          if (lane >= rows) continue;
          list.add({half_sq_norm[lane] - products[c * lanes_ + lane], static_cast<Row>(meeting.first_row + lane)});
        }
      });
    }
  }

  float limit_of(std::int64_t row) const { return limit_[row].load(std::memory_order_relaxed); }
  template <class Change>
  void change(std::int64_t row, const Change& change) {
    change(survivors_[row]);
    limit_[row].store(survivors_[row].limit(), std::memory_order_relaxed);
  }
  /// Threads share the rows of a block; the others of a panel belong to the thread that has it.
  template <class Change>
  void change(const Meeting& meeting, std::int64_t row, const Change& what) {
    if (row >= meeting.block + block_) return change(row, what);
    const std::lock_guard lock(locks_[row % kLocks]);
    change(row, what);
  }
  void raise_margin(const Meeting& meeting, std::int64_t row, float margin) {
    change(meeting, row, [&](List& list) { list.raise_margin(margin); });
  }
  void add(const Meeting& meeting, std::int64_t row, float score, std::int64_t other) {
    change(meeting, row, [&](List& list) { list.add({score, static_cast<Row>(other)}); });
  }

  /// Orders the survivors of rows that met all others.
  void decide(std::int64_t first, std::int64_t last) {
    constexpr std::int64_t kTogether = 16;
    const auto distance = held_.set.template rows<T>().by(join_.measure);
    held_.threads.run(groups_of(last - first, kTogether), [&](std::int64_t task, int thread) {
      std::vector<double>& row = scratch_[thread].row;
      const std::int64_t begin = first + task * kTogether;
      for (std::int64_t r = begin; r < std::min(begin + kTogether, last); ++r) {
        List& list = survivors_[r];
        if (list.given_up()) continue;
        list.drop_excluded();
        row.assign(held_.row(r), held_.row(r) + held_.columns());
        NearestList nearest(k_);
        for (const auto& s : list.kept()) {
          nearest.add({distance(held_.row(s.row), row.data(), held_.columns()), held_.first_row + s.row});
        }
        store(nearest, r, lists_);
        list.clear();
      }
    });
  }

  /// The rows that too many others are equally near to, each by itself.
  void search_rest() {
    Matrix<double> row(1, held_.columns());
    for (std::int64_t r = 0; r < held_.rows(); ++r) {
      if (!survivors_[r].given_up()) continue;
      std::copy_n(held_.row(r), held_.columns(), row.data());
      NeighborLists list(1, k_);
      search(held_, {std::as_const(row).view(), join_.include_self ? -1 : held_.first_row + r, join_.measure}, list);
      std::copy_n(list.distance.data(), k_, lists_.distance.row(r).data());
      std::copy_n(list.index.data(), k_, lists_.index.row(r).data());
      if (join_.progress) join_.progress(held_.rows());
    }
  }

  const HeldRows<T>& held_;
  const SelfJoin& join_;
  std::int64_t k_;
  Scores scores_;
  const ScreenKernels& kernels_;
  std::int64_t lanes_, step_;                  // rows of a panel, columns of a tile
  std::int64_t block_ = 0, group_ = 0;         // columns of a block, rows of the panels that are kept at a time
  std::int64_t first_row_ = 0, last_row_ = 0;  // that these panels have
  Matrix<std::byte> panels_;
  std::vector<PanelNorms> norms_;
  LargestNorms largest_;                                 // of all panels so far
  std::vector<float> half_sq_norm_, norm_;               // (n)
  std::vector<List> survivors_;                          // (n)
  UninitializedVector<typename List::Kept> workspaces_;  // (n, first room)
  std::vector<std::atomic<float>> limit_;                // (n) of the survivors
  std::array<std::mutex, kLocks> locks_;                 // of survivors
  std::vector<Scratch> scratch_;                         // one for each thread
  NeighborLists lists_;
  double done_ = 0.0;  // pairs
};

}  // namespace

template <class T>
std::optional<NeighborLists> self_join(const HeldRows<T>& held, const SelfJoin& join) {
  try {
    return Join<T>(held, join).run();
  } catch (const std::bad_alloc&) {  // search() needs less at a time
    return std::nullopt;
  }
}

#define KITH_INSTANTIATE(T) template std::optional<NeighborLists> self_join(const HeldRows<T>&, const SelfJoin&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
