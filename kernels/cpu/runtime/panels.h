// Operands of a screen: packed columns, around the mean or around centers of their own, the row panel of a thread with
// its tile of products, and panels of queries.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/numbers/screen.h"
#include "kernels/cpu/runtime/held_rows.h"
#include "kernels/cpu/runtime/lists.h"

namespace kith::cpu {

/// Columns of a tile: a multiple of the column panel.
inline std::int64_t tile_columns(const ScreenKernels& screen) {
  return kTileColumns / screen.panel_columns * screen.panel_columns;
}

/// A lower bound of |x'|^2 / 2 from the norm of a panel, which was summed in float32.
inline double lower_half_sq_norm(float norm, std::int64_t d) {
  const double least =
      std::max(0.0, static_cast<double>(norm) * (1 - (static_cast<double>(d) + 10) * 0x1p-24) - 0x1p-140);
  return least * least / 2;
}

/// What the score of a row and a column is.
enum class Scores {
  plain,  // half squared norm - product
  /// As in BestScores: the column is in the lowest four bits, which are set again after the error of the tile was
  /// added.
  marked,
  /// Minus the product: scores rank like negated inner products. The rows x of the panels are not centred, since x.c
  /// and x.c' differ by the same value for all columns.
  product,
  /// The same with centred rows: -center.c' takes the place of the half squared norm, since x.c = x'.c' + center.c' and
  /// a value that is the same for all columns.
  centred_product
};

/// The term added to the negated product to give the score of a row. centred (d): x~, whose norms are given.
inline float half_sq_norm_of(Scores scores, const CentredNorms& norms, const float* centred,
                             const std::vector<float>& center) {
  if (scores == Scores::product) return 0.0F;
  if (scores != Scores::centred_product) return static_cast<float>(norms.squared_norm / 2);
  double product = 0.0;
  for (std::size_t j = 0; j < center.size(); ++j) product += static_cast<double>(center[j]) * centred[j];
  return static_cast<float>(-product);
}

/// Updates the largest norms with those of another row.
inline void update_largest(LargestNorms& largest, const CentredNorms& norms) {
  largest.norm = std::max(largest.norm, std::sqrt(norms.squared_norm));
  largest.residual = std::max(largest.residual, std::sqrt(norms.squared_residual));
  // std::max ignores NaN, which a row beyond the range of float32 produces.
  if (!(norms.squared_residual <= norms.squared_norm)) largest.norm = std::numeric_limits<double>::infinity();
}
inline void update_largest(LargestNorms& largest, const LargestNorms& other) {
  largest.norm = std::max(largest.norm, other.norm);
  largest.residual = std::max(largest.residual, other.residual);
}

/// An upper bound of a residual that was summed in float32.
inline double upper_residual(double residual, std::int64_t d) {
  return residual * (1 + (static_cast<double>(d) + 16) * 0x1p-23);
}

/// 2 E of rows against columns with given largest norms.
struct ColumnMargin {
  float at(float norm, float residual) const { return of_length.at(norm + residual) + per_residual * residual; }
  /// E of a tile with these columns.
  TileError tile_error() const {
    return {of_length.constant / 2, of_length.linear / 2, of_length.quadratic / 2, per_residual / 2};
  }
  ScreenMargin of_length;
  float per_residual = 0.0F;
};

/// marking: relative change of scores by marks.
inline ColumnMargin column_margin(const ScreenKernels& screen, LargestNorms largest, std::int64_t d, int exponent,
                                  double marking) {
  const double summed = 1 + (static_cast<double>(d) + 16) * 0x1p-23;  // residuals were summed in float32
  return {screen_margin(largest, d, exponent,
                        {.accumulation = screen.accumulation(d), .marking = marking, .smallest = screen.smallest}),
          static_cast<float>(2 * 1.002 * summed * largest.norm)};
}

/// Rows longer than this are not screened: their products might leave the range of float32.
inline constexpr float kMaxScreenedNorm = 0x1p60F;

/// Packs the first `count` centred rows c~ (count, d) as a tile and completes the largest norms of its columns, which
/// hold those of the centred rows before. Returns the quantization step.
inline float pack_centred(const ScreenKernels& screen, const Matrix<float>& centred, std::int64_t count,
                          LargestNorms& largest, std::byte* out) {
  const std::int64_t d = centred.columns();
  const PackedColumns packed =
      screen.pack_columns(centred.data(), count, d, static_cast<float>(largest.norm * (1 + 0x1p-20)), out);
  if (!(packed.squared_residual < std::numeric_limits<float>::infinity())) {
    largest.norm = std::numeric_limits<double>::infinity();
  }
  largest.residual += upper_residual(std::sqrt(static_cast<double>(packed.squared_residual)), d);
  return packed.step;
}

/// Columns of a tile that a panel was multiplied with.
struct MultipliedColumns {
  std::int64_t first, count;
  const float* half_sq_norm;  // (count)
};

/// Packed columns of a screen (centroids, seeding candidates, a block of the base of a search), with the margin of
/// their certificate. pack() replaces the columns; the margin covers all rows that were ever packed.
///
/// Marked columns are sorted by length, and a tile ends where lengths grow by a factor: the margin of a few long ones,
/// such as centroids of outliers, then does not enlarge that of the others.
class ScreenColumns {
 public:
  template <class T>
  ScreenColumns(const HeldRows<T>& held, const ScreenKernels& screen, std::int64_t capacity,
                Scores scores = Scores::plain)
      : screen_(screen),
        d_(held.columns()),
        scores_(scores),
        tiles_(ceil_div(capacity, tile_columns(screen)) + (scores == Scores::marked ? kShortTiles : 0)),
        columns_(scores == Scores::marked ? 0 : padded(capacity), screen.column_bytes(d_)),
        half_sq_norm_(std::size(tiles_) * tile_columns(screen)),
        centred_(held.threads.count()) {}

