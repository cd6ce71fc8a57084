// Per-column minimum, maximum, mean and deviation of a dataset, read in row order so that every machine agrees.
//
// Sums are compensated: A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen (1974).
#include "app/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fixed_point.h"

namespace kith::app {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;

class Sum {
 public:
  void add(double value) {
    const double total = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - total) + value : (value - total) + sum_;
    sum_ = total;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0.0;
  double lost_ = 0.0;
};

/// visit(row) for every row in order, as float64. `passed`: rows that earlier passes have read, for the progress.
template <class Visit>
void for_rows(data::PointSource& source, Progress& progress, std::int64_t passed, const Visit& visit) {
  const auto read = [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t block = std::max<std::int64_t>(kBlockBytes / (source.columns() * sizeof(T)), 1);
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
  const double rows = static_cast<double>(source.rows());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  progress.phase("read", 2 * source.rows());
  std::vector<ColumnStatistics> result(columns, {kInfinity, -kInfinity, 0.0, 0.0});
  std::vector<Sum> sums(columns);
  for_rows(source, progress, 0, [&](auto row) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double value = row[j];
      result[j].minimum = std::min(result[j].minimum, value);
      result[j].maximum = std::max(result[j].maximum, value);
      sums[j].add(value);
    }
  });
  // Differences are scaled by a power of two to about 1, so that no square leaves the range of float64.
  std::vector<int> exponents(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    result[j].mean = sums[j].value() / rows;
    exponents[j] = exponent_above(std::max(result[j].maximum - result[j].mean, result[j].mean - result[j].minimum));
  }
  std::vector<Sum> squares(columns);
  for_rows(source, progress, source.rows(), [&](auto row) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double difference = scaled_by(row[j] - result[j].mean, -exponents[j]);
      squares[j].add(difference * difference);
    }
  });
  for (std::size_t j = 0; j < columns; ++j) {
    result[j].deviation = scaled_by(std::sqrt(squares[j].value() / rows), exponents[j]);
  }
  return result;
}

}  // namespace kith::app
