// Cells: near rows around a center, packed for a screen relative to it.
//
// Whole cells, and tiles of their rows, are left out of a search if the triangle inequality proves that they hold no
// neighbour; what is multiplied has small rounding errors, since both operands are relative to the center. Cells change
// the work of a search, never its result.
#pragma once

#include <vector>

#include "core/points/points.h"
#include "kernels/cpu/choice/search.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {

template <class T>
class Cells {
 public:
  /// Makes at most `count` cells around rows of a sample or, as `ranges`, around the mean. Centers are rows of a
  /// sample, half of them drawn uniformly and half with a probability proportional to their distance to those (D.
  /// Arthur, S. Vassilvitskii: k-means++, 2007; B. Bahmani et al.: Scalable k-means++, 2012). Each row belongs to its
  /// nearest center.
  Cells(const HeldRows<T>& held, const ScreenKernels& kernels, bool ranges, std::int64_t count);

  std::int64_t count() const { return std::ssize(columns_); }
  const float* center(std::int64_t cell) const { return centers_.row(cell).data(); }  // (d) in the scale of the screen
  const Matrix<double>& center_rows() const { return center_rows_; }                  // (count, d) the same, unscaled
  /// The packed rows of a cell, by distance from the center.
  const LocalColumns& columns(std::int64_t cell) const { return columns_[static_cast<std::size_t>(cell)]; }
  /// The positions of the rows of a tile of a cell.
  const std::int64_t* rows(std::int64_t cell, std::int64_t tile) const {
    return rows_.data() + first_[static_cast<std::size_t>(cell)] + tile * columns(cell).step();
  }
  /// The distances of the rows of a cell from the center are between these.
  float inner(std::int64_t cell) const { return columns(cell).inner(0); }
  float outer(std::int64_t cell) const { return columns(cell).outer(columns(cell).tiles() - 1); }

 private:
  Matrix<double> choose_centers(const HeldRows<T>& held, std::int64_t count) const;
  void order_centers(const HeldRows<T>& held);

  Matrix<double> center_rows_;
  Matrix<float> centers_;
  UninitializedVector<std::int64_t> rows_;  // positions by cell and tile; -1 in unused places
  std::vector<std::int64_t> first_;         // per cell
  std::vector<LocalColumns> columns_;
};

/// The cells of the rows, made for a search of so many queries if there are none yet. method: cells or ranges.
template <class T>
const Cells<T>& cells_of(const HeldRows<T>& held, const ScreenKernels& kernels, SearchMethod method,
                         std::int64_t queries);

/// search() by cells, for the queries with these numbers.
template <class T>
void search_cells(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
                  const std::vector<std::int64_t>& chosen, NeighborLists& lists);

/// search_radius() by cells.
template <class T>
void search_cells(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
                  RadiusLists& lists);

}  // namespace kith::cpu
