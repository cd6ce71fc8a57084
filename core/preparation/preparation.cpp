// The steps of a preparation: scaling, then projection onto principal components.
#include "core/preparation/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "core/numbers/metric.h"

namespace kith {
namespace {

bool scales_columns(Scaling scaling) { return scaling == Scaling::zscore || scaling == Scaling::minmax; }

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
void for_places(const PreparedRows& rows, const char* purpose, const Visit& visit) {
  const std::int64_t count = rows_of(view_of(rows.values));
  if (rows.rows.empty()) return visit(0, count, RowPlace{rows.name, rows.first, purpose});
  for (std::int64_t i = 0; i < count; ++i) visit(i, 1, RowPlace{rows.name, number_of(rows, i), purpose});
}

void scale(const PreparedRows& rows, const Preparation& preparation, const Workers& workers) {
  if (preparation.scaling == Scaling::unit) {
    return visit_floats(rows, [&](auto& values) {
      for_places(rows, "scaling to length 1", [&](std::int64_t first, std::int64_t count, const RowPlace& place) {
        normalize_rows(values.view().middle(first, count), place);
      });
    });
  }
  if (!scales_columns(preparation.scaling)) return;
  visit_floats(rows, [&](auto& values) {
    const std::int64_t beyond = scale_columns(values.view(), preparation.columns, workers);
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

Preparation prepare(const PreparedRows& rows, const PreparationRequest& request, const Workers& workers) {
  const PointsView view = view_of(rows.values);
  check_components(request.components, rows_of(view), columns_of(view), rows.name);
  Preparation preparation;
  preparation.scaling = request.scaling;
  if (scales_columns(request.scaling)) {
    preparation.columns = fit_scaling(one_block(view), request.scaling, workers, rows.name);
  }
  scale(rows, preparation, workers);
  if (request.components > 0) {
    preparation.pca = principal_components(one_block(view), request.components, workers);
    visit_floats(rows, [&](auto& values) { project(values, preparation.pca, workers); });
  }
  return preparation;
}

Preparation fit_preparation(const PreparedPasses& rows, const PreparationRequest& request, const Workers& workers) {
  check_components(request.components, rows.rows, rows.columns, rows.name);
  Preparation preparation;
  // Scaled as soon as the parameters of the scaling are known.
  const RowBlocks blocks{rows.rows, rows.columns, [&](const auto& visit) {
                           rows.pass([&](const PreparedRows& block) {
                             scale(block, preparation, workers);
                             visit(view_of(block.values));
                           });
                         }};
  if (scales_columns(request.scaling)) {
    preparation.columns = fit_scaling(blocks, request.scaling, workers, rows.name);
  }
  preparation.scaling = request.scaling;
  if (request.components > 0) preparation.pca = principal_components(blocks, request.components, workers);
  return preparation;
}

void apply_preparation(const PreparedRows& rows, const Preparation& preparation, const Workers& workers) {
  scale(rows, preparation, workers);
  if (preparation.pca.size() > 0) visit_floats(rows, [&](auto& values) { project(values, preparation.pca, workers); });
}

void take_directions(const PreparedRows& rows) {
  auto& values = std::get<Matrix<double>>(rows.values);
  for_places(rows, "--metric cosine", [&](std::int64_t first, std::int64_t count, const RowPlace& place) {
    const MatrixView<double> some = values.view().middle(first, count);
    write_directions<double>(some, some, place);
  });
}

std::optional<Matrix<double>> original_units(MatrixView<const double> points, const Preparation& preparation) {
  if (preparation.scaling == Scaling::unit) return std::nullopt;
  Matrix<double> out;
  if (preparation.pca.size() > 0) {
    out = back_projected(points, preparation.pca);
  } else {
    out = Matrix<double>(points.rows, points.columns);
    std::copy(points.data, points.data + points.size(), out.data());
  }
  if (!scales_columns(preparation.scaling)) return out;
  for (std::int64_t i = 0; i < out.rows(); ++i) {
    for (std::int64_t j = 0; j < out.columns(); ++j) {
      out(i, j) = out(i, j) * preparation.columns.scale[j] + preparation.columns.center[j];
    }
  }
  return out;
}

}  // namespace kith
