// Sums over rows, one per column, as integers in two limbs: the order of the rows does not matter.
#pragma once

#include <algorithm>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/weights.h"
#include "core/runtime/workers.h"

namespace kith {

/// Calls visit(first, rows, worker) for ranges of the rows, in parallel.
template <class Visit>
void for_row_ranges(std::int64_t rows, std::int64_t columns, const Workers& workers, const Visit& visit) {
  constexpr std::int64_t kTaskValues = std::int64_t{1} << 16;  // values per task
  const std::int64_t length = std::max<std::int64_t>(1, kTaskValues / std::max<std::int64_t>(1, columns));
  workers.run((rows + length - 1) / length, [&](std::int64_t task, int worker) {
    visit(task * length, std::min(length, rows - task * length), worker);
  });
}

class ColumnSums {
 public:
  /// largest: (d) an upper bound of the magnitude of the terms of each column.
  ColumnSums(const std::vector<double>& largest, const Weights& weights) : bits_(term_bits(weights.terms)) {
    for (const double most : largest) scales_.push_back(fixed_scale(weights.value_bits() - exponent_above(most)));
    sums_.resize(largest.size());
  }
  void add(std::size_t column, double value, RowWeight weight) {
    const FixedScale& scale = scales_[column];
    const Limbs limbs = weighted_limbs(value, scale.first, scale.second, power_of_two(bits_), weight);
    sums_[column].high += limbs.high;
    sums_[column].low += limbs.low;
  }
  void add(const ColumnSums& other) {
    for (std::size_t j = 0; j < sums_.size(); ++j) {
      sums_[j].high += other.sums_[j].high;
      sums_[j].low += other.sums_[j].low;
    }
  }
  double sum(std::size_t column) const { return from_limbs(sums_[column], scales_[column].shift, bits_); }

 private:
  int bits_;
  std::vector<FixedScale> scales_;
  std::vector<Limbs> sums_;
};

/// (d) The sums of weight x term(value, column) over all rows (n, d).
template <class T, class Term>
ColumnSums sum_columns(MatrixView<const T> values, const std::vector<double>& largest, const Weights& weights,
                       const Workers& workers, const Term& term) {
  std::vector<ColumnSums> sums(static_cast<std::size_t>(workers.count), ColumnSums(largest, weights));
  const RowWeights row_weights{weights.given() ? weights.rows.data() : nullptr, weights.integral};
  for_row_ranges(values.rows, values.columns, workers, [&](std::int64_t first, std::int64_t rows, int worker) {
    ColumnSums& own = sums[static_cast<std::size_t>(worker)];
    for (std::int64_t i = first; i < first + rows; ++i) {
      const RowWeight weight = row_weights.of(i);
      for (std::int64_t j = 0; j < values.columns; ++j) {
        own.add(static_cast<std::size_t>(j), term(static_cast<double>(values(i, j)), j), weight);
      }
    }
  });
  for (std::size_t worker = 1; worker < sums.size(); ++worker) sums[0].add(sums[worker]);
  return sums[0];
}

}  // namespace kith
