// Detects delimiter and header from the first records of a text file, and refuses ambiguous ones.
#include "data/text/text_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/quoted.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/text/foreign_text.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"

namespace kith::data {
namespace {

constexpr std::size_t kSamples = 20;  // rows that decide
constexpr std::int64_t kFirstBytes = std::int64_t{64} << 10;
constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;

struct Line {
  std::int64_t number;      // of its first line, counted from 1
  std::int64_t last;        // of its last line
  std::int64_t begin, end;  // in the file, line end included
  std::string text;
};

/// The first records, and what was skipped before each of them.
struct FirstRecords {
  std::vector<Line> lines;  // kSamples, and one more for a header
  std::vector<SkippedLines> skipped;
  std::string comments;  // lines before the first record
};

FirstRecords first_records(const InputBytes& input, const TextSyntax& syntax) {
  for (std::int64_t limit = kFirstBytes;; limit *= 8) {
    const std::string bytes = input.begin(limit);
    const bool whole = std::ssize(bytes) == input.size();
    if (bytes.find('\n') == bytes.npos && bytes.find('\r') != bytes.npos && (whole || limit >= kMaxBytes)) {
      refuse_input(input.name(),
                   "expected lines that end with LF or CR LF, found CR only; convert it: tr '\\r' '\\n' < IN > OUT");
    }
    const std::int64_t bom_bytes = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
    RecordCursor cursor(std::string_view(bytes).substr(static_cast<std::size_t>(bom_bytes)), syntax, whole);
    FirstRecords first;
    std::vector<Line>& lines = first.lines;
    for (std::string_view record; lines.size() <= kSamples && cursor.next(record);) {
      const std::int64_t begin = record.data() - bytes.data();
      if (lines.empty()) first.comments = bytes.substr(static_cast<std::size_t>(bom_bytes), begin - bom_bytes);
      first.skipped.push_back({cursor.comments(), cursor.blank_lines()});
      lines.push_back(
          {cursor.line() + 1, cursor.lines_passed(), begin, bom_bytes + cursor.passed(), std::string(record)});
    }
    if (whole || lines.size() >= 2) {
      if (const std::string foreign = foreign_text(bytes); !foreign.empty()) {
        refuse_input(input.name(), fmt::format("expected a table, such as CSV, found {}", foreign));
      }
      return first;
    }
    if (limit >= kMaxBytes) {
      refuse_input(input.name(),
                   fmt::format("its first lines are longer than {} bytes; is it a table, and is every quote "
                               "closed?",
                               kMaxBytes));
    }
  }
}

/// Whether the delimiter splits all rows into the same number of fields, at least two. A header may have one field
/// less, since R writes no name for row names.
bool is_consistent(const std::vector<Line>& lines, char delimiter) {
  const std::size_t columns = fields_of(lines.back().text, delimiter).size();
  if (columns < 2) return false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t fields = fields_of(lines[i].text, delimiter).size();
    if (fields != columns && !(i == 0 && lines.size() > 1 && fields > 1 && fields + 1 == columns)) return false;
  }
  return true;
}

/// `decimal`: of the numbers; the comma is either that or a delimiter.
char find_delimiter(const std::vector<Line>& lines, char decimal) {
  const std::string candidates = decimal == ',' ? "\t;| " : "\t;,| ";
  for (const char c : candidates) {
    if (is_consistent(lines, c)) return c;
  }
  // One column, or rows of different lengths, which reading the rows will report.
  const auto fields = [&](char c) { return fields_of(lines.front().text, c).size(); };
  return *std::max_element(candidates.begin(), candidates.end(), [&](char a, char b) { return fields(a) < fields(b); });
}

/// Whether the fields are 0, 1, 2, ... or 1, 2, 3, ...: a row of values, or names that pandas and R generate.
bool counts_up(const std::vector<std::string>& fields) {
  std::vector<std::string> numbers(fields.begin() + (fields.front().empty() ? 1 : 0), fields.end());
  if (numbers.size() < 3) return false;
  for (const std::size_t start : {0, 1}) {
    bool all = true;
    for (std::size_t j = 0; j < numbers.size(); ++j) all = all && numbers[j] == std::to_string(start + j);
    if (all) return true;
  }
  return false;
}

/// A line with a number is never a header, since treating it as one would lose a row.
bool find_header(const InputBytes& input, const std::vector<Line>& lines, const std::vector<std::string>& first,
                 const NumberStyle& style) {
  if (counts_up(first)) {
    refuse_input(input.name(),
                 fmt::format("line {} counts up from {}: names of columns, or values? say --header yes or "
                             "--header no",
                             lines.front().number, first[first.front().empty() ? 1 : 0]));
  }
  const auto is_value = [&style](const std::string& field) {
    return is_number_text(field) || has_decimal_comma(field) || !plain_number(field, style).empty();
  };
  return std::none_of(first.begin(), first.end(), is_value) &&
         std::none_of(first.begin(), first.end(), is_missing_marker) &&
         std::any_of(first.begin(), first.end(), [](const std::string& field) { return !field.empty(); });
}

/// Removes a first line "sep=;", by which Excel knows the delimiter, and returns the delimiter; '\0' if there is none.
char take_named_delimiter(FirstRecords& first) {
  constexpr std::string_view kBegin = "sep=";
  if (first.lines.size() < 2) return '\0';
  const std::string line = first.lines.front().text;
  if (line.size() != kBegin.size() + 1 || !line.starts_with(kBegin)) return '\0';
  first.lines.erase(first.lines.begin());
  first.skipped.erase(first.skipped.begin());
  return line.back();
}

/// The memory of the fields of the first records is checked before they are split: a line may be nothing but
/// delimiters.
void require_memory_of_fields(const FirstRecords& first, const std::string& name) {
  std::int64_t fields = 0;
  for (const Line& line : first.lines) {
    for (const char c : {'\t', ';', ',', '|', kBlanks}) {
      fields = std::max<std::int64_t>(fields, std::count(line.text.begin(), line.text.end(), c));
    }
  }
  constexpr std::int64_t kLarge = std::int64_t{1} << 16, kBytes = 200;  // of a name, its place, and a choice of columns
  const std::int64_t copies = std::ssize(first.lines) + 2;
  if (fields < kLarge) return;
  require_memory(fields * (copies * static_cast<std::int64_t>(sizeof(std::string)) + kBytes), name + " (its columns)");
}

/// A remark on the first comment that has the form of a row: "#2,1.5,3" may be a row with the name #2. Empty if none
/// has.
std::string remark_on(const FirstRecords& first, const TextHead& head, const ReadOptions& options) {
  if (options.comment || head.columns < 2) return "";
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < first.comments.size(); ++number) {
    const std::size_t end = std::min(first.comments.find('\n', begin), first.comments.size());
    const std::string line = first.comments.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with('#')) continue;
    const std::vector<std::string> fields = fields_of(line, head.syntax.delimiter);
    if (std::ssize(fields) != head.columns || !std::all_of(fields.begin() + 1, fields.end(), is_number_text)) continue;
    return fmt::format(
        "line {}, '{}', was skipped as a comment, but has the form of a row; --comment none reads it as "
        "one",
        number + 1, quoted(line, 40));
  }
  return "";
}

}  // namespace

