// Scaling of columns: x' = (x - center) / scale.
//
// The parameters come from integer sums over the rows, so they do not depend on threads or on the order of the rows
// (docs/contract.md, Preparation).
#pragma once

#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/row_blocks.h"
#include "core/runtime/workers.h"

namespace kith {

/// zscore: mean 0 and population standard deviation 1 (as scikit-learn's StandardScaler); minmax: range 0 to 1; unit:
/// each row is divided by its length.
enum class Scaling { none, zscore, minmax, unit };
const char* name_of(Scaling scaling);

struct ColumnScaling {
  std::vector<double> center, scale;  // (d); a constant column has scale 1
};

/// (d) The means of the columns of rows (n, d): a sum in two limbs, rounded once, divided by the number of rows. Takes
/// two passes.
std::vector<double> column_means(const RowBlocks& blocks, const Workers& workers);

/// The parameters of zscore (three passes) or minmax (one) for these rows (n, d). Throws Error(data) naming the column
/// (counted from 1) if its width or its sum leaves the range of float64. name: of the data set, for messages.
ColumnScaling fit_scaling(const RowBlocks& blocks, Scaling scaling, const Workers& workers, const std::string& name);

/// Scales rows (n, d) in place: computes in float64 and rounds each value to T (float or double). Returns the first row
/// with a value outside the range of T, or -1.
template <class T>
std::int64_t scale_columns(MatrixView<T> values, const ColumnScaling& scaling, const Workers& workers);

}  // namespace kith
