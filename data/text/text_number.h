// Parses decimal numbers, independent of the locale.
#pragma once

#include <string_view>

namespace kith::data {

/// Parses the longest number at `begin`: 12, -0.5, +1e-3, .5, nan, inf. Rounds correctly to float64; numbers beyond its
/// range become infinite. Returns the end of the number, or `begin` if there is none.
const char* parse_number(const char* begin, const char* end, double& value);

/// Whether the whole text is one number.
bool is_number_text(std::string_view text);

/// Whether the text is one number if its commas are replaced by points.
bool has_decimal_comma(std::string_view text);

}  // namespace kith::data
