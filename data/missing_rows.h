// Rows with a value that is no number are left out of a matrix as its rows arrive.
#pragma once

#include <cstdint>
#include <vector>

#include "data/source.h"

namespace kith::data {

class MissingRows {
 public:
  explicit MissingRows(const PointSource& source);

  /// Row `row` of the source has arrived in its place, row `row` of `values` (n, d); rows come in order. Moves it
  /// behind the rows that were kept so far. Returns false when it holds NaN or infinity and is left out.
  template <class T>
  bool keep(MatrixView<T> values, std::int64_t row);
  /// Throws Error(data) when no row was kept, naming the emptiest column.
  void check() const;

  /// Numbers of the rows that were kept, ascending.
  const std::vector<std::int64_t>& kept() const { return kept_; }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t first_dropped() const { return first_; }  // -1: none

 private:
  const PointSource& source_;
  std::vector<std::int64_t> kept_;
  std::int64_t dropped_ = 0;
  std::int64_t first_ = -1;
  std::vector<std::int64_t> missing_;  // (d) values of each column
};

}  // namespace kith::data
