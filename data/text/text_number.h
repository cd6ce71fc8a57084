// Decimal numbers as they stand in text, whatever the locale.
#pragma once

#include <string_view>

namespace kith::data {

/// Reads the longest number that begins at `begin`: 12, -0.5, +1e-3, .5, nan, inf; correctly rounded to float64, or an
/// infinity where that ends. Returns where it ends, `begin` if none begins there.
const char* parse_number(const char* begin, const char* end, double& value);

/// Is the whole text one number?
bool is_number_text(std::string_view text);

/// Would it be one number if its commas were points?
bool has_decimal_comma(std::string_view text);

}  // namespace kith::data
