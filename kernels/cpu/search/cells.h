// Rows in cells: groups of near rows around a center, packed for a screen relative to it.
//
// Whole cells, and tiles of their rows, are left out of a search if the triangle inequality proves that they hold no
// neighbour; what is multiplied has small rounding errors, since both operands are relative to the center. Cells change
// the work of a search, never its result.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "core/points/point_neighbors.h"
#include "kernels/cpu/runtime/local_columns.h"

namespace kith::cpu {

/// How rows are grouped.
enum class CellKind {
  none,     // not: cells cost more than they save
  ranges,   // ranges of rows around the mean: cells differ in lengths only, such as those of outliers
  clusters  // around rows of a sample
};

template <class T>
class Cells {
 public:
  /// Makes at most `count` cells. Centers of clusters are rows of a sample, half of them drawn uniformly and half with
  /// a probability proportional to their distance to those (D. Arthur, S. Vassilvitskii: k-means++, 2007; B. Bahmani et
  /// al.: Scalable k-means++, 2012). Each row belongs to its nearest center.
  Cells(const HeldRows<T>& held, const ScreenKernels& kernels, CellKind kind, std::int64_t count);

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

/// About the bytes of the cells of these rows and of their construction: packed rows with some unused places; row
/// numbers before and after sorting, labels, and what their assignment keeps.
template <class T>
std::int64_t cells_bytes(const HeldRows<T>& held, const ScreenKernels& kernels) {
  constexpr std::int64_t kBesides = 48;
  const std::int64_t place = kernels.column_bytes(held.columns()) + 12;
  return held.rows() * (place + place / 2 + kBesides);
}

/// Queries for the estimate of best_cells().
struct CellQueries {
  std::int64_t count = 0;
  std::function<void(std::int64_t query, double* out)> copy;  // out: (d)
  double limit = std::numeric_limits<double>::infinity();     // of a radius search
};

/// The kind of cells that is expected to make a search by Euclidean distance cheapest, from the distances of a sample
/// of queries to a sample of rows.
template <class T>
CellKind best_cells(const HeldRows<T>& held, const CellQueries& queries, const ScreenKernels& kernels);
inline CellQueries sampled(const Queries& queries) {
  return {queries.values.rows, [values = queries.values](std::int64_t q, double* out) {
            std::copy_n(values.row(q).data(), values.columns, out);
          }};
}

/// The cells of the rows, made for a search of so many queries if there are none yet. kind: not none.
template <class T>
const Cells<T>& cells_of(const HeldRows<T>& held, const ScreenKernels& kernels, CellKind kind, std::int64_t queries);

/// search() by cells, for the queries with these numbers.
template <class T>
void search_cells(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
                  const std::vector<std::int64_t>& chosen, NeighborLists& lists);

/// search_radius() by cells.
template <class T>
void search_cells(const HeldRows<T>& held, const Cells<T>& cells, const ScreenKernels& kernels, const Queries& queries,
                  RadiusLists& lists);

}  // namespace kith::cpu
