// Shapes of datasets and lists of names: their text in messages, and the check that a shape is a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith::data {

/// "10 x 3", "()" for a scalar.
std::string show_shape(const std::vector<std::int64_t>& shape);

/// "a, b, c and 4 more", with at most `max_shown` of the items; "nothing" if there are none.
std::string show_list(const std::vector<std::string>& items, std::size_t max_shown = 20);

/// The product, or the largest int64 if the product does not fit. The factors must not be negative.
std::int64_t capped_product(std::int64_t a, std::int64_t b);

/// Why points cannot have this shape: expected, found, and a remedy. Empty if they can.
std::string refusal_of_shape(const std::vector<std::int64_t>& shape, bool vector_as_column);

/// Why the size in bytes, as float64, does not fit into an int64. Empty if it does.
std::string refusal_of_size(const std::vector<std::int64_t>& shape);

}  // namespace kith::data
