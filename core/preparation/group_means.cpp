// The range of each column, then the sums of its values, then those of squares of differences from the means.
#include "core/preparation/group_means.h"

#include <cmath>
#include <limits>

namespace kith {
namespace {

/// Rows in groups, and the threads that visit them.
struct GroupedRows {
  const RowBlocks& rows;
  std::span<const std::int32_t> labels;
  std::size_t groups;
  const Weights& weights;
  Threads& threads;

  /// Calls visit(value, column, group, weight, thread) for all values that are not missing.
  template <class Visit>
  void for_values(const Visit& visit) const {
    const RowWeights all_weights{weights.given() ? weights.rows.data() : nullptr, weights.integral};
    std::int64_t before = 0;
    rows.pass([&](const PointsView& block) {
      std::visit(
          [&](const auto& values) {
            for_row_ranges(values.rows, values.columns, threads,
                           [&](std::int64_t first, std::int64_t count, int thread) {
                             for (std::int64_t i = first; i < first + count; ++i) {
                               const std::int32_t label = labels[static_cast<std::size_t>(before + i)];
                               const RowWeight weight = all_weights.of(before + i);
                               if (label < 0 || weight.factor == 0.0 || weight.copies == 0) continue;
                               for (std::int64_t j = 0; j < values.columns; ++j) {
                                 const auto value = static_cast<double>(values(i, j));
                                 if (std::isnan(value)) continue;
                                 visit(value, static_cast<std::size_t>(j), static_cast<std::size_t>(label), weight,
                                       static_cast<std::size_t>(thread));
                               }
                             }
                           });
            before += values.rows;
          },
          block);
    });
  }

  /// The sums of term(value, column, group) for each column of each group. largest: (d) bounds of the terms.
  template <class Term>
  ColumnSums sums(const std::vector<double>& largest, const Term& term) const {
    std::vector<ColumnSums> own(static_cast<std::size_t>(threads.count()), ColumnSums(largest, weights, groups));
    for_values([&](double value, std::size_t j, std::size_t group, RowWeight weight, std::size_t thread) {
      own[thread].add(j, term(value, j, group), weight, group);
    });
    for (std::size_t thread = 1; thread < own.size(); ++thread) own[0].add(own[thread]);
    return own[0];
  }
};

/// The least and the largest value of each column.
struct Range {
  std::vector<double> low, high;
};

Range range_of(const GroupedRows& rows) {
  const auto columns = static_cast<std::size_t>(rows.rows.columns);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<Range> own(static_cast<std::size_t>(rows.threads.count()),
                         {std::vector<double>(columns, kNone), std::vector<double>(columns, -kNone)});
  rows.for_values([&](double value, std::size_t j, std::size_t, RowWeight, std::size_t thread) {
    own[thread].low[j] = std::min(own[thread].low[j], value);
    own[thread].high[j] = std::max(own[thread].high[j], value);
  });
  for (std::size_t thread = 1; thread < own.size(); ++thread) {
    for (std::size_t j = 0; j < columns; ++j) {
      own[0].low[j] = std::min(own[0].low[j], own[thread].low[j]);
      own[0].high[j] = std::max(own[0].high[j], own[thread].high[j]);
    }
  }
  return own[0];
}

double ratio(double sum, double weight) {
  return weight > 0.0 ? sum / weight : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

GroupMeans group_means(const RowBlocks& blocks, std::span<const std::int32_t> labels, std::int64_t groups,
                       const Weights& weights, Threads& threads) {
  const GroupedRows rows{blocks, labels, static_cast<std::size_t>(groups), weights, threads};
  const auto columns = static_cast<std::size_t>(blocks.columns);
  const Range range = range_of(rows);
  std::vector<double> largest(columns, 0.0), reach(columns, 0.0);
  std::vector<int> exponents(columns, 0);
  for (std::size_t j = 0; j < columns; ++j) {
    if (range.low[j] > range.high[j]) continue;  // no value
    largest[j] = std::max(std::abs(range.low[j]), std::abs(range.high[j]));
    // A power of two scales the values to less than 1/2, so no square of a difference leaves the range of float64.
    exponents[j] = exponent_above(largest[j]) + 1;
    const double width = scaled_by(range.high[j], -exponents[j]) - scaled_by(range.low[j], -exponents[j]);
    reach[j] = width * width;
  }
  const ColumnSums values = rows.sums(largest, [](double value, std::size_t, std::size_t) { return value; });
  // What the known values weigh is a sum like the others, since a missing value can stand in any row.
  const ColumnSums known =
      rows.sums(std::vector<double>(columns, 1.0), [](double, std::size_t, std::size_t) { return 1.0; });
  GroupMeans found{Matrix<double>(groups, blocks.columns), std::vector<double>(columns), std::vector<double>(columns)};
  for (std::size_t j = 0; j < columns; ++j) {
    // A rounded mean stays within the range of the column.
    const auto mean = [&](double sum, double weight) {
      const double rounded = ratio(sum, weight);
      return std::isnan(rounded) ? rounded : std::clamp(rounded, range.low[j], range.high[j]);
    };
    for (std::size_t c = 0; c < rows.groups; ++c) {
      found.mean(static_cast<std::int64_t>(c), static_cast<std::int64_t>(j)) = mean(values.sum(j, c), known.sum(j, c));
    }
    found.all[j] = mean(values.total(j), known.total(j));
  }
  const ColumnSums squares = rows.sums(reach, [&](double value, std::size_t j, std::size_t c) {
    const double mean = found.mean(static_cast<std::int64_t>(c), static_cast<std::int64_t>(j));
    const double difference = scaled_by(value, -exponents[j]) - scaled_by(mean, -exponents[j]);
    return difference * difference;
  });
  for (std::size_t j = 0; j < columns; ++j) {
    found.within[j] = scaled_by(std::sqrt(ratio(squares.total(j), known.total(j))), exponents[j]);
  }
  return found;
}

}  // namespace kith
