// Finds out how a text file is to be read from its first lines, and says so where they can be read in two ways.
#include "data/text/text_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "data/text/text_number.h"
#include "data/text/text_record.h"

namespace kith::data {
namespace {

constexpr std::size_t kSamples = 20;  // rows that are looked at
constexpr std::int64_t kFirstLook = std::int64_t{64} << 10;
constexpr std::int64_t kLastLook = std::int64_t{64} << 20;

struct Line {
  std::int64_t number;      // of its first line, counted from 1
  std::int64_t last;        // of its last line
  std::int64_t begin, end;  // in the file, line end included
  std::string text;
};

[[noreturn]] void fail(const InputBytes& input, const std::string& what) {
  throw Error(ExitCode::data, fmt::format("{}: {}", input.name(), what));
}

/// The first records, and one for a header.
std::vector<Line> first_records(const InputBytes& input, char delimiter) {
  for (std::int64_t look = kFirstLook;; look *= 8) {
    const std::int64_t count = std::min(look, input.size());
    std::string bytes(static_cast<std::size_t>(count), '\0');
    input.read(0, count, reinterpret_cast<std::byte*>(bytes.data()));
    const bool whole = count == input.size();
    if (bytes.find('\n') == bytes.npos && bytes.find('\r') != bytes.npos && (whole || look >= kLastLook)) {
      fail(input, "its lines end with CR alone, as on old Macintosh computers; convert it: tr '\\r' '\\n' < IN > OUT");
    }
    const std::int64_t mark = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
    RecordCursor cursor(std::string_view(bytes).substr(static_cast<std::size_t>(mark)), delimiter, whole);
    std::vector<Line> lines;
    for (std::string_view record; lines.size() <= kSamples && cursor.next(record);) {
      const std::int64_t begin = record.data() - bytes.data();
      lines.push_back({cursor.line() + 1, cursor.lines_passed(), begin, mark + cursor.passed(), std::string(record)});
    }
    if (whole || lines.size() >= 2) return lines;
    if (look >= kLastLook) {
      fail(input, fmt::format("its first lines are longer than {} bytes; is it a table, and is every quote closed?",
                              kLastLook));
    }
  }
}

/// Does the delimiter cut all rows into equally many fields, more than one? A header may have one less: R writes none
/// for row names.
bool suits(const std::vector<Line>& lines, char delimiter) {
  const std::size_t columns = fields_of(lines.back().text, delimiter).size();
  if (columns < 2) return false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t found = fields_of(lines[i].text, delimiter).size();
    if (found != columns && !(i == 0 && lines.size() > 1 && found > 1 && found + 1 == columns)) return false;
  }
  return true;
}

char find_delimiter(const std::vector<Line>& lines) {
  constexpr char candidates[] = {'\t', ';', ',', '|', kBlanks};
  for (const char c : candidates) {
    if (suits(lines, c)) return c;
  }
  // Rows of different lengths, which the reading will tell, or one column.
  const auto cuts = [&](char c) { return fields_of(lines.front().text, c).size(); };
  return *std::max_element(std::begin(candidates), std::end(candidates),
                           [&](char a, char b) { return cuts(a) < cuts(b); });
}

/// 0, 1, 2, ... or 1, 2, 3, ...: names that pandas and R give to columns without any, or a row of values.
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

bool is_missing(const std::string& field) {
  const auto known = {"NA", "N/A", "NULL", "null", "None", "?"};
  return std::find(known.begin(), known.end(), field) != known.end();
}

/// A header has no number in it; a line that has one is never taken for a header, as that would lose a row.
bool find_header(const InputBytes& input, const std::vector<Line>& lines, const std::vector<std::string>& first) {
  if (counts_up(first)) {
    fail(input, fmt::format("line {} counts up from {}: names of columns, or values? say --header yes or --header no",
                            lines.front().number, first[first.front().empty() ? 1 : 0]));
  }
  const auto is_value = [](const std::string& field) { return is_number_text(field) || has_decimal_comma(field); };
  return std::none_of(first.begin(), first.end(), is_value) && std::none_of(first.begin(), first.end(), is_missing) &&
         std::any_of(first.begin(), first.end(), [](const std::string& field) { return !field.empty(); });
}

}  // namespace

TextHead read_head(const InputBytes& input, const ReadOptions& options) {
  const std::vector<Line> lines = first_records(input, options.delimiter.empty() ? ',' : options.delimiter[0]);
  if (lines.empty())
    fail(input, "expected rows of numbers, found nothing but blank lines and comments; give a file that holds some");
  TextHead head;
  head.delimiter = options.delimiter.empty() ? find_delimiter(lines) : options.delimiter[0];
  head.first_line = lines.front().number;
  std::vector<std::string> first = fields_of(lines.front().text, head.delimiter);
  const bool header =
      options.header == Header::automatic ? find_header(input, lines, first) : options.header == Header::yes;
  for (std::size_t i = header ? 1 : 0; i < lines.size(); ++i) {
    head.samples.push_back({lines[i].number, fields_of(lines[i].text, head.delimiter)});
  }
  if (head.samples.empty()) {
    fail(input, fmt::format("expected rows of numbers, found only line {}, which names columns; if it holds values, "
                            "say --header no",
                            head.first_line));
  }
  head.columns = static_cast<std::int64_t>(header ? first.size() : head.samples.front().fields.size());
  if (!header) {
    head.rows_at = lines.front().begin;
    head.lines_before = head.first_line - 1;
    return head;
  }
  head.rows_at = lines.front().end;
  head.lines_before = lines.front().last;
  if (head.samples.front().fields.size() == first.size() + 1) first.insert(first.begin(), "");
  head.columns = static_cast<std::int64_t>(first.size());
  head.row_names = first.front().empty() && first.size() > 1;
  head.names = std::move(first);
  return head;
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
