// Reading weights: one number for each row, from a dataset or a column of a text file.
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

/// `location` is FILE:DATASET of a vector of any numeric type, or of a matrix with one column; FILE:COLUMN of a text
/// file, where COLUMN may be left out if there is one column, or one that is named weight. Throws Error(data) for what
/// is no number, Error(usage) where the column is in doubt.
RowNumbers read_weights(const std::string& location, const ReadOptions& options);

/// The same from the texts of a column that the points of a text file do not take (ReadOptions::weight_column).
RowNumbers weights_of(const PointSource& points, const std::string& column);

}  // namespace kith::data
