// Judges rows by their place and their length: records of another length, and lines behind the table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  const std::string_view text = record.substr(0, record.find('\n'));
  std::vector<std::string> fields = fields_of(text, {.delimiter = head.syntax.delimiter, .quotes = false});
  const bool is_one = std::ranges::count(text, '"') == 1, is_there = column < std::ssize(fields);
  const bool is_number = is_one && is_there && is_number_text(fields[static_cast<std::size_t>(column)].substr(1));
  refuse_input(fmt::format("{}: line {}, {}", name, line,
                           show_column(column < head.columns ? head.names : std::vector<std::string>(), column)),
               fmt::format("expected a closing quote, found none: its quote is never closed; {}{}",
                           is_number ? "" : "close it, or is it a character like others? say --quote none",
                           is_one ? (is_number ? "" : "; or ") + ("remove it: " + stray_quote_command(line)) : ""));
}

std::string stray_quote_command(std::int64_t line) { return fmt::format("sed '{}s/\"//' IN > OUT", line); }

void refuse_fixed_width(const InputBytes& input, const TextHead& head) {
  constexpr std::size_t kLines = 20, kLeast = 4;
  if (head.syntax.delimiter != kBlanks || head.options.skip_lines > 0) return;
  const std::vector<FirstRecord> lines = first_records(input, head.syntax, 0, kLines).lines;
  const auto is_other = [&lines](const FirstRecord& line) { return line.text.size() != lines.front().text.size(); };
  if (lines.size() < kLeast || std::ranges::any_of(lines, is_other)) return;
  refuse_input(input.name(),
               "expected fields between blanks, found lines of one length with different numbers of fields, "
               "as columns of fixed width have; make a table of them: python3 -c \"import pandas; "
               "pandas.read_fwf('IN').to_csv('OUT.csv', index=False)\"");
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
  refuse_fixed_width(input, head);
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

namespace {

/// Whether the last row has the sums of the others: in all columns of numbers, or, where only it lacks a name, in one
/// of them; or their means in all.
bool holds_sums(const InputBytes& input, const TextHead& head, const TextIndex& index,
                const std::vector<std::string>& last, std::int64_t line_of_last) {
  const auto number_of = [&head](const std::string& text) { return value_of(plain_number(text, head.numbers)); };
  std::vector<std::size_t> numbers;
  bool has_gap = false;
  for (std::size_t j = 0; j < last.size(); ++j) {
    if (last[j].empty()) {
      has_gap = has_gap || std::ranges::none_of(head.samples, [&](const TextHead::Sample& row) {
                  return row.line != line_of_last && (j >= row.fields.size() || row.fields[j].empty());
                });
    } else if (is_text_field(head, last[j])) {
      return false;
    } else {
      numbers.push_back(j);
    }
  }
  const auto is_larger = [&](std::size_t j) {
    return std::ranges::none_of(head.samples, [&](const TextHead::Sample& row) {
      return j < row.fields.size() && number_of(row.fields[j]) > number_of(last[j]);
    });
  };
  if (index.blocks.size() > 1 || numbers.empty()) return false;
  if (!has_gap && (numbers.size() < 2 || !std::ranges::all_of(numbers, is_larger))) return false;
  std::vector<double> sums(last.size(), 0.0);
  for_records(input, head.syntax, index, [&](std::string_view record, std::int64_t row, std::int64_t) {
    if (row + 1 == index.rows) return;
    const std::vector<std::string> fields = fields_of(record, head.syntax);
    for (const std::size_t j : numbers) sums[j] += j < fields.size() ? number_of(fields[j]) : 0.0;
  });
  const double rounding = has_gap ? 1e-3 : 1e-9;
  const auto is_near = [&](std::size_t j, double rows) {
    return sums[j] != 0.0 && std::abs(number_of(last[j]) - sums[j] / rows) <= rounding * std::abs(sums[j] / rows);
  };
  const auto sum = [&](std::size_t j) { return is_near(j, 1.0); };
  const auto mean = [&](std::size_t j) { return is_near(j, static_cast<double>(index.rows - 1)); };
  if (!has_gap) return std::ranges::all_of(numbers, sum);
  return std::ranges::any_of(numbers, sum) || (numbers.size() > 1 && std::ranges::all_of(numbers, mean));
}

}  // namespace

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
  const std::vector<std::string> fields = fields_of(last, head.syntax);
  remark_on(fields, "last", line_of_last, fmt::format("head -n {}", line_of_last - 1));
  if (totals.empty() && std::ssize(fields) == head.columns && holds_sums(input, head, index, fields, line_of_last)) {
    totals.push_back(
        fmt::format("the last row has the sums or means of the rows above it; leave it out: head -n {} IN > "
                    "OUT",
                    line_of_last - 1));
  }
  return totals;
}

}  // namespace kith::data
