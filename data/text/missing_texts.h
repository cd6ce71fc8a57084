// The texts that programs write for a missing value.
#pragma once

#include <string_view>

namespace kith::data {

/// Whether the text stands for a missing value where --nan is given: one of the table, or an error of a spreadsheet.
/// No number is one, and no text that some programs write for zero.
bool is_missing_text(std::string_view text);

/// Whether the text is one of those that are hardly ever the name of a column or of a category, as "Na" or "missing"
/// may be: such a text is a missing value even where --nan is not given.
bool is_missing_marker(std::string_view text);

}  // namespace kith::data
