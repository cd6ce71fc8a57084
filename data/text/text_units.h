// Numbers with units, and with notes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "data/text/text_number.h"

namespace kith::data {

/// A number with a unit behind it, or a currency before or behind it: "-1.435,43 kg" is "-1.435,43" and "kg". Both are
/// empty if the text is none. Whether the number is one depends on the style of the table.
struct UnitText {
  std::string number, unit;
};
UnitText split_unit(std::string_view text);
/// The unit in which numbers with these units are counted: the only one, or that of several which belong together, as
/// "g" of mg and kg, "1" of none, K and M, and degrees of N and S, which only places have alone; empty: there is none.
std::string common_unit(const std::set<std::string>& units, bool are_places);
inline constexpr std::string_view kNorth = "\u00b0N", kEast = "\u00b0E";
/// How many of this common unit a unit is, negative for S and W; nothing if it is of another kind.
std::optional<double> factor_of(std::string_view unit, std::string_view common);
/// In place of a unit: numbers that texts begin with, as of first_number().
inline constexpr std::string_view kFirstNumber = "*";
/// The number of a text in a common unit; nothing if the text is none. For kFirstNumber as first_number().
std::optional<double> number_in(std::string_view text, std::string_view common, const NumberStyle& style);
/// The number that a text begins with, behind a word or sign such as "ca." or <, and before notes: 12 of 12*, 71.2 of
/// "71.2 [70.1-72.3]", 4.5 of "4.5 out of 5", 1.5 of "1 1/2". Nothing for other texts, of which it would lose a part.
std::optional<double> first_number(std::string_view text, const NumberStyle& style);
/// Whether the unit is a currency that may stand before a number.
bool is_currency(std::string_view unit);

}  // namespace kith::data
