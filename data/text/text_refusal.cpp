// Finds columns of text in the sampled rows, and words the refusals.
#include "data/text/text_refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/quoted.h"
#include "data/text/lines_before.h"
#include "data/text/text_number.h"

namespace kith::data {

bool is_missing(const TextHead& head, std::string_view text) {
  return text.empty() || is_missing_text(text) ||
         std::find(head.missing_texts.begin(), head.missing_texts.end(), text) != head.missing_texts.end();
}

bool is_missing_category(const TextHead& head, std::string_view text, Missing missing) {
  return missing == Missing::keep ? is_missing(head, text) : text.empty() || is_missing_marker(text);
}

bool is_text_field(const TextHead& head, const std::string& field) {
  return !is_number_text(field) && !has_decimal_comma(field) && plain_number(field, head.numbers).empty() &&
         style_options(field).empty();
}

std::string remedy_for_dates(const TextHead& head, std::int64_t column) {
  const std::string name = head.names.empty() ? "COLUMN" : head.names[static_cast<std::size_t>(column)];
  const bool plain = quoted(name, 60) == name && name.find_first_of("'\"$`\\!") == name.npos;
  return fmt::format(
      "python3 -c \"import pandas as p; t = p.read_csv('IN'); t['{0}'] = (p.to_datetime(t['{0}']) - "
      "p.Timestamp(0)).dt.total_seconds() / 86400; t.to_csv('OUT.csv', index=False)\" makes days of them",
      plain ? name : "COLUMN");
}

std::vector<std::int64_t> text_columns(const TextHead& head, const std::vector<std::int64_t>& columns,
                                       Missing missing) {
  std::vector<std::int64_t> result;
  for (const std::int64_t j : columns) {
    const auto column = static_cast<std::size_t>(j);
    const auto is_text = [&head, column, missing](const TextHead::Sample& row) {
      if (column >= row.fields.size()) return false;
      const std::string& field = row.fields[column];
      const bool ignored = missing == Missing::keep ? is_missing(head, field) : field.empty();
      return !ignored && is_text_field(head, field);
    };
    if (std::all_of(head.samples.begin(), head.samples.end(), is_text)) result.push_back(j);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string column_list(const TextHead& head, const std::vector<std::int64_t>& columns) {
  constexpr std::size_t kNamed = 30;
  std::vector<std::string> items;
  if (columns.size() <= kNamed) {
    for (const std::int64_t j : columns) items.push_back(option_text(head.names, j));
    return fmt::format("{}", fmt::join(items, ","));
  }
  for (std::size_t begin = 0; begin < columns.size();) {
    std::size_t end = begin + 1;
    while (end < columns.size() && columns[end] == columns[end - 1] + 1) ++end;
    items.push_back(end == begin + 1 ? std::to_string(columns[begin] + 1)
                                     : fmt::format("{}-{}", columns[begin] + 1, columns[end - 1] + 1));
    begin = end;
  }
  return fmt::format("{}", fmt::join(items, ","));
}

std::string drop_option(const TextHead& head, const std::vector<std::int64_t>& columns) {
  const std::string& before = head.options.drop_columns;
  return fmt::format("{}--drop-columns {}{}{}", head.header_option, before, before.empty() ? "" : ",",
                     column_list(head, columns));
}

void refuse_text_columns(const TextHead& head, const std::vector<std::int64_t>& columns, std::size_t points,
                         const std::string& name) {
  constexpr std::size_t kShown = 30;
  std::vector<std::string> shown;
  for (const std::int64_t j : columns) shown.push_back(shown.size() < kShown ? show_column(head.names, j) : "");
  const bool several = columns.size() > 1;
  const TextHead::Sample& row = head.samples.front();
  const std::string& text = row.fields[static_cast<std::size_t>(columns[0])];
  const auto date = std::find_if(columns.begin(), columns.end(), [&row](std::int64_t column) {
    return is_date_text(row.fields[static_cast<std::size_t>(column)]);
  });
  const bool dates = date == columns.begin(), all = columns.size() == points;
  const std::string leave_out = all ? ""
                                    : fmt::format("leave {} out with {}, {}", several ? "them" : "it",
                                                  drop_option(head, columns), dates || several ? "or " : "");
  const std::string others =
      dates || date == columns.end()
          ? ""
          : fmt::format("; {} holds dates: {}", show_column(head.names, *date), remedy_for_dates(head, *date));
  refuse_input(
      name,
      fmt::format("expected numbers, found {} in {} (such as '{}' in line {}); {}{}{}{}", dates ? "dates" : "text",
                  show_list(shown, kShown), quoted(text, 40), row.line, leave_out,
                  dates ? "convert: " + remedy_for_dates(head, columns[0])
                  : all ? "make features of the texts with --encode onehot"
                  : several
                      ? "make features of their texts with --encode onehot"
                      : "make features of its texts with --encode onehot, or keep it as text with --label-column or "
                        "--id-column",
                  others, or_header(head, row.line)));
}

std::string_view without_surplus(const TextHead& head, std::string_view record) {
  FieldCursor cursor(record, head.syntax);
  const char* end = record.data() + record.size();
  for (std::int64_t j = 0; j < head.columns && cursor.more(); ++j) {
    cursor.take();
    end = cursor.at();
  }
  if (!head.may_end_empty || !cursor.more()) return record;
  return record.substr(0, static_cast<std::size_t>(end - record.data()) - 1);  // and the delimiter
}

std::string style_for(const TextHead& head, std::int64_t column, const std::string& text) {
  if (style_options(text).empty()) return "";
  StyleChoice styles;
  styles.add(text);
  for (const TextHead::Sample& row : head.samples) {
    if (column < std::ssize(row.fields)) styles.add(row.fields[static_cast<std::size_t>(column)]);
  }
  const std::string options = styles.options().empty() ? style_options(text) : styles.options();
  return head.numbers.is_plain() || options.find(' ', options.find(' ') + 1) != options.npos ? options : "";
}

std::string or_header(const TextHead& head, std::int64_t line) {
  const bool open = head.options.header == Header::automatic && head.names.empty() && line == head.first_line;
  return open ? fmt::format("; if line {} names the columns, say --header yes", line) : "";
}

void refuse_unclosed(const std::string& name, const TextHead& head, std::string_view record, std::int64_t line) {
  std::int64_t column = 0;
  for (FieldCursor cursor(record, head.syntax); cursor.more() && cursor.take().problem == nullptr;) ++column;
  refuse_input(
      fmt::format("{}: line {}, {}", name, line,
                  show_column(column < head.columns ? head.names : std::vector<std::string>(), column)),
      "expected a closing quote, found none: its quote is never closed; close it, or is it a character like others? "
      "say --quote none");
}

namespace {

/// The command that joins the words of a first field that holds blanks; empty unless numbers follow it as they follow
/// the others.
std::string join_command(const TextHead& head, const std::vector<std::string>& fields) {
  const std::int64_t columns = head.columns, more = std::ssize(fields) - columns;
  if (head.syntax.delimiter != kBlanks || more <= 0 || columns < 2) return "";
  const auto is_number = [](const std::string& field) { return is_number_text(field); };
  if (!std::all_of(fields.begin() + more + 1, fields.end(), is_number) || is_number_text(fields.front())) return "";
  return fmt::format(
      "awk '{{while (NF > {0}) {{$1 = $1 \"_\" $2; for (i = 3; i <= NF; i++) $(i - 1) = $i; NF--}}}} 1' IN > OUT",
      columns);
}

}  // namespace

void refuse_length(const InputBytes& input, const TextHead& head, std::string_view record, std::int64_t line) {
  refuse_lines_before(input, head);
  const bool may_be_comment = record.starts_with('#') && head.syntax.comment != '#';
  constexpr std::int64_t kMostWords = 20;  // of a first field that holds blanks
  const std::int64_t found = count_fields(record, head.syntax, std::numeric_limits<std::int64_t>::max());
  const std::string join = found <= head.columns + kMostWords ? join_command(head, fields_of(record, head.syntax)) : "";
  const std::string problem =
      fmt::format("line {}: expected {} fields ({}), as in line {}, found {}", line, head.columns,
                  name_of_delimiter(head.syntax.delimiter), head.first_line, found);
  if (!join.empty()) {
    refuse_input(input.name(), problem + "; if its first field holds blanks, join them in all lines: " + join);
  }
  refuse_input(input.name(), problem + "; correct the line, " +
                                 (may_be_comment ? "or say --comment '#' if lines that begin with # are comments"
                                                 : "or name the delimiter with --delimiter"));
}

}  // namespace kith::data
