// Parses decimal numbers, independent of the locale.
#pragma once

#include <string>
#include <string_view>

namespace kith::data {

/// Parses the longest number at `begin`: 12, -0.5, +1e-3, .5, nan, inf. Rounds correctly to float64; numbers beyond its
/// range become infinite. Returns the end of the number, or `begin` if there is none.
const char* parse_number(const char* begin, const char* end, double& value);

/// Whether the whole text is one number.
bool is_number_text(std::string_view text);

/// Whether the text is one number if its commas are replaced by points.
bool has_decimal_comma(std::string_view text);

/// How a table writes numbers, if not as parse_number() reads them.
struct NumberStyle {
  char decimal = '.';
  char thousands = '\0';  // between groups of three digits before the decimal mark; '\0': nothing
  bool is_plain() const { return decimal == '.' && thousands == '\0'; }
};

/// The number as parse_number() reads it; empty if the text is not one number of this style. True and False, TRUE and
/// FALSE, true and false are 1 and 0.
std::string plain_number(std::string_view text, const NumberStyle& style);

/// Whether the text begins with a date of three numbers, such as 2026-11-23, 23.11.2026 or 11/23/26.
bool is_date_text(std::string_view text);

/// The options that read this text as a number, such as "--decimal comma --thousands point"; empty if none do.
std::string style_options(std::string_view text);

}  // namespace kith::data
