// Which rows are dropped for NaN or infinity while they are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

class MissingRows {
 public:
  explicit MissingRows(const PointSource& source);

  /// Call for each row of the source in order. Returns false, and drops the row, if it holds NaN or infinity.
  template <class T>
  bool keep(std::span<const T> values, std::int64_t row);
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
