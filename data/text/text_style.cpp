// Compares how a table writes the numbers and dates of a column with how the table of a model wrote them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/format/column_choice.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/text/number_marks.h"
#include "data/text/text_columns.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"
#include "data/text/text_units.h"
#include "data/text/text_values.h"

namespace kith::data {
namespace {

/// A way to write the values of a column.
struct Style {
  std::function<std::optional<double>(std::string_view)> read;
  std::string option;
};

/// What a style makes of the values of a column.
struct StyleCount {
  std::int64_t read = 0;     // values
  std::int64_t lost = 0;     // that the style of the model reads, and this one does not
  std::int64_t changed = 0;  // that both read as different numbers
  std::uint64_t values = 0;  // what was read, in a checksum
};

std::optional<double> styled_number(std::string_view text, const ColumnEncoding* unit, const NumberStyle& style) {
  if (unit != nullptr) return number_in(text, unit->texts().front(), style);
  const std::string number = plain_number(text, style);
  return number.empty() ? std::nullopt : std::optional(value_of(number));
}

/// All styles of values such as those of the column; empty if there is only one.
std::vector<Style> styles_of(const TextHead& head, const ColumnEncoding* encoding, std::int64_t column) {
  std::vector<Style> styles;
  if (encoding == nullptr || encoding->how() == Encode::unit) {
    for (const NumberStyle& style : number_styles()) {
      styles.push_back(
          {[=](std::string_view text) { return styled_number(text, encoding, style); }, options_of(style)});
    }
  } else if (kind_of(encoding->how()) == std::string_view("date")) {
    for (const auto& [order, word] : {std::pair{DateOrder::day_first, "dmy"}, {DateOrder::month_first, "mdy"}}) {
      styles.push_back({[order = order](std::string_view text) { return parse_date(text, order); },
                        fmt::format("--encode {}={}", option_text(head.names, column), word)});
    }
  }
  return styles;
}

}  // namespace

void DatesFound::add(Encode how, const std::string& text, std::int64_t line) {
  const auto note = [line](std::int64_t& first) { first = first == 0 ? line : first; };
  bool is_unclear = false;
  if (how == Encode::time) {
    const std::optional<TimeText> time = parse_time(text);
    if (!time) return;  // reading the rows refuses it
    if (time->is_clear) note(clear_line_);
    is_unclear = !time->is_clear;
  } else {
    const DateReadings found = date_readings(text);
    if (found.day_first && !found.month_first) note(day_line_);
    if (found.month_first && !found.day_first) note(month_line_);
    has_points_ = has_points_ || (found.are_different() && found.has_points);
    is_unclear = found.are_different() && !found.has_points;
  }
  if (!is_unclear || unclear_line_ > 0) return;
  unclear_line_ = line;
  unclear_ = text;
}

Encode DatesFound::settle(Encode how, const std::string& table, const TextHead& head, std::int64_t column) const {
  const std::string shown = show_column(head.names, column), option = option_text(head.names, column);
  if (how == Encode::time) {
    if (clear_line_ == 0 || unclear_line_ == 0) return how;
    refuse_input(table, fmt::format("line {0}, {1}: is '{2}' hours and minutes, or minutes and seconds? Line {3} has "
                                    "more than these; write it as {2}:00 or as 0:{2}, or leave the column out with "
                                    "--drop-columns {4}",
                                    unclear_line_, shown, quoted(unclear_), clear_line_, option));
  }
  if (day_line_ > 0 && month_line_ > 0) {
    refuse_input(table, fmt::format("expected one order of day and month in {}, found the day first in line {} and "
                                    "the month first in line {}; correct one of them, or leave the column out with "
                                    "--drop-columns {}",
                                    shown, day_line_, month_line_, option));
  }
  if (day_line_ > 0) return Encode::date_day_first;
  if (month_line_ > 0) return Encode::date_month_first;
  if (unclear_line_ > 0) {
    refuse_input(table, fmt::format("line {}, {}: is the day or the month first in '{}'? No row of the column decides "
                                    "it; say --encode {}=dmy (day first) or --encode {}=mdy (month first)",
                                    unclear_line_, shown, quoted(unclear_), option, option));
  }
  return has_points_ ? Encode::date_day_first : Encode::date;
}

std::string question_about(char mark, const std::string& text, const std::vector<std::string>& names,
                           std::int64_t column) {
  return fmt::format("does the {} in {} separate thousands or decimals{}? Other numbers do not decide it; say ",
                     mark == '.' ? "point" : "comma", show_column(names, column),
                     text.empty() ? "" : fmt::format(", as in '{}'", quoted(text, 40)));
}

std::string style_for(const TextHead& head, std::int64_t column, const std::string& text) {
  if (style_options(text).empty()) return "";
  StyleChoice styles;
  styles.read(text, NumberStyle{}, true);
  for (const TextHead::Sample& row : head.samples) {
    if (column >= std::ssize(row.fields)) continue;
    styles.read(row.fields[static_cast<std::size_t>(column)], NumberStyle{}, true);
  }
  const char unclear = settle_marks(styles, styles.marks(), head.syntax.delimiter);
  if (unclear != '\0' && head.numbers.is_plain()) return options_for_either(unclear, "");
  const std::string options = styles.options().empty() ? style_options(text) : styles.options();
  return head.numbers.is_plain() || options.find(' ', options.find(' ') + 1) != options.npos ? options : "";
}

bool refuse_other_style(const InputBytes& input, const TextHead& head, const TextIndex& index,
                        const std::vector<std::int64_t>& points, const std::vector<ColumnEncoding>& encodings,
                        std::int64_t judged_column, const std::string& text_found) {
  const auto found = std::ranges::find(encodings, judged_column, &ColumnEncoding::column);
  const ColumnEncoding* of_judged = found == encodings.end() ? nullptr : &*found;
  const bool is_date = of_judged != nullptr && kind_of(of_judged->how()) == std::string_view("date");
  const std::vector<Style> possible = styles_of(head, of_judged, judged_column);
  if (std::ranges::none_of(possible, [&](const Style& style) { return style.read(text_found).has_value(); })) {
    return false;
  }
  struct Column {
    const ColumnEncoding* encoding = nullptr;  // null: numbers
    std::vector<Style> styles = {};
    std::vector<StyleCount> counts = {};
    std::int64_t known = 0, readable = 0;  // values that the model reads, or any style
    std::int64_t line = 0;                 // of the first value that the model does not read, but a style; 0: none
    std::string text = {};
  };
  std::vector<Column> columns(static_cast<std::size_t>(head.columns));
  for (const std::int64_t j : points) columns[static_cast<std::size_t>(j)].styles = {Style{}};
  for (const ColumnEncoding& encoding : encodings) {
    columns[static_cast<std::size_t>(encoding.column())].encoding = &encoding;
  }
  Column& judged = columns[static_cast<std::size_t>(judged_column)];
  for (std::int64_t j = 0; j < head.columns; ++j) {
    Column& column = columns[static_cast<std::size_t>(j)];
    // The marks of numbers are those of all columns; the order of dates is that of one.
    const bool counts = !column.styles.empty() && (&column == &judged || !is_date);
    column.styles = counts ? styles_of(head, column.encoding, j) : std::vector<Style>();
    column.counts.resize(column.styles.size());
  }
  const auto count = [&](Column& column, const std::string& text, std::int64_t line) {
    const auto known =
        column.encoding != nullptr ? column.encoding->number(text) : styled_number(text, nullptr, head.numbers);
    bool any = known.has_value();
    column.known += known ? 1 : 0;
    for (std::size_t s = 0; s < column.styles.size(); ++s) {
      const auto value = column.styles[s].read(text);
      StyleCount& style = column.counts[s];
      any = any || value;
      style.read += value ? 1 : 0;
      style.lost += known && !value ? 1 : 0;
      style.changed += known && value && *known != *value ? 1 : 0;
      style.values = 31 * style.values + std::hash<double>{}(value.value_or(0.0));
    }
    column.readable += any ? 1 : 0;
    if (column.line > 0 || known || !any) return;
    column.line = line;
    column.text = text;
  };
  for_records(input, head.syntax, index, [&](std::string_view record, std::int64_t, std::int64_t line) {
    FieldCursor cursor(record, head.syntax);
    for (Column& column : columns) {
      if (!cursor.more()) break;
      const std::string text = text_of(cursor.take());
      if (!column.styles.empty() && !is_missing(head, text)) count(column, text, line);
    }
  });
  // One value, or few, may be mistakes.
  constexpr std::int64_t kMostPercent = 10;
  const std::int64_t unread = judged.readable - judged.known;
  const bool is_unread = unread > 1 && 100 * unread > kMostPercent * judged.readable;
  std::vector<std::size_t> fitting;  // styles that read the whole column, each with other values
  for (std::size_t s = 0; s < judged.styles.size(); ++s) {
    const StyleCount& style = judged.counts[s];
    const bool fits = style.read == judged.readable && (style.changed > 0 || is_unread);
    const auto is_same = [&](std::size_t other) { return judged.counts[other].values == style.values; };
    if (fits && std::ranges::none_of(fitting, is_same)) fitting.push_back(s);
  }
  if (fitting.empty()) return true;
  std::vector<std::string> options;
  for (const std::size_t s : fitting) options.push_back("say " + judged.styles[s].option);
  const auto other = std::ranges::find_if(columns, [&](const Column& column) {
    return &column != &judged && !column.styles.empty() && column.counts[fitting.front()].lost > 0;
  });
  refuse_input(fmt::format("{}: line {}, {}", input.name(), judged.line, show_column(head.names, judged_column)),
               fmt::format("expected {} as the model has them, found '{}', and the whole column is written so; {}",
                           is_date ? "dates" : "numbers", quoted(judged.text, 40),
                           other == columns.end() ? fmt::format("{}", fmt::join(options, ", or "))
                                                  : fmt::format("write it as {}, whose numbers are those of the model",
                                                                show_column(head.names, other - columns.begin()))));
}

}  // namespace kith::data
