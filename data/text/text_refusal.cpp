// Finds columns of text in the sampled rows, and words the refusals.
#include "data/text/text_refusal.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/quoted.h"
#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/text/text_number.h"

namespace kith::data {

bool is_missing(const TextHead& head, std::string_view text) {
  return text.empty() || is_missing_marker(text) ||
         std::find(head.missing_texts.begin(), head.missing_texts.end(), text) != head.missing_texts.end();
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

void refuse_text_columns(const TextHead& head, const std::vector<std::int64_t>& columns, const std::string& name) {
  constexpr std::size_t kShown = 30;
  std::vector<std::string> shown;
  for (const std::int64_t j : columns) shown.push_back(shown.size() < kShown ? show_column(head.names, j) : "");
  const bool several = columns.size() > 1;
  const TextHead::Sample& row = head.samples.front();
  const std::string& text = row.fields[static_cast<std::size_t>(columns[0])];
  const auto date = std::find_if(columns.begin(), columns.end(), [&row](std::int64_t column) {
    return is_date_text(row.fields[static_cast<std::size_t>(column)]);
  });
  const bool dates = date == columns.begin();
  const std::string others =
      dates || date == columns.end()
          ? ""
          : fmt::format("; {} holds dates: {}", show_column(head.names, *date), remedy_for_dates(head, *date));
  refuse_input(
      name,
      fmt::format(
          "expected numbers, found {} in {} (such as '{}' in line {}); leave {} out with --drop-columns {}, {}{}",
          dates ? "dates" : "text", show_list(shown, kShown), quoted(text, 40), row.line, several ? "them" : "it",
          column_list(head, columns),
          dates     ? "or convert: " + remedy_for_dates(head, columns[0])
          : several ? "or make features of their texts with --encode onehot"
                    : "make features of its texts with --encode onehot, or keep it as text with --label-column or "
                      "--id-column",
          others));
}

void refuse_length(const InputBytes& input, const TextHead& head, std::string_view record, std::int64_t line) {
  const bool may_be_comment = record.starts_with('#') && head.syntax.comment != '#';
  refuse_input(input.name(),
               fmt::format("line {}: expected {} fields ({}), as in line {}, found {}; correct the line, {}", line,
                           head.columns, name_of_delimiter(head.syntax.delimiter), head.first_line,
                           fields_of(record, head.syntax.delimiter).size(),
                           may_be_comment ? "or say --comment '#' if lines that begin with # are comments"
                                          : "or name the delimiter with --delimiter"));
}

}  // namespace kith::data