  /// Packs rows (count, d), count <= capacity, on all threads.
  template <class T, class X>
  void pack(const HeldRows<T>& held, const X* rows, std::int64_t count) {
    const std::int64_t step = tile_columns(screen_);
    count_ = count;
    if (scores_ == Scores::marked) {
      sort(held, rows);
    } else {
      used_ = ceil_div(count, step);
      for (std::int64_t tile = 0; tile < used_; ++tile) tiles_[tile].columns = std::min(step, count - tile * step);
    }
    place();
    held.threads.run(used_, [&](std::int64_t tile, int thread) { pack_tile(held, rows, tile, centred_[thread]); });
    for (std::int64_t tile = 0; tile < used_; ++tile) update_largest(largest_, tiles_[tile].largest);
    margin_ = margin_of(held, largest_);
    if (scores_ != Scores::marked) return;
    for (std::int64_t tile = 0; tile < used_; ++tile) {
      tiles_[tile].error = margin_of(held, tiles_[tile].largest).tile_error();
    }
  }

  /// Includes the norms of panels whose rows also act as columns: from the next pack() on, margins hold for both.
  void include_norms(const LargestNorms& panels) { update_largest(largest_, panels); }

  std::int64_t count() const { return count_; }
  /// Tiles of tile_columns() places each; marked tiles may have fewer columns.
  std::int64_t tiles() const { return used_; }
  double largest_norm() const { return largest_.norm; }  // max |c'|
  /// The row from which a column was packed.
  std::int64_t row_of(std::int64_t column) const { return order_.empty() ? column : order_[column]; }
  /// 2 E of a row. Infinite if nothing can be certified, e.g. if products exceed the range of float32.
  float margin(float norm, float residual) const {
    const float margin = margin_.at(norm, residual);
    return norm < kMaxScreenedNorm && margin < kInfinity ? margin : kInfinity;  // false for NaN
  }
  /// Whether margins are finite for all rows that are no longer than the columns.
  bool is_usable() const {
    return margin(static_cast<float>(largest_.norm), static_cast<float>(largest_.residual)) < kInfinity;
  }
  /// An upper bound of the rounding error of a packed column.
  float residual(std::int64_t column) const {
    return static_cast<float>(tiles_[column / tile_columns(screen_)].largest.residual);
  }
  /// error (lanes) = E of the rows of a panel for the tile that begins with this column. For marked columns only;
  /// meaningless if margin() is infinite.
  void errors(std::int64_t first_column, const PanelNorms& norms, float* error) const {
    screen_.scores.errors(norms, tiles_[first_column / tile_columns(screen_)].error, error);
  }

