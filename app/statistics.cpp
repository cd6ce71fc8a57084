// Per-column minimum, maximum, mean and deviation of a dataset, read in row order so that every machine agrees.
//
// Sums are compensated: A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen (1974).
#include "app/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/numbers/fixed_point.h"
#include "data/io/memory_limit.h"

namespace kith::app {
namespace {

/// Of rows at a time: enough for speed, and a part of the memory.
std::int64_t block_bytes() {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20, kMost = std::int64_t{64} << 20, kShare = 8;
  return std::clamp(data::memory_limit() / kShare, kLeast, kMost);
}

/// A sum of up to 2^63 values, which itself may leave the range of float64: before it can, it is divided by a power of
/// two, and so are the values after that.
class Sum {
 public:
  void add(double value) {
    value *= scale_;
    const double total = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - total) + value : (value - total) + sum_;
    sum_ = total;
    if (std::abs(sum_) > 0x1p959 && scale_ == 1.0) {
      for (double* part : {&scale_, &sum_, &lost_}) *part *= kSmaller;
    }
  }
  double divided_by(double count) const { return (sum_ + lost_) / count / scale_; }

 private:
  static constexpr double kSmaller = 0x1p-64;
  double scale_ = 1.0;
  double sum_ = 0.0;
  double lost_ = 0.0;
};

/// How the differences from the mean are made about 1, so that neither they nor their squares leave the range of
/// float64: by a power of two, and before that by half where the difference of two values is too large.
struct Spread {
  double first = 1.0;
  int exponent = 0;

  double difference(double value, double mean) const { return scaled_by(value * first - mean * first, -exponent); }
  double undone(double deviation) const { return scaled_by(deviation, exponent) / first; }
};

Spread spread_of(const ColumnStatistics& column) {
  Spread spread;
  if (std::isnan(column.mean)) return spread;
  if (!std::isfinite(column.maximum - column.minimum)) spread.first = 0.5;
  const double above = spread.difference(column.maximum, column.mean);
  const double below = spread.difference(column.mean, column.minimum);
  spread.exponent = exponent_above(std::max(above, below));
  return spread;
}

/// visit(row) for every row in order, as float64. `passed`: rows that earlier passes have read, for the progress.
template <class Visit>
void for_rows(data::PointSource& source, Progress& progress, std::int64_t passed, const Visit& visit) {
  const std::int64_t bytes = block_bytes();
  const auto read = [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t block = std::max<std::int64_t>(bytes / (source.columns() * sizeof(T)), 1);
    Matrix<T> values(std::min(block, source.rows()), source.columns());
    for (std::int64_t first = 0; first < source.rows(); first += block) {
      const std::int64_t here = std::min(block, source.rows() - first);
      source.read(first, values.view().middle(0, here));
      for (std::int64_t i = 0; i < here; ++i) visit(values.row(i));
      progress.progress(passed + first + here);
    }
  };
  source.value_class() == ValueClass::f32 ? read(0.0F) : read(0.0);
}

}  // namespace

std::vector<ColumnStatistics> column_statistics(data::PointSource& source, Progress& progress) {
  const auto columns = static_cast<std::size_t>(source.columns());
  constexpr std::int64_t kBytesPerColumn = 1200;  // statistics, sums, a row of values; then its text, or its JSON
  const std::int64_t needed =
      checked_product(source.columns(), kBytesPerColumn, source.name().c_str()) + block_bytes() + source.held_bytes();
  if (const std::int64_t left = data::memory_limit(); needed > left) {
    throw Error(ExitCode::memory,
                fmt::format("{}: statistics of {} columns need about {} of memory, but only {} are left; give "
                            "a larger --memory, or fewer columns with --columns",
                            source.name(), source.columns(), data::show_bytes(needed), data::show_bytes(left)));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  progress.phase("read", 2 * source.rows());
  std::vector<ColumnStatistics> result(columns, {0, kInfinity, -kInfinity, 0.0, 0.0});
  std::vector<Sum> sums(columns);
  for_rows(source, progress, 0, [&](auto row) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double value = row[j];
      if (!std::isfinite(value)) {
        ++result[j].missing;
        continue;
      }
      result[j].minimum = std::min(result[j].minimum, value);
      result[j].maximum = std::max(result[j].maximum, value);
      sums[j].add(value);
    }
  });
  std::vector<Spread> spreads;
  const auto count = [&](std::size_t j) { return static_cast<double>(source.rows() - result[j].missing); };
  for (std::size_t j = 0; j < columns; ++j) {
    if (count(j) == 0.0) result[j].minimum = result[j].maximum = kNaN;
    result[j].mean = sums[j].divided_by(count(j));  // NaN without values
    spreads.push_back(spread_of(result[j]));
  }
  std::vector<Sum> squares(columns);
  for_rows(source, progress, source.rows(), [&](auto row) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (!std::isfinite(row[j])) continue;
      const double difference = spreads[j].difference(row[j], result[j].mean);
      squares[j].add(difference * difference);
    }
  });
  for (std::size_t j = 0; j < columns; ++j) {
    result[j].deviation = spreads[j].undone(std::sqrt(squares[j].divided_by(count(j))));
  }
  return result;
}

}  // namespace kith::app
