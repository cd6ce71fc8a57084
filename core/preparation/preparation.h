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
#include <vector>

#include "core/numbers/metric.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"
#include "core/points/row_reader.h"
#include "core/preparation/principal_components.h"

namespace kith {

class Threads;

/// zscore: mean 0 and population standard deviation 1 (as scikit-learn's StandardScaler); minmax: range 0 to 1; unit:
/// each row is divided by its length.
enum class Scaling { none, zscore, minmax, unit };
const char* name_of(Scaling scaling);

/// x' = (x - center) / scale. The parameters come from integer sums over the rows, so they do not depend on threads or
/// on the order of the rows.
struct ColumnScaling {
  std::vector<double> center, scale;  // (d); a constant column has scale 1
};

/// (d) The means of the columns of rows (n, d): a sum in two limbs, rounded once, divided by the number of rows. Takes
/// two passes.
std::vector<double> column_means(const RowBlocks& blocks, Threads& threads);

/// Columns that distances count `weight` times, after their scaling: one, or the indicators (0 and 1) of one column of
/// texts. Indicators are scaled by the same number, so that two rows with different texts are equally far apart,
/// whichever these are: by zscore their variances add up to 1, and by minmax such rows are 1 apart, as the ends of a
/// column are.
struct ColumnWeight {
  std::vector<std::int64_t> columns;
  double weight = 1.0;  // positive
};

struct PreparationRequest {
  Scaling scaling = Scaling::none;
  std::int64_t components = 0;             // principal components to keep; 0: keep the columns
  std::vector<ColumnWeight> weights = {};  // not with Scaling::unit
  bool scales_columns() const {
    return scaling == Scaling::zscore || scaling == Scaling::minmax || (scaling == Scaling::none && !weights.empty());
  }
  bool is_none() const { return scaling == Scaling::none && components == 0 && weights.empty(); }
};

/// The parameters of a preparation.
struct Preparation {
  Scaling scaling = Scaling::none;
  ColumnScaling columns;    // for zscore, minmax and weights, which divide the scales; else empty
  PrincipalComponents pca;  // size 0: no projection
  bool scales_columns() const { return !columns.center.empty(); }
  bool is_none() const { return scaling == Scaling::none && !scales_columns() && pca.size() == 0; }
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
Preparation prepare(const PreparedRows& rows, const PreparationRequest& request, Threads& threads);

/// Rows that are read again in each pass.
struct PreparedPasses {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string name = {};
  /// Calls visit(block) for blocks as in RowBlocks, which visit() may change.
  std::function<void(const std::function<void(const PreparedRows& block)>& visit)> pass;
};
/// Computes the parameters as prepare() does, to the same bits, in up to six passes. The rows are not prepared.
Preparation fit_preparation(const PreparedPasses& rows, const PreparationRequest& request, Threads& threads);
/// Prepares rows with existing parameters, which determine d.
void apply_preparation(const PreparedRows& rows, const Preparation& preparation, Threads& threads);

/// Replaces prepared rows, which are held as float64, by their directions, as the metric takes them. Throws Error(data)
/// naming the row.
void take_directions(const PreparedRows& rows, Metric metric);

/// Maps points (m, D) of the prepared space back to the units of the data set (m, d), within the span of the principal
/// components if there are any. Returns nothing for Scaling::unit, which cannot be inverted.
std::optional<Matrix<double>> original_units(MatrixView<const double> points, const Preparation& preparation);

}  // namespace kith
