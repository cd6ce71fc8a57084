// What makes numbers of columns of text, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/text_head.h"

namespace kith::data {

/// "; if '#' separates columns, ..." for a table of one column whose texts are numbers between equal marks; empty for
/// others.
std::string separator_remedy(const TextHead& head);

/// What to do with a column of dates, such as `text`, beside leaving it out.
std::string remedy_for_dates(const TextHead& head, std::int64_t column, const std::string& text);

/// What a value of a column is that this encoding reads, "a date such as 2024-12-31"; `unit`: that of Encode::unit.
std::string expected_by(Encode how, const std::string& unit);

/// What --encode makes numbers of a column with, by its first rows.
struct NumberRule {
  /// "time" of times of day or durations, "ordinal" of answers of a scale, "unit" of numbers with units that belong
  /// together, "first-number" of texts that begin with numbers; empty for others.
  std::string rule = {};
  std::string number = {};  // of a unit: the first that the style of the table does not read
  std::string shown = {};   // "'1/2' becomes 0.5", if that is not plain
};
NumberRule number_rule(const TextHead& head, std::int64_t column);

/// The options that make numbers of those of the columns that have such a rule, "--encode price=unit --thousands
/// comma", and leave out the others; empty if none has one. `shown`: the first NumberRule::shown.
std::string unit_options(const TextHead& head, const std::vector<std::int64_t>& columns, std::string& shown);

/// The command that removes the marks around a number which are quotation marks of other programs; empty for others.
std::string unquoting_command(const std::string& text);

/// Throws Error(data) if the columns are those of places, and hold angles that are no numbers of degrees, such
/// as 48.85N and 48°51'24": a unit that --encode took off would lose the side of the equator.
void refuse_angles(const TextHead& head, const std::vector<std::int64_t>& columns, const std::string& name);

}  // namespace kith::data
