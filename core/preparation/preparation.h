// Preparation of points: scaling of columns or rows, then projection onto principal components.
//
// The parameters come from the rows that a model is made from; new points are prepared with the same parameters.
// docs/contract.md, Preparation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/preparation/column_scaling.h"
#include "core/preparation/principal_components.h"

namespace kith {

struct PreparationRequest {
  Scaling scaling = Scaling::none;
  std::int64_t components = 0;  // principal components to keep; 0: keep the columns
  bool is_none() const { return scaling == Scaling::none && components == 0; }
};

/// The parameters of a preparation.
struct Preparation {
  Scaling scaling = Scaling::none;
  ColumnScaling columns;    // for zscore and minmax
  PrincipalComponents pca;  // size 0: no projection
  bool is_none() const { return scaling == Scaling::none && pca.size() == 0; }
};

/// Rows to prepare, float32 or float64, and their names for messages.
struct PreparedRows {
  PointsMatrix& values;                     // (n, d), changed in place; (n, D) with principal components
  std::string name = {};                    // of the data set
  std::span<const std::int64_t> rows = {};  // their numbers in the data set; empty: first, first + 1, ...
  std::int64_t first = 0;
};

/// Computes the parameters from these rows and prepares the rows. Throws Error(usage) for more components than rows or
/// columns, Error(data) for rows that cannot be scaled and for results outside the range of their class.
Preparation prepare(const PreparedRows& rows, const PreparationRequest& request, const Workers& workers);

/// Rows that are read again in each pass.
struct PreparedPasses {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string name = {};
  /// Calls visit(block) for blocks as in RowBlocks, which visit() may change.
  std::function<void(const std::function<void(const PreparedRows& block)>& visit)> pass;
};
/// Computes the parameters as prepare() does, to the same bits, in up to six passes. The rows are not prepared.
Preparation fit_preparation(const PreparedPasses& rows, const PreparationRequest& request, const Workers& workers);
/// Prepares rows with existing parameters, which determine d.
void apply_preparation(const PreparedRows& rows, const Preparation& preparation, const Workers& workers);

/// Replaces prepared rows, which are held as float64, by their directions. Throws Error(data) naming the row.
void take_directions(const PreparedRows& rows);

/// Maps points (m, D) of the prepared space back to the units of the data set (m, d), within the span of the principal
/// components if there are any. Returns nothing for Scaling::unit, which cannot be inverted.
std::optional<Matrix<double>> original_units(MatrixView<const double> points, const Preparation& preparation);

}  // namespace kith