  /// products[column * lanes + lane] = x^ . c^ of the rows of a panel and the columns of a tile, which are returned.
  MultipliedColumns multiply(std::int64_t tile, const void* panel, float* products) const {
    const Tile& of = tiles_[tile];
    screen_.products(panel, packed(of), of.step, d_, ceil_div(of.columns, screen_.panel_columns), products);
    const std::int64_t first = tile * tile_columns(screen_);
    return {first, of.columns, half_sq_norm_.data() + first};
  }

 private:
  static constexpr std::int64_t kShortTiles = 16;
  struct Tile {
    std::int64_t columns = 0;
    std::int64_t place = 0;  // of its first column in columns_
    float step = 1.0F;
    LargestNorms largest;
    TileError error;
  };

  std::int64_t padded(std::int64_t columns) const {
    return ceil_div(columns, screen_.panel_columns) * screen_.panel_columns;
  }
  std::byte* packed(const Tile& tile) { return columns_.data() + tile.place * columns_.columns(); }
  const std::byte* packed(const Tile& tile) const { return columns_.data() + tile.place * columns_.columns(); }

  /// Places the tiles one after another: short tiles of long columns then take no memory for a whole one.
  void place() {
    std::int64_t end = 0;
    widest_ = 0;
    for (std::int64_t t = 0; t < used_; ++t) {
      tiles_[t].place = end;
      end += padded(tiles_[t].columns);
      widest_ = std::max(widest_, tiles_[t].columns);
    }
    if (columns_.rows() < end) columns_ = Matrix<std::byte>(end, screen_.column_bytes(d_));
  }

  template <class T>
  ColumnMargin margin_of(const HeldRows<T>& held, LargestNorms largest) const {
    // The definition rounds inner products relative to |x| |c|, and c is at most as long as c' and the center together.
    // The terms in place of half squared norms are at most |center| |c'|, less than half of the square of that length.
    if (scores_ == Scores::product || scores_ == Scores::centred_product) {
      const std::vector<float>& center = held.plan.screen.center;
      largest.norm += std::sqrt(squared_length(center.data(), std::ssize(center))) * (1 + 0x1p-20);
    }
    return column_margin(screen_, largest, d_, held.plan.screen.exponent,
                         scores_ == Scores::marked ? 2 * kMarking : 0.0);
  }

  /// Sorts by distance to the mean, which approximates the length.
  template <class T, class X>
  void sort(const HeldRows<T>& held, const X* rows) {
    std::vector<std::pair<double, std::int32_t>> lengths(count_);
    constexpr std::int64_t kRowsPerTask = 256;
    held.threads.run(ceil_div(count_, kRowsPerTask), [&](std::int64_t task, int) {
      for (std::int64_t c = task * kRowsPerTask; c < std::min((task + 1) * kRowsPerTask, count_); ++c) {
        const double length = held.set.template rows<X>().distance(rows + c * d_, held.plan.mean.data(), d_);
        lengths[c] = {length < kInfinity ? length : kInfinity, static_cast<std::int32_t>(c)};
      }
    });
    std::sort(lengths.begin(), lengths.end());
    constexpr double kGrowth = 4;  // of lengths within a tile, beyond a fraction of the median
    const std::int64_t step = tile_columns(screen_);
    order_.assign(std::size(tiles_) * step, -1);
    used_ = 0;
    double longest = 0.0;  // allowed in the tile
    for (std::int64_t c = 0; c < count_; ++c) {
      const bool grows = lengths[c].first > longest && used_ - c / step < kShortTiles;
      if (used_ == 0 || tiles_[used_ - 1].columns == step || grows) {
        tiles_[used_++].columns = 0;
        longest = kGrowth * std::max(lengths[c].first, lengths[count_ / 2].first / (kGrowth * kGrowth));
      }
      Tile& tile = tiles_[used_ - 1];
      order_[(used_ - 1) * step + tile.columns++] = lengths[c].second;
    }
  }

