// Reads weights, one number per row, from a dataset or a column of a text file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

struct RowNumbers {
  std::string name;            // "sales.csv:amount", as shown and stored
  std::vector<double> values;  // (n)
};

/// `name` is FILE:DATASET of a vector of any numeric type or of a matrix with one column; or FILE:COLUMN of a text
/// file, where COLUMN is optional if there is one column or one named weight. Throws Error(data) for a text that is not
/// a number, Error(usage) if the column is ambiguous.
RowNumbers read_weights(const std::string& name, const ReadOptions& options);

/// Weights from ReadOptions::weight_column of the points; `column` is its name as shown.
RowNumbers weights_of(const PointSource& points, const std::string& column, const ReadOptions& options);

}  // namespace kith::data
