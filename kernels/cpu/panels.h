// Operands of the screen: columns packed in groups, and a thread's panel of rows with its tile of products.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/screen.h"
#include "kernels/cpu/held_rows.h"

namespace kith::cpu {

/// Columns of a tile: whole groups.
inline std::int64_t tile_columns(const Instructions& set) { return kTileColumns / set.group * set.group; }

inline std::int64_t groups_of(std::int64_t columns, int group) { return (columns + group - 1) / group; }

/// Packs `count` screened rows (count, d) into groups [g][j][r], the last one padded with zeros.
inline void pack_groups(const float* rows, std::int64_t count, std::int64_t d, int group, float* groups) {
  for (std::int64_t g = 0; g < groups_of(count, group); ++g) {
    float* to = groups + g * d * group;
    for (int r = 0; r < group; ++r) {
      const float* from = rows + (g * group + r) * d;
      const bool there = g * group + r < count;
      for (std::int64_t j = 0; j < d; ++j) to[j * group + r] = there ? from[j] : 0.0F;
    }
  }
}

/// Rows to multiply by (centroids, seeding candidates): screened, packed, with the margin of their certificate.
class ScreenColumns {
 public:
  template <class T>
  ScreenColumns(const HeldRows<T>& held, MatrixView<const double> rows)
      : ScreenColumns(held.set, held.plan, held.arithmetic(), rows) {}

  std::int64_t count() const { return static_cast<std::int64_t>(half_norm_.size()); }
  float margin(float norm) const { return margin_.at(norm); }

  /// For every tile of at most kTileColumns columns: products of the panel, then see(first column, columns, half
  /// norms).
  template <class See>
  void multiply(const float* panel, float* tile, const See& see) const {
    const std::int64_t step = tile_columns(set_);
    for (std::int64_t first = 0; first < count(); first += step) {
      const std::int64_t columns = std::min(step, count() - first);
      set_.products(panel, groups_.data() + first * d_, d_, groups_of(columns, set_.group), tile);
      see(first, columns, half_norm_.data() + first);
    }
  }

 private:
  ScreenColumns(const Instructions& set, const DataPlan& plan, ScreenArithmetic arithmetic,
                MatrixView<const double> rows)
      : set_(set), d_(plan.columns) {
    ScreenedRows screened = screen_rows(rows, plan.screen);
    margin_ = screen_margin(screened, d_, plan.screen.exponent, arithmetic);
    groups_ = Matrix<float>(groups_of(rows.rows, set.group), d_ * set.group);
    pack_groups(screened.values.data(), rows.rows, d_, set.group, groups_.data());
    half_norm_ = std::move(screened.half_norm);
  }

  const Instructions& set_;
  std::int64_t d_;
  Matrix<float> groups_;
  std::vector<float> half_norm_;
  ScreenMargin margin_;
};

/// One thread's panel of rows, packed for the screen, with room for a tile of products.
template <class T>
class RowPanel {
 public:
  explicit RowPanel(const HeldRows<T>& held)
      : held_(held),
        panel_(held.columns(), held.set.lanes),
        tile_(kTileColumns, held.set.lanes),
        norm_(held.set.lanes) {}

  /// Packs rows row_of(0), row_of(1), ... row_of(count - 1), count <= lanes; further lanes repeat the last.
  template <class RowOf>
  void pack(int count, const RowOf& row_of) {
    const T* rows[kMaxLanes];
    for (int lane = 0; lane < held_.set.lanes; ++lane) rows[lane] = held_.row(row_of(std::min(lane, count - 1)));
    held_.set.template rows<T>().pack(rows, held_.columns(), held_.scale(), held_.plan.screen.center.data(),
                                      panel_.data(), norm_.data());
  }

  const float* panel() const { return panel_.data(); }
  float* tile() { return tile_.data(); }
  float norm(int lane) const { return norm_[lane]; }

 private:
  const HeldRows<T>& held_;
  Matrix<float> panel_, tile_;
  std::vector<float> norm_;
};

}  // namespace kith::cpu
