// Looks for the row from which on all rows have the same form, and for the header above it.
#include "data/text/lines_before.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "data/io/input_error.h"
#include "data/io/quoted.h"
#include "data/text/first_records.h"
#include "data/text/text_header.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

constexpr std::size_t kSearchedLines = 200;     // lines of a narrow table that are searched
constexpr std::size_t kSearchedFields = 20000;  // of a wide one, but at least as many lines as decide on its form
constexpr std::ptrdiff_t kLeastRows = 2;        // at least, of the same form

using Fields = std::vector<std::string>;

/// A table behind other lines.
struct TableBehind {
  std::int64_t first_line = 0;  // counted from 1
  std::string text;             // of that line
  std::size_t columns = 0;
  std::ptrdiff_t rows = 0;
};

/// Whether a line has the form of a row: as many fields as the last one, and numbers where that has numbers.
bool is_like_row(const TextHead& head, const Fields& fields, const Fields& last) {
  if (fields.size() != last.size()) return false;
  bool numbers = false;
  for (std::size_t j = 0; j < fields.size(); ++j) {
    if (is_text_field(head, last[j]) || is_missing(head, last[j])) continue;
    const bool absent = is_missing(head, fields[j]);
    if (!absent && is_text_field(head, fields[j])) return false;
    numbers = numbers || !absent;
  }
  return numbers;
}

std::optional<TableBehind> find_table(const InputBytes& input, const TextHead& head, const TextSyntax& syntax) {
  const std::size_t lines_of_wide =
      21 + kSearchedFields / static_cast<std::size_t>(std::max<std::int64_t>(1, head.columns));
  const std::vector<FirstRecord> lines =
      first_records(input, syntax, head.options.skip_lines, std::min(kSearchedLines, lines_of_wide)).lines;
  if (lines.empty()) return {};
  std::vector<Fields> fields;
  for (const FirstRecord& line : lines) fields.push_back(fields_of(line.text, syntax));
  const auto like_last = [&](const Fields& line) { return is_like_row(head, line, fields.back()); };
  const auto rows = std::find_if_not(fields.rbegin(), fields.rend(), like_last).base();
  if (rows == fields.begin() || fields.end() - rows < kLeastRows || std::any_of(fields.begin(), rows, like_last))
    return {};
  // A line below the first that has numbers where the rows have them is a row with words in other columns.
  const auto is_faulty_row = [&](const Fields& line) {
    for (std::size_t j = 0; line.size() == rows->size() && j < line.size(); ++j) {
      if (is_number_text(line[j]) && is_number_text((*rows)[j])) return true;
    }
    return false;
  };
  if (std::any_of(fields.begin() + 1, rows, is_faulty_row)) return {};
  Fields above = rows[-1];
  const bool is_shorter = above.size() + 1 == rows->size();
  if (is_shorter) above.insert(above.begin(), "");
  std::vector<const Fields*> below;
  for (auto row = rows; row != fields.end(); ++row) below.push_back(&*row);
  const FirstFields lines_of_table{above, below, head.numbers, head.options.missing_texts, is_shorter};
  const bool is_header = above.size() == rows->size() && judge_first_line(lines_of_table).is == FirstLine::names;
  const FirstRecord& first = lines[static_cast<std::size_t>(rows - fields.begin() - (is_header ? 1 : 0))];
  return TableBehind{first.number, first.text, rows->size(), fields.end() - rows};
}

}  // namespace

void refuse_lines_before(const InputBytes& input, const TextHead& head) {
  std::optional<TableBehind> best;
  TextSyntax syntax = head.syntax;
  syntax.comment = head.options.comment.value_or('#');
  syntax.comments_lead = !head.options.comment;
  const std::string delimiters = !head.options.delimiter.empty() ? head.options.delimiter
                                 : head.numbers.decimal == ','   ? "\t;| "
                                                                 : "\t;,| ";
  const bool is_even = head.columns > 1 && std::all_of(head.samples.begin(), head.samples.end(), [&](const auto& row) {
                         return std::ssize(row.fields) == head.columns;
                       });
  for (const char c : is_even ? std::string(1, head.syntax.delimiter) : delimiters) {
    syntax.delimiter = c;
    const std::optional<TableBehind> table = find_table(input, head, syntax);
    if (table && (!best || table->columns > best->columns)) best = table;
  }
  if (!best || best->first_line <= head.first_line) return;
  refuse_input(input.name(), fmt::format("the table seems to begin in line {}, '{}', behind lines of another kind; say "
                                         "--skip-lines {}",
                                         best->first_line, quoted(best->text, 40), best->first_line - 1));
}

}  // namespace kith::data
