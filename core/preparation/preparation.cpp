// Statistics of columns from integer sums, scaling by them, then projection onto principal components.
#include "core/preparation/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/numbers/maps.h"
#include "core/points/weights.h"
#include "core/preparation/group_means.h"
#include "core/runtime/threads.h"

namespace kith {
namespace {

/// (d) The sums of weight x term(value, column) over all rows (n, d).
template <class T, class Term>
ColumnSums sum_columns(MatrixView<const T> values, const std::vector<double>& largest, const Weights& weights,
                       Threads& threads, const Term& term) {
  std::vector<ColumnSums> sums(static_cast<std::size_t>(threads.count()), ColumnSums(largest, weights));
  const RowWeights row_weights{weights.given() ? weights.rows.data() : nullptr, weights.integral};
  for_row_ranges(values.rows, values.columns, threads, [&](std::int64_t first, std::int64_t rows, int thread) {
    ColumnSums& own = sums[static_cast<std::size_t>(thread)];
    for (std::int64_t i = first; i < first + rows; ++i) {
      const RowWeight weight = row_weights.of(i);
      for (std::int64_t j = 0; j < values.columns; ++j) {
        own.add(static_cast<std::size_t>(j), term(static_cast<double>(values(i, j)), j), weight);
      }
    }
  });
  for (std::size_t thread = 1; thread < sums.size(); ++thread) sums[0].add(sums[thread]);
  return sums[0];
}

/// Statistics of the columns (d) that deviations are computed from.
struct KnownColumns {
  const std::vector<double>& mean;
  const ColumnRange& range;
  const Weights& weights;
};

/// The largest possible difference of a value of column j from its mean.
double largest_deviation(const ColumnRange& range, std::size_t j, double mean) {
  return std::max(range.maximum[j] - mean, mean - range.minimum[j]);
}

/// Differences from the mean must be finite. Weights are those of the rows of one block.
std::vector<double> column_deviations(const RowBlocks& blocks, const KnownColumns& known, Threads& threads) {
  // A power of two scales the differences to at most 1, so no square leaves the range of float64.
  std::vector<double> largest, deviations;
  std::vector<int> exponents;
  for (std::size_t j = 0; j < known.mean.size(); ++j) {
    const double reach = largest_deviation(known.range, j, known.mean[j]);
    exponents.push_back(exponent_above(reach));
    const double scaled = scaled_by(reach, -exponents[j]);
    largest.push_back(scaled * scaled);
  }
  const auto term = [&](double value, std::int64_t j) {
    const auto column = static_cast<std::size_t>(j);
    const double difference = scaled_by(value - known.mean[column], -exponents[column]);
    return difference * difference;
  };
  ColumnSums squares(largest, known.weights);
  blocks.pass([&](const PointsView& block) {
    std::visit([&](const auto& rows) { squares.add(sum_columns(rows, largest, known.weights, threads, term)); }, block);
  });
  for (std::size_t j = 0; j < largest.size(); ++j) {
    deviations.push_back(scaled_by(std::sqrt(squares.sum(j) / known.weights.total), exponents[j]));
  }
  return deviations;
}

/// Extends `all` by the values.
template <class T>
void add_range(MatrixView<const T> values, Threads& threads, ColumnRange& all) {
  std::vector<ColumnRange> ranges(static_cast<std::size_t>(threads.count()), ColumnRange(values.columns));
  for_row_ranges(values.rows, values.columns, threads, [&](std::int64_t first, std::int64_t rows, int thread) {
    ColumnRange& own = ranges[static_cast<std::size_t>(thread)];
    for (std::int64_t i = first; i < first + rows; ++i) {
      const auto row = array(values.row(i)).template cast<double>();
      array(own.minimum) = array(own.minimum).min(row);
      array(own.maximum) = array(own.maximum).max(row);
    }
  });
  for (const ColumnRange& range : ranges) extend(all, range);
  array(all.minimum) += 0.0;  // makes -0 into 0: both are equal, their bytes are not
  array(all.maximum) += 0.0;
}

ColumnRange range_of(const RowBlocks& blocks, Threads& threads) {
  ColumnRange all(blocks.columns);
  blocks.pass([&](const PointsView& block) {
    std::visit([&](const auto& values) { add_range(values, threads, all); }, block);
  });
  return all;
}

/// The clamp keeps a rounded mean within the range of the column.
std::vector<double> means_of(const RowBlocks& blocks, const ColumnRange& range, Threads& threads) {
  std::vector<double> largest, means;
  for (std::int64_t j = 0; j < blocks.columns; ++j) largest.push_back(magnitude(range, j));
  const Weights weights = equal_weights(blocks.rows);
  ColumnSums sums(largest, weights);
  blocks.pass([&](const PointsView& block) {
    std::visit(
        [&](const auto& values) {
          sums.add(sum_columns(values, largest, weights, threads, [](double value, std::int64_t) { return value; }));
        },
        block);
  });
  for (std::size_t j = 0; j < largest.size(); ++j) {
    means.push_back(std::clamp(sums.sum(j) / static_cast<double>(blocks.rows), range.minimum[j], range.maximum[j]));
  }
  return means;
}

/// Constant columns are not scaled.
void set_constant_to_one(std::vector<double>& scale) {
  for (double& width : scale) width = width > 0.0 ? width : 1.0;
}

[[noreturn]] void refuse(const std::string& name, std::int64_t column, const ColumnRange& range, const char* what) {
  throw Error(ExitCode::data,
              fmt::format("{}: column {} (counted from 1) ranges from {} to {}: {} leaves the range of float64; divide "
                          "the values by a power of ten",
                          name, column + 1, range.minimum[column], range.maximum[column], what));
}

ColumnScaling zscore(const RowBlocks& blocks, const ColumnRange& range, Threads& threads, const std::string& name) {
  ColumnScaling scaling;
  scaling.center = means_of(blocks, range, threads);
  for (std::int64_t j = 0; j < blocks.columns; ++j) {
    const double largest_sum = magnitude(range, j) * static_cast<double>(blocks.rows);
    if (!std::isfinite(largest_sum)) refuse(name, j, range, "the sum over the rows");
  }
  scaling.scale = column_deviations(blocks, {scaling.center, range, equal_weights(blocks.rows)}, threads);
  return scaling;
}

ColumnScaling minmax(const ColumnRange& range, const std::string& name) {
  ColumnScaling scaling{range.minimum, range.maximum};
  array(scaling.scale) -= array(range.minimum);
  for (std::size_t j = 0; j < scaling.scale.size(); ++j) {
    if (!std::isfinite(scaling.scale[j])) refuse(name, static_cast<std::int64_t>(j), range, "the difference");
  }
  return scaling;
}

/// Constant columns have the scale 0 before and afterwards.
void apply_weights(const PreparationRequest& request, std::vector<double>& scale) {
  for (const auto& [columns, weight] : request.weights) {
    double squares = 0.0, largest = 0.0;
    for (const std::int64_t j : columns) {
      squares += scale[j] * scale[j];
      largest = std::max(largest, scale[j]);
    }
    const double shared = request.scaling == Scaling::zscore   ? std::sqrt(squares)
                          : request.scaling == Scaling::minmax ? std::sqrt(2.0) * largest
                                                               : 1.0;
    for (const std::int64_t j : columns) {
      if (columns.size() > 1 && scale[j] > 0.0) scale[j] = shared;
      scale[j] /= weight;
    }
  }
}

/// The parameters of zscore (three passes), minmax (one) or weights alone (none) for these rows (n, d). Throws
/// Error(data) naming the column (counted from 1) if its width or its sum leaves the range of float64. name: of the
/// data set, for messages.
ColumnScaling fit_scaling(const RowBlocks& blocks, const PreparationRequest& request, Threads& threads,
                          const std::string& name) {
  ColumnScaling scaling;
  if (request.scaling == Scaling::none) {
    const auto columns = static_cast<std::size_t>(blocks.columns);
    scaling = {std::vector<double>(columns, 0.0), std::vector<double>(columns, 1.0)};
  } else {
    const ColumnRange range = range_of(blocks, threads);
    scaling = request.scaling == Scaling::zscore ? zscore(blocks, range, threads, name) : minmax(range, name);
  }
  apply_weights(request, scaling.scale);
  set_constant_to_one(scaling.scale);
  return scaling;
}

/// Scales rows (n, d) in place: computes in float64 and rounds each value to T (float or double). Returns the first row
/// with a value outside the range of T, or -1.
template <class T>
std::int64_t scale_columns(MatrixView<T> values, const ColumnScaling& scaling, Threads& threads) {
  std::vector<std::int64_t> beyond(static_cast<std::size_t>(threads.count()), values.rows);
  for_row_ranges(values.rows, values.columns, threads, [&](std::int64_t first, std::int64_t rows, int thread) {
    std::int64_t& lowest = beyond[static_cast<std::size_t>(thread)];
    for (std::int64_t i = first; i < first + rows; ++i) {
      auto row = array(values.row(i));
      row = ((row.template cast<double>() - array(scaling.center)) / array(scaling.scale)).template cast<T>();
      if (!row.isFinite().all()) lowest = std::min(lowest, i);
    }
  });
  const std::int64_t row = *std::min_element(beyond.begin(), beyond.end());
  return row < values.rows ? row : -1;
}

/// Calls visit(Matrix<T>&). Bytes cannot hold prepared values; callers read them as float32.
template <class Visit>
void visit_floats(const PreparedRows& rows, const Visit& visit) {
  std::visit(
      [&]<class T>(Matrix<T>& values) {
        if constexpr (std::is_floating_point_v<T>) {
          visit(values);
        } else {
          throw Error(ExitCode::internal,
                      rows.name + ": expected float32 or float64 values for preparation, found bytes");
        }
      },
      rows.values);
}

std::int64_t number_of(const PreparedRows& rows, std::int64_t row) {
  return rows.rows.empty() ? rows.first + row : rows.rows[static_cast<std::size_t>(row)];
}

/// Calls visit(first, count, place) for rows whose numbers in the data set follow one another.
template <class Visit>
void for_places(const PreparedRows& rows, const char* purpose, const char* remedy, const Visit& visit) {
  const std::int64_t count = rows_of(view_of(rows.values));
  if (rows.rows.empty()) return visit(0, count, RowPlace{rows.name, rows.first, purpose, remedy});
  for (std::int64_t i = 0; i < count; ++i) visit(i, 1, RowPlace{rows.name, number_of(rows, i), purpose, remedy});
}

void scale(const PreparedRows& rows, const Preparation& preparation, Threads& threads) {
  if (preparation.scaling == Scaling::unit) {
    return visit_floats(rows, [&](auto& values) {
      for_places(rows, "scaling to length 1",
                 "remove the row, or give --metric cosine --nan drop in place of --scale unit, which drops such rows",
                 [&](std::int64_t first, std::int64_t count, const RowPlace& place) {
                   normalize_rows(values.view().middle(first, count), place);
                 });
    });
  }
  if (!preparation.scales_columns()) return;
  visit_floats(rows, [&](auto& values) {
    const std::int64_t beyond = scale_columns(values.view(), preparation.columns, threads);
    if (beyond < 0) return;
    throw Error(
        ExitCode::data,
        fmt::format("{}: row {} (counted from 1) has a value that leaves the range of its class when it is scaled",
                    rows.name, number_of(rows, beyond) + 1),
        Cause::value_class);
  });
}

void check_components(std::int64_t components, std::int64_t rows, std::int64_t columns, const std::string& name) {
  const std::int64_t most = std::min(rows, columns);
  if (components <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: expected at most {} components, found {}: the data set has {} rows of {} columns", name,
                          most, components, rows, columns),
              Cause::component_count);
}

}  // namespace

