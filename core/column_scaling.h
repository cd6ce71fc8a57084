// Columns brought to a common scale: x' = (x - center) / scale.
//
// The parameters come from integer sums over the rows, so that neither threads nor order can change them
// (docs/contract.md, Preparation).
#pragma once

#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/workers.h"

namespace kith {

/// zscore: mean 0 and standard deviation 1 (of the rows as a population, as scikit-learn's StandardScaler); minmax:
/// from 0 to 1; unit: rows, not columns, of length 1.
enum class Scaling { none, zscore, minmax, unit };
const char* name_of(Scaling scaling);

struct ColumnScaling {
  std::vector<double> center, scale;  // (d); a column whose values are all equal has scale 1
};

/// Means of the columns: rounded once from a sum in two limbs, and divided by the number of rows. values: (n, d)
std::vector<double> column_means(PointsView values, const Workers& workers);

/// The parameters of zscore or minmax for these rows (n, d). Throws Error(data) with the column (counted from 0) when
/// its range, or its squares, leave float64; `name` is the data set's.
ColumnScaling fit_scaling(PointsView values, Scaling scaling, const Workers& workers, const std::string& name);

/// Scales rows (n, d) in place, in float64, each value rounded to its class at the end. T: float or double. Returns the
/// first row with a value that leaves the class, -1 if none does.
template <class T>
std::int64_t scale_columns(MatrixView<T> values, const ColumnScaling& scaling, const Workers& workers);

}  // namespace kith
