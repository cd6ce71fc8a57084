// Reads the numbers of a result file.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "data/source.h"

namespace kith::testing {

/// A matrix, or a vector as one column, as float64. Missing values are errors, or NaN.
inline Matrix<double> matrix(const std::string& location, data::Missing missing = data::Missing::refuse) {
  return std::get<Matrix<double>>(data::read_all(
      *data::open_points(location, {.precision = data::Precision::f64, .vector_as_column = true, .missing = missing})));
}
inline std::vector<double> values(const std::string& location, data::Missing missing = data::Missing::refuse) {
  const Matrix<double> read = matrix(location, missing);
  return {read.data(), read.data() + read.size()};
}
/// With missing values kept as NaN.
inline std::vector<double> stored(const std::string& location) { return values(location, data::Missing::keep); }

}  // namespace kith::testing