const char* name_of(Scaling scaling) {
  constexpr const char* kNames[] = {"none", "zscore", "minmax", "unit"};
  return kNames[static_cast<int>(scaling)];
}

std::vector<double> column_means(const RowBlocks& blocks, Threads& threads) {
  return means_of(blocks, range_of(blocks, threads), threads);
}

Preparation prepare(const PreparedRows& rows, const PreparationRequest& request, Threads& threads) {
  const PointsView view = view_of(rows.values);
  check_components(request.components, rows_of(view), columns_of(view), rows.name);
  Preparation preparation;
  preparation.scaling = request.scaling;
  if (request.scales_columns()) {
    preparation.columns = fit_scaling(one_block(view), request, threads, rows.name);
  }
  scale(rows, preparation, threads);
  if (request.components > 0) {
    preparation.pca = principal_components(one_block(view), request.components, threads);
    visit_floats(rows, [&](auto& values) { project(values, preparation.pca, threads); });
  }
  return preparation;
}

Preparation fit_preparation(const PreparedPasses& rows, const PreparationRequest& request, Threads& threads) {
  check_components(request.components, rows.rows, rows.columns, rows.name);
  Preparation preparation;
  // Scaled as soon as the parameters of the scaling are known.
  const RowBlocks blocks{rows.rows, rows.columns, [&](const auto& visit) {
                           rows.pass([&](const PreparedRows& block) {
                             scale(block, preparation, threads);
                             visit(view_of(block.values));
                           });
                         }};
  if (request.scales_columns()) {
    preparation.columns = fit_scaling(blocks, request, threads, rows.name);
  }
  preparation.scaling = request.scaling;
  if (request.components > 0) preparation.pca = principal_components(blocks, request.components, threads);
  return preparation;
}