TextHead read_head(const InputBytes& input, const ReadOptions& options) {
  TextSyntax syntax{.delimiter = options.delimiter.empty() ? ',' : options.delimiter[0],
                    .comment = options.comment.value_or('#'),
                    .comments_lead = !options.comment};
  FirstRecords first_lines = first_records(input, syntax);
  const std::vector<Line>& lines = first_lines.lines;
  const char named = take_named_delimiter(first_lines);
  if (lines.empty()) {
    refuse_input(input.name(),
                 "expected rows of numbers, found nothing but blank lines and comments; give a file that holds some");
  }
  TextHead head;
  require_memory_of_fields(first_lines, input.name());
  if (options.delimiter.empty()) syntax.delimiter = named != '\0' ? named : find_delimiter(lines, options.decimal);
  if (!options.comment) syntax.comment = '\0';  // the rows have begun
  head.syntax = syntax;
  head.numbers = {options.decimal, options.thousands};
  head.missing_texts = options.missing_texts;
  head.first_line = lines.front().number;
  std::vector<std::string> first = fields_of(lines.front().text, syntax.delimiter);
  const bool header = options.header == Header::automatic ? find_header(input, lines, first, head.numbers)
                                                          : options.header == Header::yes;
  for (std::size_t i = header ? 1 : 0; i < lines.size(); ++i) {
    head.samples.push_back({lines[i].number, fields_of(lines[i].text, syntax.delimiter)});
  }
  if (head.samples.empty()) {
    refuse_input(input.name(), fmt::format("expected rows of numbers, found only line {}, which names columns; if it "
                                           "holds values, say --header no",
                                           head.first_line));
  }
  head.columns = static_cast<std::int64_t>(header ? first.size() : head.samples.front().fields.size());
  if (!header) {
    head.rows_at = lines.front().begin;
    head.lines_before = head.first_line - 1;
    head.skipped = first_lines.skipped.front();
    head.remark = remark_on(first_lines, head, options);
    return head;
  }
  head.rows_at = lines.front().end;
  head.lines_before = lines.front().last;
  head.skipped = first_lines.skipped.front();
  if (head.samples.front().fields.size() == first.size() + 1) first.insert(first.begin(), "");
  head.columns = static_cast<std::int64_t>(first.size());
  head.row_names = first.front().empty() && first.size() > 1;
  head.remark = remark_on(first_lines, head, options);
  head.names = std::move(first);
  return head;
}

bool is_missing_marker(std::string_view text) {
  constexpr std::string_view kKnown[] = {"NA", "N/A", "#N/A", "NULL", "null", "None", "?", "."};
  return std::find(std::begin(kKnown), std::end(kKnown), text) != std::end(kKnown);
}

std::string name_of_delimiter(char delimiter) {
  switch (delimiter) {
    case ',':
      return "comma-separated";
    case '\t':
      return "tab-separated";
    case ';':
      return "separated by semicolons";
    case kBlanks:
      return "separated by blanks";
    default:
      return fmt::format("separated by {}", delimiter);
  }
}

}  // namespace kith::data
