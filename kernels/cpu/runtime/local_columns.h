// Columns of a screen that are packed relative to a center of their own, so that the margin shrinks with their distance
// from it.
#pragma once

#include <vector>

#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {

/// Tiles of packed columns around one center. Panels must be packed with the same center.
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

}  // namespace kith::cpu
