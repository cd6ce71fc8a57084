// Shapes of datasets: shown, counted, and refused where they are no table of rows and features.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith::data {

/// "10 x 3", "()" for a scalar.
std::string show_shape(const std::vector<std::int64_t>& shape);

/// The product, or the largest int64 when it does not fit. Factors are not negative.
std::int64_t capped_product(std::int64_t a, std::int64_t b);

/// Why points cannot have this shape: expected, found, and a remedy. Empty if they can.
std::string refusal_of_shape(const std::vector<std::int64_t>& shape, bool vector_as_column);

/// Why so many values cannot be counted in bytes, as float64, or empty.
std::string refusal_of_size(const std::vector<std::int64_t>& shape);

}  // namespace kith::data
