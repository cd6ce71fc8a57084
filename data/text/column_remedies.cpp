// Finds what --encode makes numbers of a column with, by the first rows.
#include "data/text/column_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "data/format/column_choice.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/text/number_marks.h"
#include "data/text/text_refusal.h"
#include "data/text/text_units.h"
#include "data/text/text_values.h"

namespace kith::data {

std::string remedy_for_dates(const TextHead& head, std::int64_t column, const std::string& text) {
  const std::string option = fmt::format("--encode {}=date makes days of them", option_text(head.names, column));
  return date_readings(text).any() ? option : "write them as 2024-12-31, and " + option;
}

std::string expected_by(Encode how, const std::string& unit) {
  switch (how) {
    case Encode::yesno:
      return fmt::format("yes or no ({})", kYesNoWords);
    case Encode::unit:
      if (unit == kFirstNumber) return "a text that begins with a number";
      return fmt::format("a number with the unit '{}'", unit);
    case Encode::time:
      return "a time or a duration such as 08:30, 8:30 PM, 1:23:45, 1 h 30 min or PT5M";
    case Encode::date:
      return "a date such as 2024-12-31, 2024-12-31T13:45:10, 31.12.2024 or 12/31/2024";
    default:
      return fmt::format("a date such as {} or 2024-12-31",
                         how == Encode::date_day_first ? "31.12.2024" : "12/31/2024");
  }
}

NumberRule number_rule(const TextHead& head, std::int64_t column) {
  NumberRule found;
  std::set<std::string> units;  // empty: of a value without one
  std::set<std::string> texts;
  std::string example;  // the first that is no plain number
  bool times = true, are_units = true, are_first = true;
  for (const TextHead::Sample& row : head.samples) {
    const std::string text = column < std::ssize(row.fields) ? row.fields[static_cast<std::size_t>(column)] : "";
    if (is_missing(head, text)) continue;
    times = times && parse_time(with_colons(text));
    are_first = are_first && first_number(text, head.numbers) && !is_date_text(text);
    texts.insert(text);
    UnitText unit = split_unit(text);
    if (unit.unit.empty()) unit.number = text;
    const bool is_plain = !plain_number(unit.number, head.numbers).empty();
    are_units = are_units && (is_plain || !style_options(unit.number).empty());
    if (are_units && !is_plain && found.number.empty()) found.number = unit.number;
    if (example.empty() || is_number_text(example)) example = text;
    units.insert(unit.unit);
  }
  if (texts.empty()) return found;
  const auto show = [&](double value) { found.shown = fmt::format("'{}' becomes {:.6g}", quoted(example, 40), value); };
  // 90 min and 2 Seasons, or 20 °C and 68 °F, are of two kinds; single characters are notes, and 1st to 4th places.
  static constexpr std::string_view kPlaces[] = {"st", "nd", "rd", "th"};
  const auto is_unit = [](const std::string& unit) {
    return !unit.empty() && first_character(unit).bytes < unit.size() &&
           std::ranges::find(kPlaces, unit) == std::end(kPlaces);
  };
  const std::string time = with_colons(example);
  if (are_units && !common_unit(units, head.options.form == RowForm::places).empty()) {
    found.rule = "unit";
  } else if (times) {
    const bool is_version = time != example && !texts.begin()->starts_with('0');
    if (time != example) show(parse_time(time)->hours);
    if (!is_version) found.rule = "time";
  } else if (known_order({texts.begin(), texts.end()}).is_sure) {
    found.rule = "ordinal";
  } else if (are_first && std::ranges::count_if(units, is_unit) <= 1) {
    found.rule = "first-number";
    show(*first_number(example, head.numbers));
  }
  return found;
}

std::string unit_options(const TextHead& head, const std::vector<std::int64_t>& columns, std::string& shown) {
  std::vector<std::string> encoded;
  std::vector<std::int64_t> others;
  std::string style;
  for (const std::int64_t column : columns) {
    const NumberRule found = number_rule(head, column);
    if (found.rule.empty()) {
      others.push_back(column);
      continue;
    }
    if (shown.empty()) shown = found.shown;
    encoded.push_back(option_text(head.names, column) + "=" + found.rule);
    if (!found.number.empty() && style.empty()) style = style_for(head, column, found.number);
  }
  if (encoded.empty()) return "";
  const std::string options = fmt::format("{}{}--encode {}", others.empty() ? "" : drop_option(head, others),
                                          others.empty() ? "" : " ", fmt::join(encoded, ","));
  const std::string either = " or ";
  const auto other = style.find(either);
  if (other == style.npos) return options + (style.empty() ? "" : " ") + style;
  return fmt::format("{0} {1}, or {0} {2},", options, style.substr(0, other), style.substr(other + either.size()));
}

std::string unquoting_command(const std::string& text) {
  constexpr std::string_view kMarks[] = {"'", "\u2018", "\u2019", "\u201c", "\u201d", "\u201e", "\u00ab", "\u00bb"};
  std::string_view inside = text;
  for (const std::string_view mark : kMarks) {
    if (inside.starts_with(mark)) inside.remove_prefix(mark.size());
    if (inside.ends_with(mark)) inside.remove_suffix(mark.size());
  }
  const bool is_number = inside.size() < text.size() && (is_number_text(inside) || !style_options(inside).empty());
  return is_number ? "sed \"s/['\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]//g\" IN > OUT" : "";
}

std::string separator_remedy(const TextHead& head) {
  for (const char c : head.columns == 1 && !head.names.empty() && head.options.delimiter.empty()
                          ? std::string_view(",;|")
                          : std::string_view()) {
    const auto expected = std::ranges::count(head.names.front(), c);
    const auto is_like = [&](const TextHead::Sample& row) {
      return std::ranges::count(row.fields.front(), c) == expected;
    };
    if (expected == 0 || !std::ranges::all_of(head.samples, is_like)) continue;
    return "; if each line stands between quotation marks, remove them: sed -e 's/^\"//' -e 's/\"\\(\\r*\\)$/\\1/' -e "
           "'s/\"\"/\"/g' IN > OUT";
  }
  std::set<std::string> marks;
  std::set<std::size_t> counts;
  for (const TextHead::Sample& row : head.samples) {
    std::string_view rest = row.fields.front();
    std::size_t count = 0;
    for (std::size_t end = 0; end != rest.npos; ++count) {
      end = rest.find_first_not_of("0123456789.+-");
      if (!is_number_text(rest.substr(0, end))) return "";
      if (end == rest.npos) continue;
      const std::size_t next = std::min(rest.find_first_of("0123456789.+-", end), rest.size());
      marks.insert(std::string(without_blanks(rest.substr(end, next - end))));
      rest.remove_prefix(next);
    }
    counts.insert(count);
  }
  if (head.columns > 1 || marks.size() != 1 || counts.size() != 1) return "";
  const std::string& mark = *marks.begin();
  if (mark.find_first_of("'/\\&*[^$") != mark.npos && mark.size() > 1) return "";
  if (mark.empty() || (mark.size() == 1 && (is_letter(mark[0]) || mark == "'"))) return "";
  const bool may_be_named = mark.size() == 1 && mark != "#";  // which begins comments
  return fmt::format("; if '{0}' separates columns, {1}", mark,
                     may_be_named ? fmt::format("say --delimiter '{}'", mark)
                                  : fmt::format("convert it: sed 's/{}/,/g' IN > OUT", mark));
}

void refuse_angles(const TextHead& head, const std::vector<std::int64_t>& columns, const std::string& name) {
  constexpr std::string_view kDegrees[] = {"°", "º", "deg", "degree", "degrees"};
  if (head.options.form != RowForm::places) return;
  for (const TextHead::Sample& row : head.samples) {
    for (const std::int64_t column : columns) {
      if (column >= std::ssize(row.fields)) continue;
      const std::string& field = row.fields[static_cast<std::size_t>(column)];
      const bool begins = field.find_first_of("0123456789") < 3;  // behind a sign or a letter; others are no angles
      const std::string unit = split_unit(field).unit;
      if (!begins || is_missing(head, field) || !is_text_field(head, field) ||
          std::ranges::find(kDegrees, unit) != std::end(kDegrees) || factor_of(unit, kNorth) ||
          factor_of(unit, kEast)) {
        continue;
      }
      refuse_value(name, fmt::format("line {}, {}: expected degrees as a number, found '{}'; write minutes and seconds "
                                     "as a part of the degree, and south and west as negative numbers: 0°07'39\" W "
                                     "is -0.1275",
                                     row.line, show_column(head.names, column), quoted(field, 40)));
    }
  }
}

}  // namespace kith::data
