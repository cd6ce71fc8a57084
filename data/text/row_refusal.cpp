// Judges rows by their place and their length: records of another length, and lines behind the table.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "data/format/column_choice.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/text/text_number.h"
#include "data/text/text_refusal.h"
#include "data/text/text_words.h"

namespace kith::data {

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

std::string or_cut(const InputBytes& input, const TextHead& head, const TextIndex& index, std::int64_t line) {
  constexpr std::int64_t kLeastRows = 5, kLast = 2;  // rows that may be a note or a count below the table
  if (index.rows < kLeastRows) return "";
  std::int64_t lines[kLast] = {};
  Matrix<std::byte> buffer;
  for_records(input, head.syntax, index.blocks.back(), buffer,
              [&](std::string_view, std::int64_t row, std::int64_t number) { lines[row % kLast] = number; });
  if (line < *std::min_element(std::begin(lines), std::end(lines))) return "";
  return fmt::format("; or, if the table ends above it, cut it off: head -n {} IN > OUT", line - 1);
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
                                                 : "or name the delimiter with --delimiter") +
                                 or_cut(input, head, index_text(input, head), line));
}

void refuse_row_of_words(const std::string& name, std::int64_t line) {
  refuse_input(name, fmt::format("expected numbers, found words in all columns of line {0}; if another table begins "
                                 "there, cut it off with head -n {1} IN > OUT; if not, leave the line out: sed {0}d IN "
                                 "> OUT",
                                 line, line - 1));
}

std::vector<std::string> remarks_on_totals(const InputBytes& input, TextHead& head, const TextIndex& index) {
  constexpr std::int64_t kLeastRows = 5;
  std::vector<std::string> totals;
  if (index.rows < kLeastRows) return totals;
  Matrix<std::byte> buffer;
  std::string_view last;
  std::int64_t line_of_last = 0;
  for_records(input, head.syntax, index.blocks.back(), buffer,
              [&](std::string_view record, std::int64_t, std::int64_t line) {
                last = record;
                line_of_last = line;
              });
  const auto is_among_numbers = [&](const std::string& text, std::size_t column) {
    return is_text_field(head, text) && !is_missing(head, text) &&
           std::ranges::none_of(head.samples, [&](const TextHead::Sample& row) {
             return row.line != line_of_last &&
                    (column >= row.fields.size() || is_text_field(head, row.fields[column]));
           });
  };
  const auto remark_on = [&](const std::vector<std::string>& fields, const char* which, std::int64_t line,
                             const std::string& command) {
    for (std::size_t j = 0; j < std::min(fields.size(), static_cast<std::size_t>(head.columns)); ++j) {
      const auto has_it = [&](const TextHead::Sample& row) {
        return row.line != line && j < row.fields.size() && row.fields[j] == fields[j];
      };
      const bool is_total = says_total_or_mean(fields[j]) && std::ranges::none_of(head.samples, has_it);
      const bool is_note = line == line_of_last && is_among_numbers(fields[j], j);
      if (!is_total && !is_note) continue;
      (is_total ? totals : head.remarks)
          .push_back(fmt::format("the {} row has '{}' in {}; if it {}, leave it out: {} IN > OUT", which,
                                 quoted(fields[j], 40), show_column(head.names, static_cast<std::int64_t>(j)),
                                 is_total ? "holds sums or means of other rows" : "is a note below the table",
                                 command));
      return;
    }
  };
  const TextHead::Sample& first = head.samples.front();
  remark_on(first.fields, "first", first.line, fmt::format("sed {}d", first.line));
  remark_on(fields_of(last, head.syntax), "last", line_of_last, fmt::format("head -n {}", line_of_last - 1));
  return totals;
}

}  // namespace kith::data
