// What is done to points before anything else: columns or rows scaled, then seen along their principal components.
//
// The parameters are those of the rows that a model was made from; new points are prepared with the same ones.
// docs/contract.md, Preparation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/column_scaling.h"
#include "core/principal_components.h"

namespace kith {

struct PreparationRequest {
  Scaling scaling = Scaling::none;
  std::int64_t components = 0;  // principal components to keep; 0: the columns as they are
  bool is_none() const { return scaling == Scaling::none && components == 0; }
};

/// The parameters that were found.
struct Preparation {
  Scaling scaling = Scaling::none;
  ColumnScaling columns;    // of zscore and minmax
  PrincipalComponents pca;  // of size 0: none
  bool is_none() const { return scaling == Scaling::none && pca.size() == 0; }
};

/// Rows to be prepared, float32 or float64, and what they are called.
struct PreparedRows {
  PointsMatrix& values;                     // (n, d), changed in place; (n, D) with principal components
  std::string name = {};                    // of the data set, for messages
  std::span<const std::int64_t> rows = {};  // their numbers in the data set, where these are not 0, 1, ...
};

/// Finds the parameters of these rows and prepares them. Throws Error(usage) for more components than rows or columns,
/// Error(data) for rows that cannot be scaled and values that leave their range.
Preparation prepare(const PreparedRows& rows, const PreparationRequest& request, const Workers& workers);
/// Prepares rows with parameters that were found before; d is that of these parameters.
void apply_preparation(const PreparedRows& rows, const Preparation& found, const Workers& workers);

/// Scales rows to length 1, one after another. `option` asked for it. Throws Error(data) with the row's number.
void normalize_prepared_rows(const PreparedRows& rows, const char* purpose);

/// Points (m, D) of the prepared space in the units of the data set (m, d): on the plane of the principal components,
/// where there are some. Nothing with Scaling::unit, which cannot be undone.
std::optional<Matrix<double>> original_units(MatrixView<const double> points, const Preparation& found);

}  // namespace kith
