// Sums and means over rows, one for each column of each group of rows, and how far values lie from the mean of their
// group. Sums are integers: the order of the rows does not matter (docs/contract.md, Sums over rows).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers/fixed_point.h"
#include "core/points/matrix.h"
#include "core/points/row_reader.h"
#include "core/points/weights.h"
#include "core/runtime/threads.h"

namespace kith {

class Threads;

/// NaN, a missing value, enters no mean; a mean of no values is NaN.
struct GroupMeans {
  Matrix<double> mean;         // (groups, d)
  std::vector<double> all;     // (d) of all rows that belong to a group
  std::vector<double> within;  // (d) the standard deviation of the values from the means of their groups
};

/// In three passes. labels: (n) the group of each row, from 0; rows with -1 belong to none. weights: of the rows. The
/// sums are integers in two limbs, rounded once, so that threads and blocks do not matter.
GroupMeans group_means(const RowBlocks& rows, std::span<const std::int32_t> labels, std::int64_t groups,
                       const Weights& weights, Threads& threads);

/// Calls visit(first, rows, thread) for ranges of the rows, in parallel.
template <class Visit>
void for_row_ranges(std::int64_t rows, std::int64_t columns, Threads& threads, const Visit& visit) {
  constexpr std::int64_t kTaskValues = std::int64_t{1} << 16;  // values per task
  const std::int64_t length = std::max<std::int64_t>(1, kTaskValues / std::max<std::int64_t>(1, columns));
  threads.run((rows + length - 1) / length, [&](std::int64_t task, int thread) {
    visit(task * length, std::min(length, rows - task * length), thread);
  });
}

/// Sums over rows, one per column of each group, in two limbs.
class ColumnSums {
 public:
  /// largest: (d) an upper bound of the magnitude of the terms of each column.
  ColumnSums(const std::vector<double>& largest, const Weights& weights, std::size_t groups = 1)
      : bits_(term_bits(weights.terms)) {
    for (const double most : largest) scales_.push_back(fixed_scale(weights.value_bits() - exponent_above(most)));
    sums_.resize(groups * largest.size());
  }
  void add(std::size_t column, double value, RowWeight weight, std::size_t group = 0) {
    const FixedScale& scale = scales_[column];
    const Limbs limbs = weighted_limbs(value, scale.first, scale.second, power_of_two(bits_), weight);
    Limbs& sum = sums_[group * scales_.size() + column];
    sum.high += limbs.high;
    sum.low += limbs.low;
  }
  void add(const ColumnSums& other) {
    for (std::size_t j = 0; j < sums_.size(); ++j) {
      sums_[j].high += other.sums_[j].high;
      sums_[j].low += other.sums_[j].low;
    }
  }
  double sum(std::size_t column, std::size_t group = 0) const {
    return from_limbs(sums_[group * scales_.size() + column], scales_[column].shift, bits_);
  }
  /// The sum of a column over all groups.
  double total(std::size_t column) const {
    Limbs all;
    for (std::size_t at = column; at < sums_.size(); at += scales_.size()) {
      all.high += sums_[at].high;
      all.low += sums_[at].low;
    }
    return from_limbs(all, scales_[column].shift, bits_);
  }

 private:
  int bits_;
  std::vector<FixedScale> scales_;
  std::vector<Limbs> sums_;
};

}  // namespace kith
