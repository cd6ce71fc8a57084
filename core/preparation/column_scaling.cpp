// Means, deviations and ranges of columns, and the scaling of columns by them.
#include "core/preparation/column_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/numbers/column_sums.h"
#include "core/preparation/column_deviation.h"

namespace kith {
namespace {

/// Extends `all` by the values.
template <class T>
void add_range(MatrixView<const T> values, const Workers& workers, ColumnRange& all) {
  std::vector<ColumnRange> ranges(static_cast<std::size_t>(workers.count), ColumnRange(values.columns));
  for_row_ranges(values.rows, values.columns, workers, [&](std::int64_t first, std::int64_t rows, int worker) {
    ColumnRange& own = ranges[static_cast<std::size_t>(worker)];
    for (std::int64_t i = first; i < first + rows; ++i) {
      for (std::int64_t j = 0; j < values.columns; ++j) {
        const auto value = static_cast<double>(values(i, j));
        own.minimum[j] = std::min(own.minimum[j], value);
        own.maximum[j] = std::max(own.maximum[j], value);
      }
    }
  });
  for (const ColumnRange& range : ranges) {
    for (std::int64_t j = 0; j < values.columns; ++j) {
      all.minimum[j] =
          std::min(all.minimum[j], range.minimum[j]) + 0.0;  // makes -0 into 0: both are equal, their bytes are not
      all.maximum[j] = std::max(all.maximum[j], range.maximum[j]) + 0.0;
    }
  }
}

ColumnRange range_of(const RowBlocks& blocks, const Workers& workers) {
  ColumnRange all(blocks.columns);
  blocks.pass([&](const PointsView& block) {
    std::visit([&](const auto& values) { add_range(values, workers, all); }, block);
  });
  return all;
}

/// The clamp keeps a rounded mean within the range of the column.
std::vector<double> means_of(const RowBlocks& blocks, const ColumnRange& range, const Workers& workers) {
  std::vector<double> largest, means;
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    largest.push_back(std::max(std::abs(range.minimum[j]), std::abs(range.maximum[j])));
  }
  const Weights weights = equal_weights(blocks.rows);
  ColumnSums sums(largest, weights);
  blocks.pass([&](const PointsView& block) {
    std::visit(
        [&](const auto& values) {
          sums.add(sum_columns(values, largest, weights, workers, [](double value, std::int64_t) { return value; }));
        },
        block);
  });
  for (std::size_t j = 0; j < largest.size(); ++j) {
    means.push_back(std::clamp(sums.sum(j) / static_cast<double>(blocks.rows), range.minimum[j], range.maximum[j]));
  }
  return means;
}

[[noreturn]] void refuse(const std::string& name, std::size_t column, const ColumnRange& range, const char* what) {
  throw Error(ExitCode::data,
              fmt::format("{}: column {} (counted from 1) ranges from {} to {}: {} leaves the range of float64; divide "
                          "the values by a power of ten",
                          name, column + 1, range.minimum[column], range.maximum[column], what));
}

ColumnScaling zscore(const RowBlocks& blocks, const ColumnRange& range, const Workers& workers,
                     const std::string& name) {
  ColumnScaling scaling;
  scaling.center = means_of(blocks, range, workers);
  for (std::size_t j = 0; j < scaling.center.size(); ++j) {
    const double largest = std::max(std::abs(range.minimum[j]), std::abs(range.maximum[j]));
    if (!std::isfinite(largest * static_cast<double>(blocks.rows))) refuse(name, j, range, "the sum over the rows");
  }
  scaling.scale = column_deviations(blocks, {scaling.center, range, equal_weights(blocks.rows)}, workers);
  for (double& deviation : scaling.scale) deviation = deviation > 0.0 ? deviation : 1.0;
  return scaling;
}

ColumnScaling minmax(const ColumnRange& range, const std::string& name) {
  ColumnScaling scaling;
  scaling.center = range.minimum;
  for (std::size_t j = 0; j < range.minimum.size(); ++j) {
    const double width = range.maximum[j] - range.minimum[j];
    if (!std::isfinite(width)) refuse(name, j, range, "the difference");
    scaling.scale.push_back(width > 0.0 ? width : 1.0);
  }
  return scaling;
}

}  // namespace

const char* name_of(Scaling scaling) {
  switch (scaling) {
    case Scaling::zscore:
      return "zscore";
    case Scaling::minmax:
      return "minmax";
    case Scaling::unit:
      return "unit";
    default:
      return "none";
  }
}

std::vector<double> column_means(const RowBlocks& blocks, const Workers& workers) {
  return means_of(blocks, range_of(blocks, workers), workers);
}

ColumnScaling fit_scaling(const RowBlocks& blocks, Scaling scaling, const Workers& workers, const std::string& name) {
  const ColumnRange range = range_of(blocks, workers);
  return scaling == Scaling::zscore ? zscore(blocks, range, workers, name) : minmax(range, name);
}

template <class T>
std::int64_t scale_columns(MatrixView<T> values, const ColumnScaling& scaling, const Workers& workers) {
  std::vector<std::int64_t> beyond(static_cast<std::size_t>(workers.count), values.rows);
  for_row_ranges(values.rows, values.columns, workers, [&](std::int64_t first, std::int64_t rows, int worker) {
    for (std::int64_t i = first; i < first + rows; ++i) {
      bool finite = true;
      for (std::int64_t j = 0; j < values.columns; ++j) {
        T& value = values(i, j);
        value = static_cast<T>((static_cast<double>(value) - scaling.center[j]) / scaling.scale[j]);
        finite = finite && std::isfinite(value);
      }
      std::int64_t& lowest = beyond[static_cast<std::size_t>(worker)];
      if (!finite) lowest = std::min(lowest, i);
    }
  });
  const std::int64_t row = *std::min_element(beyond.begin(), beyond.end());
  return row < values.rows ? row : -1;
}

template std::int64_t scale_columns(MatrixView<float>, const ColumnScaling&, const Workers&);
template std::int64_t scale_columns(MatrixView<double>, const ColumnScaling&, const Workers&);

}  // namespace kith