  template <class T, class X>
  void pack_tile(const HeldRows<T>& held, const X* rows, std::int64_t number, Matrix<float>& centred) {
    if (centred.rows() < widest_) centred = Matrix<float>(widest_, d_);
    const std::int64_t first = number * tile_columns(screen_);
    Tile& tile = tiles_[number];
    const std::int64_t count = tile.columns;
    tile.largest = {};
    for (std::int64_t c = 0; c < count; ++c) {
      const CentredNorms norms = held.set.template rows<X>().centre(
          rows + row_of(first + c) * d_, d_, held.scale(), held.plan.screen.center.data(), centred.row(c).data());
      half_sq_norm_[first + c] = half_sq_norm_of(scores_, norms, centred.row(c).data(), held.plan.screen.center);
      update_largest(tile.largest, norms);
    }
    tile.step = pack_centred(screen_, centred, count, tile.largest, packed(tile));
  }

  const ScreenKernels& screen_;
  std::int64_t d_;
  Scores scores_;
  std::int64_t count_ = 0, used_ = 0, widest_ = 0;  // columns, tiles, columns of the widest tile
  std::vector<Tile> tiles_;
  Matrix<std::byte> columns_;  // (places, bytes of a column)
  std::vector<float> half_sq_norm_;
  std::vector<Matrix<float>> centred_;  // one per thread
  LargestNorms largest_;
  ColumnMargin margin_;
  std::vector<std::int32_t> order_;  // of marked columns: their rows; -1: no column
};

/// A row panel packed for a screen and a tile of products, for one thread.
template <class T>
class RowPanel {
 public:
  RowPanel(const HeldRows<T>& held, const ScreenKernels& screen)
      : held_(held),
        screen_(screen),
        panel_(1, screen.panel_bytes(held.columns())),
        tile_(kTileColumns, screen.lanes) {}

  /// Packs rows row_of(0) .. row_of(count - 1), count <= lanes; the last one fills the remaining lanes.
  template <class RowOf>
  void pack(int count, const RowOf& row_of) {
    pack(count, row_of, held_.plan.screen.center.data());
  }
  /// The same with another center (d) than that of the plan.
  template <class RowOf>
  void pack(int count, const RowOf& row_of, const float* center) {
    const T* rows[kMaxLanes];
    for (int lane = 0; lane < screen_.lanes; ++lane) rows[lane] = held_.row(row_of(std::min(lane, count - 1)));
    screen_.pack_rows.of<T>()(rows, held_.columns(), held_.scale(), center, panel_.data(), &norms_);
  }

  const void* panel() const { return panel_.data(); }
  const PanelNorms& norms() const { return norms_; }
  float* tile() { return tile_.data(); }
  float norm(int lane) const { return norms_.norm[lane]; }
  float residual(int lane) const { return norms_.residual[lane]; }

 private:
  const HeldRows<T>& held_;
  const ScreenKernels& screen_;
  Matrix<std::byte> panel_;
  Matrix<float> tile_;
  PanelNorms norms_;
};

/// Tiles of columns packed relative to a center of their own, so that the margin shrinks with their distance from it.
/// Panels must be packed with the same center.
class LocalColumns {
 public:
  template <class T>
  LocalColumns(const HeldRows<T>& held, const ScreenKernels& screen)
      : set_(held.set),
        screen_(screen),
        d_(held.columns()),
        scale_(held.scale()),
        exponent_(held.plan.screen.exponent),
        step_(tile_columns(screen)) {}

  std::int64_t step() const { return step_; }  // columns of a full tile
  std::int64_t tiles() const { return std::ssize(tiles_); }

  /// Removes all tiles. center (d), in the scale of the screen, must remain valid.
  void reset(const float* center) {
    center_ = center;
    tiles_.clear();
  }

