// Texts as numbers: dates, times, words for yes and no, and texts whose order is known, such as answers of
// questionnaires.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kith::data {

/// The order of the numbers in dates whose year comes last: 31.12.2024 or 12/31/2024. unknown: only those that can be
/// read in one way, which those with points are, by convention (day first), and those with a day beyond 12.
enum class DateOrder { unknown, day_first, month_first };

/// What each order reads in a date, in days since 1970-01-01 as of parse_date(); a date whose year comes first is read
/// by both.
struct DateReadings {
  std::optional<double> day_first = {}, month_first = {};
  bool has_points = false;  // between day, month and year
  bool any() const { return day_first || month_first; }
  bool are_different() const { return day_first && month_first && *day_first != *month_first; }
};
DateReadings date_readings(std::string_view text);

/// Days since 1970-01-01, UTC, with the time of day as a fraction: 2024-12-31, 2024-12, 20241231, 31.12.2024,
/// 12/31/2024, 12 Mar 2024, 12-Mar-24, Mar 12, 2024, March 2024, each with a time (13:45, 13:45:10.5, 1:45 PM) and a
/// zone (Z, +02:00) if it has one. Without a zone, UTC is meant. Years have four digits, or two behind points or
/// slashes, 1930 to 2029: 31.12.24. Nothing if the text is no date of the calendar.
std::optional<double> parse_date(std::string_view text, DateOrder order);

/// 1 or 0 for the words yes, true, y, t, on, ja, oui, si, 1 and no, false, n, f, off, nein, non, 0 in any case, and for
/// those that Excel writes for true and false in other languages; nothing for others.
std::optional<double> parse_yes_no(std::string_view text);

/// Hours, of a time of day or a duration: 08:30, 8:30 PM, 08:30 Uhr, 26:10:05.5, 8h30, 1 h 30 min, PT5M, P1DT2H, 2 days
/// 01:30:00, -1 days +23:00:00; also 08.30 and 8.30 PM, whose minutes have two digits. Two numbers are hours and
/// minutes, or minutes and seconds if the last one has a fraction: 1:20.05. Nothing for others, and for dates.
struct TimeText {
  double hours = 0.0;
  bool is_clear = true;  // false: of two numbers, such as 59:30, which are minutes and seconds beside 1:02:03
};
std::optional<TimeText> parse_time(std::string_view text);

/// The text with colons if it has the form 01.23.45 or 01.23.456, of laps, which may also be a version or a date.
std::string with_colons(std::string_view text);

/// Whether the word stands behind a time of day: 8.30 pm is half past eight, and 8.30 Uhr.
bool is_behind_time(std::string_view word);

/// Whether the text is 8.30, 08.30 or 17.45, which may be a number or a time of day.
bool is_time_with_point(std::string_view text);
/// Whether the text is 03.2024, which may be a number or a month.
bool is_month_with_point(std::string_view text);

inline constexpr double kOpenEnd = 2932896;  // 9999-12-31, in days since 1970

/// Whether the text is a date that no value has, but databases write: 0000-00-00, or 9999-12-31 for an open end.
bool stands_for_no_date(std::string_view text);

/// What parse_yes_no() reads, for messages.
inline constexpr const char* kYesNoWords = "yes/no, true/false, y/n, t/f, on/off, ja/nein, oui/non, si/no, 1/0";

/// Different texts from the least to the most.
struct TextOrder {
  std::vector<std::string> texts = {};  // empty: no order is known
  /// Whether the order means something. Numbers alone may be codes: 1 = Lyon, 2 = Paris.
  bool is_sure = false;
};

/// The order of at least two different texts: answers of one scale (never, often, always), texts that begin with
/// different numbers (1 = bad, 2, 10 - good), or ranges that do not overlap (<18, 18-24, 65+).
TextOrder known_order(const std::vector<std::string>& texts);

}  // namespace kith::data