void apply_preparation(const PreparedRows& rows, const Preparation& preparation, Threads& threads) {
  scale(rows, preparation, threads);
  if (preparation.pca.size() > 0) visit_floats(rows, [&](auto& values) { project(values, preparation.pca, threads); });
}

void take_directions(const PreparedRows& rows, Metric metric) {
  auto& values = std::get<Matrix<double>>(rows.values);
  // A row of the file need not be zero: it may be the mean of all rows.
  const DirectionRule rule{.deviates = metric == Metric::correlation};
  for_places(rows,
             rule.deviates ? "--metric correlation after --scale and --pca" : "--metric cosine after --scale and --pca",
             "give --metric euclidean, or leave out --scale and --pca",
             [&](std::int64_t first, std::int64_t count, const RowPlace& place) {
               const MatrixView<double> some = values.view().middle(first, count);
               write_directions<double>(some, some, place, rule);
             });
}

std::optional<Matrix<double>> original_units(MatrixView<const double> points, const Preparation& preparation) {
  if (preparation.scaling == Scaling::unit) return std::nullopt;
  Matrix<double> out = preparation.pca.size() > 0 ? back_projected(points, preparation.pca) : copied(points);
  if (preparation.scales_columns()) {
    array(out) =
        (array(out).rowwise() * array(preparation.columns.scale)).rowwise() + array(preparation.columns.center);
  }
  return out;
}

}  // namespace kith