  /// Allocates memory for a number of tiles.
  void reserve(std::int64_t tiles) {
    packed_.resize(static_cast<std::size_t>(tiles * tile_bytes()));
    half_sq_norm_.resize(static_cast<std::size_t>(tiles * step_));
  }

  /// Packs rows row_of(0) .. row_of(count - 1), count <= step(), as the next tile. centred: workspace (step, d)
  template <class X, class RowOf>
  void add_tile(std::int64_t count, const RowOf& row_of, Matrix<float>& centred) {
    Tile tile;
    const std::int64_t number = tiles();
    if (std::ssize(packed_) < (number + 1) * tile_bytes()) reserve(2 * (number + 1));
    tile.columns = count;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::int64_t c = 0; c < count; ++c) {
      const CentredNorms norms = set_.template rows<X>().centre(row_of(c), d_, scale_, center_, centred.row(c).data());
      half_sq_norm_[static_cast<std::size_t>(number * step_ + c)] = static_cast<float>(norms.squared_norm / 2);
      update_largest(tile.largest, norms);
      nearest = std::min(nearest, norms.squared_norm);
    }
    tile.inner = static_cast<float>(std::sqrt(nearest) * (1 - 0x1p-20));
    tile.outer = static_cast<float>(tile.largest.norm * (1 + 0x1p-20)) + 0x1p-120F;
    tile.step = pack_centred(screen_, centred, count, tile.largest, packed_.data() + number * tile_bytes());
    tile.error = column_margin(screen_, tile.largest, d_, exponent_, 0.0).tile_error();
    tiles_.push_back(tile);
  }

  std::int64_t columns(std::int64_t tile) const { return tiles_[static_cast<std::size_t>(tile)].columns; }
  /// The distances of the columns from the center are between these.
  float inner(std::int64_t tile) const { return tiles_[static_cast<std::size_t>(tile)].inner; }
  float outer(std::int64_t tile) const { return tiles_[static_cast<std::size_t>(tile)].outer; }
  const float* half_sq_norm(std::int64_t tile) const { return half_sq_norm_.data() + tile * step_; }
  /// error (lanes) = E of the rows of a panel. Infinite or NaN if nothing can be certified.
  void errors(std::int64_t tile, const PanelNorms& norms, float* error) const {
    screen_.scores.errors(norms, tiles_[static_cast<std::size_t>(tile)].error, error);
  }
  /// products[column * lanes + lane] = x^ . c^ of a tile.
  void multiply(std::int64_t tile, const void* panel, float* products) const {
    const Tile& of = tiles_[static_cast<std::size_t>(tile)];
    screen_.products(panel, packed_.data() + tile * tile_bytes(), of.step, d_,
                     ceil_div(of.columns, screen_.panel_columns), products);
  }

 private:
  struct Tile {
    std::int64_t columns = 0;
    float step = 1.0F, inner = 0.0F, outer = 0.0F;
    LargestNorms largest;
    TileError error;
  };

  std::int64_t tile_bytes() const { return step_ * screen_.column_bytes(d_); }

  const Instructions& set_;
  const ScreenKernels& screen_;
  std::int64_t d_;
  double scale_;
  int exponent_;
  std::int64_t step_;
  const float* center_ = nullptr;
  std::vector<Tile> tiles_;
  UninitializedVector<std::byte> packed_;
  std::vector<float> half_sq_norm_;
};

/// One panel of queries and one partition of the tiles of a block.
struct QueryTask {
  std::int64_t panel, partition, first_tile, last_tile;
  int thread;
};

/// Partitions of the rows, to give every thread work on `groups` groups of queries.
inline std::int64_t partitions_for(const Threads& threads, std::int64_t groups) {
  return std::clamp<std::int64_t>(4 * threads.count() / groups, 1, 64);
}

