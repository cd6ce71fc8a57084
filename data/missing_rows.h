// Drops rows with NaN or infinity from a matrix while its rows are read.
#pragma once

#include <cstdint>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

class MissingRows {
 public:
  explicit MissingRows(const PointSource& source);

  /// Call for each row in order, after row `row` of the source was read into row `row` of `values` (n, d). Moves the
  /// row to the end of the kept rows; returns false, and drops it, if it holds NaN or infinity.
  template <class T>
  bool keep(MatrixView<T> values, std::int64_t row);
  /// Throws Error(data) if no row was kept, with the column that has the most missing values.
  void check() const;

  /// Numbers of the kept rows in the source, ascending.
  const std::vector<std::int64_t>& kept() const { return kept_; }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t first_dropped() const { return first_; }  // -1: none

 private:
  const PointSource& source_;
  std::vector<std::int64_t> kept_;
  std::int64_t dropped_ = 0;
  std::int64_t first_ = -1;
  std::vector<std::int64_t> missing_;  // (d) missing values in each column
};

}  // namespace kith::data