/// Queries packed in row panels, and their products with blocks of the base, for searches and sums of distances.
template <class T>
class QueryPanels {
 public:
  /// center: (d), subtracted from the queries.
  QueryPanels(const HeldRows<T>& held, const ScreenKernels& kernels, MatrixView<const double> queries,
              const std::vector<float>& center)
      : held_(held),
        kernels_(kernels),
        queries_(queries.rows),
        packed_(ceil_div(queries_, kernels.lanes), kernels.panel_bytes(held.columns())),
        norms_(packed_.rows()) {
    held.threads.run(count(), [&](std::int64_t p, int) {
      const double* rows[kMaxLanes];
      for (int lane = 0; lane < kernels.lanes; ++lane) {
        rows[lane] = queries.row(std::min(p * kernels.lanes + lane, queries_ - 1)).data();
      }
      kernels.pack_rows.of<double>()(rows, held.columns(), held.scale(), center.data(), packed_.row(p).data(),
                                     &norms_[p]);
    });
  }

  std::int64_t count() const { return packed_.rows(); }
  const std::byte* panel(std::int64_t number) const { return packed_.row(number).data(); }
  float norm(std::int64_t query) const { return norms_[query / kernels_.lanes].norm[query % kernels_.lanes]; }
  /// 2 E of a query for the rows packed so far.
  float margin(const ScreenColumns& base, std::int64_t query) const {
    return base.margin(norm(query), norms_[query / kernels_.lanes].residual[query % kernels_.lanes]);
  }

  /// Packs the base from row `first` on, block by block. For each block, calls begin(base), then work(base, first row,
  /// task) for each panel and partition on all threads.
  template <class Begin, class Work>
  void for_blocks(std::int64_t first, std::int64_t partitions, Scores scores, const Begin& begin,
                  const Work& work) const {
    const std::int64_t step = tile_columns(kernels_);
    constexpr std::int64_t kBlockBytes = 1 << 20;  // fits the second-level cache
    const std::int64_t target = held_.block_rows > 0
                                    ? held_.block_rows
                                    : std::max(kBlockBytes / kernels_.column_bytes(held_.columns()), 4 * step);
    const std::int64_t block = std::min(ceil_div(target, step), ceil_div(held_.rows() - first, step)) * step;
    ScreenColumns base(held_, kernels_, std::min(block, held_.rows() - first), scores);
    for (; first < held_.rows(); first += block) {
      base.pack(held_, held_.row(first), std::min(block, held_.rows() - first));
      begin(base);
      const std::int64_t tiles = ceil_div(base.count(), step);
      held_.threads.run(count() * partitions, [&](std::int64_t number, int thread) {
        const std::int64_t panel = number / partitions, partition = number % partitions;
        work(base, first,
             QueryTask{panel, partition, tiles * partition / partitions, tiles * (partition + 1) / partitions, thread});
      });
    }
  }

  /// Calls add(query, row position, score) for every score within the limits of a task. update(limit) sets the limits
  /// (lanes) before each tile.
  template <class Update, class Add>
  void collect(const ScreenColumns& base, std::int64_t first, const QueryTask& task, const Update& update,
               const Add& add) const {
    const int lanes = kernels_.lanes;
    Matrix<float> products(kTileColumns, lanes);
    std::vector<Hit> hits(static_cast<std::size_t>(kTileColumns) * lanes);
    float limit[kMaxLanes];
    for (std::int64_t tile = task.first_tile; tile < task.last_tile; ++tile) {
      update(limit);
      const MultipliedColumns columns = base.multiply(tile, panel(task.panel), products.data());
      const std::int64_t count =
          kernels_.scores.collect(products.data(), columns.half_sq_norm, columns.count, limit, hits.data());
      for (std::int64_t h = 0; h < count; ++h) {
        const std::int64_t q = task.panel * lanes + hits[h].lane;
        if (q < queries_) add(q, first + columns.first + hits[h].column, hits[h].score);
      }
    }
  }

 private:
  const HeldRows<T>& held_;
  const ScreenKernels& kernels_;
  std::int64_t queries_;
  Matrix<std::byte> packed_;  // (panels, bytes)
  std::vector<PanelNorms> norms_;
};

}  // namespace kith::cpu
