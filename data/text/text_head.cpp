// Detects delimiter and header from the first records of a text file, and refuses ambiguous ones.
#include "data/text/text_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "data/io/input_error.h"
#include "data/io/quoted.h"
#include "data/text/first_records.h"
#include "data/text/lines_before.h"
#include "data/text/text_header.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

constexpr std::size_t kSamples = 20;    // rows that decide
constexpr std::size_t kShownLine = 40;  // bytes, in messages

/// The fields of a line without empty ones at its end.
std::size_t width_of(const std::vector<std::string>& fields) {
  std::size_t width = fields.size();
  while (width > 0 && fields[width - 1].empty()) --width;
  return width;
}

/// Whether the delimiter splits all rows into the same number of fields, at least two. A header may have one field
/// less, since R writes no name for row names; and it, or the rows, may end with delimiters that the other lacks.
bool is_consistent(const std::vector<FirstRecord>& lines, const TextSyntax& syntax) {
  const std::size_t columns = fields_of(lines.back().text, syntax).size();
  if (columns < 2) return false;
  std::size_t width = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = fields_of(lines[i].text, syntax);
    if (fields.size() != columns) return false;
    width = std::max(width, width_of(fields));
  }
  const std::vector<std::string> first = fields_of(lines.front().text, syntax);
  const bool is_shorter = first.size() > 1 && first.size() + 1 == columns;
  const bool is_longer = first.size() > columns && width_of(first) <= columns;
  return first.size() == columns ||
         (lines.size() > 1 && (is_shorter || is_longer || (first.size() < columns && width <= first.size())));
}

/// The first records as a delimiter divides them: where there are quotes, it decides which line ends are between them.
/// `decimal`: of the numbers; the comma is either that or a delimiter.
char find_delimiter(const InputBytes& input, const FirstRecords& first, TextSyntax syntax, const ReadOptions& options) {
  char widest = ',';  // for one column, or rows of different lengths, which reading the rows will report
  std::size_t most = 0;
  for (const char c : std::string_view(options.decimal == ',' ? "\t;| " : "\t;,| ")) {
    syntax.delimiter = c;
    const FirstRecords divided =
        first.has_quotes ? first_records(input, syntax, options.skip_lines, kSamples + 1) : first;
    if (divided.lines.empty()) continue;
    if (is_consistent(divided.lines, syntax)) return c;
    const std::size_t fields = fields_of(divided.lines.front().text, syntax).size();
    if (fields > most) {
      most = fields;
      widest = c;
    }
  }
  return widest;
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

/// The comment right above the first record, as names of so many columns: "#id x y". Empty if it has another form.
std::vector<std::string> names_above(const FirstRecords& first, const TextHead& head, std::size_t columns) {
  std::string line = first.comments.substr(0, first.comments.size() - (first.comments.ends_with('\n') ? 1 : 0));
  line.erase(0, line.rfind('\n') + 1);  // npos + 1 is 0
  if (line.ends_with('\r')) line.pop_back();
  if (head.options.comment || !line.starts_with('#')) return {};
  std::vector<std::string> names = fields_of(line, head.syntax);
  if (names.size() == columns) names.front().erase(0, names.front().find_first_not_of("# "));
  const auto is_name = [](const std::string& field) {
    return !field.empty() && !is_number_text(field) && !is_missing_marker(field);
  };
  return names.size() == columns && std::all_of(names.begin(), names.end(), is_name) ? names
                                                                                     : std::vector<std::string>();
}

/// Remarks on the comment above the first record, if it has the form of names, and on the first one that has the form
/// of a row: "#2,1.5,3" may be a row with the name #2.
void remark_on_comments(const FirstRecords& first, TextHead& head) {
  if (head.options.comment || head.columns < 2) return;
  std::int64_t number = head.options.skip_lines;
  for (std::size_t begin = 0; begin < first.comments.size();) {
    const std::size_t end = std::min(first.comments.find('\n', begin), first.comments.size());
    const std::string line = first.comments.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.starts_with('#')) continue;
    const std::vector<std::string> fields = fields_of(line, head.syntax);
    if (std::ssize(fields) != head.columns || !std::all_of(fields.begin() + 1, fields.end(), is_number_text)) continue;
    head.remarks.push_back(fmt::format(
        "line {}, '{}', was skipped as a comment, but has the form of a row; --comment none reads it as one", number,
        quoted(line, kShownLine)));
    return;
  }
  if (head.names.empty() && !names_above(first, head, static_cast<std::size_t>(head.columns)).empty()) {
    head.remarks.push_back(
        fmt::format("line {} was skipped as a comment, but has the form of names; --header yes reads "
                    "it as them",
                    head.first_line - 1));
  }
}

/// What the first line can be as a header, beside the rows.
struct HeaderForm {
  std::vector<std::string> names;
  bool is_shorter = false;      // R gave the row names no name
  bool rows_end_empty = false;  // rows end with delimiters that the header lacks
  bool is_longer = false;       // the header ends with delimiters that the rows lack
};

HeaderForm header_form(const std::vector<std::string>& first, const std::vector<TextHead::Sample>& rows) {
  HeaderForm form{first};
  if (rows.empty()) return form;
  const std::size_t fields = rows.front().fields.size();
  const auto all_rows = [&rows](const auto& holds) { return std::all_of(rows.begin(), rows.end(), holds); };
  form.rows_end_empty = all_rows([&](const auto& row) {
                          return row.fields.size() >= first.size() && width_of(row.fields) <= first.size();
                        }) &&
                        !all_rows([&](const auto& row) { return row.fields.size() == first.size(); });
  form.is_longer = first.size() > fields && width_of(first) <= fields &&
                   all_rows([&](const auto& row) { return row.fields.size() == fields; });
  const auto longer = std::count_if(rows.begin(), rows.end(),
                                    [&](const TextHead::Sample& row) { return row.fields.size() == first.size() + 1; });
  form.is_shorter = !form.rows_end_empty && 2 * longer > std::ssize(rows);  // the others are refused with their lines
  if (form.is_longer) form.names.resize(fields);
  if (form.is_shorter) form.names.insert(form.names.begin(), "");
  return form;
}

/// Throws unless the first column can hold row names: different texts, or whole numbers.
void require_row_names(const InputBytes& input, const std::vector<TextHead::Sample>& rows, const FirstRecord& header) {
  std::set<std::string> names;
  for (const TextHead::Sample& row : rows) {
    const std::string& name = row.fields.front();
    const bool is_whole = name.find_first_not_of("0123456789") == name.npos;
    if (!name.empty() && (is_whole || !is_number_text(name)) && names.insert(name).second) continue;
    refuse_input(
        input.name(),
        fmt::format("line {} has one field less than the rows, as R writes it above row names, but '{}' in line {} "
                    "is no name of a row, or not the first with this name; say --header yes or --header no "
                    "--skip-lines {}",
                    header.number, quoted(name, kShownLine), row.line, header.last));
  }
}

/// Throws for a file without a record that ends.
[[noreturn]] void refuse_no_rows(const InputBytes& input, const TextSyntax& syntax, const FirstRecords& first) {
  TextHead head;
  head.syntax = syntax;
  if (first.unclosed) refuse_unclosed(input.name(), head, first.unclosed->text, first.unclosed->number);
  refuse_input(input.name(),
               "expected rows of numbers, found nothing but blank lines and comments; give a file that holds some");
}

/// Whether the first line names the columns. Throws if that is unclear.
bool find_header(const InputBytes& input, const FirstRecord& line, const HeaderForm& form, TextHead& head,
                 const std::vector<TextHead::Sample>& rows) {
  const ReadOptions& options = head.options;
  if (options.header != Header::automatic) return options.header == Header::yes;
  std::vector<const std::vector<std::string>*> below;
  for (const TextHead::Sample& row : rows) below.push_back(&row.fields);
  const FirstLineChoice choice =
      judge_first_line({form.names, below, head.numbers, options.missing_texts, form.is_shorter});
  if (choice.is == FirstLine::row) return false;
  if (choice.is == FirstLine::names) {
    if (!choice.why.empty()) {
      head.header_option = "--header yes ";
      head.remarks.push_back(
          fmt::format("line {}, '{}', {}, and was read as names of columns; --header no reads it as "
                      "a row",
                      line.number, quoted(line.text, kShownLine), choice.why));
    }
    if (form.is_shorter) require_row_names(input, rows, line);
    return true;
  }
  if (!rows.empty() && rows.front().fields.size() != form.names.size()) {  // perhaps sizes, or a title
    head.columns = std::ssize(rows.front().fields);
    refuse_lines_before(input, head);
  }
  if (options.header_if_unclear != Header::automatic) return options.header_if_unclear == Header::yes;
  refuse_input(input.name(),
               fmt::format("line {} {}: names of columns, or values? say --header yes or --header no{}", line.number,
                           choice.why, form.is_shorter ? fmt::format(" --skip-lines {}", line.last) : ""));
}

}  // namespace

TextHead read_head(const InputBytes& input, const ReadOptions& options) {
  TextSyntax syntax{.delimiter = options.delimiter.empty() ? ',' : options.delimiter[0],
                    .quotes = options.quotes.value_or(true),
                    .comment = options.comment.value_or('#'),
                    .comments_lead = !options.comment};
  const auto records = [&] { return first_records(input, syntax, options.skip_lines, kSamples + 1); };
  FirstRecords first_lines = records();
  const char named = take_named_delimiter(first_lines);
  const std::vector<FirstRecord>& lines = first_lines.lines;
  if (options.delimiter.empty()) {
    syntax.delimiter = named != '\0' ? named : find_delimiter(input, first_lines, syntax, options);
    if (first_lines.has_quotes) {
      first_lines = records();
      take_named_delimiter(first_lines);
    }
  }
  if (lines.empty()) refuse_no_rows(input, syntax, first_lines);
  TextHead head;
  if (!options.comment) syntax.comment = '\0';  // the rows have begun
  head.syntax = syntax;
  head.numbers = {options.decimal, options.thousands};
  head.missing_texts = options.missing_texts;
  head.options = options;
  const FirstRecord& line = lines.front();
  head.first_line = line.number;
  for (const FirstRecord& record : lines) head.samples.push_back({record.number, fields_of(record.text, syntax)});
  const std::vector<std::string> first = head.samples.front().fields;
  head.samples.erase(head.samples.begin());
  HeaderForm form = header_form(first, head.samples);
  std::vector<std::string> above;  // names, which --header yes means if the first record has none
  if (options.header == Header::yes && std::all_of(first.begin(), first.end(), [](const std::string& field) {
        return is_number_text(field) || is_missing_marker(field);
      })) {
    above = names_above(first_lines, head, first.size());
  }
  const bool header = above.empty() && find_header(input, line, form, head, head.samples);
  head.skipped = first_lines.skipped.front();
  head.rows_at = header ? line.end : line.begin;
  if (header) head.header_at = line.begin, head.header_bytes = std::ssize(line.text);
  head.lines_before = header ? line.last : line.number - 1;
  if (!header) {
    head.samples.insert(head.samples.begin(), {line.number, first});
    head.columns = std::ssize(first);
    head.names = std::move(above);
    head.may_end_empty = !head.names.empty();
    remark_on_comments(first_lines, head);
    return head;
  }
  if (head.samples.empty() && first_lines.unclosed) {
    refuse_unclosed(input.name(), head, first_lines.unclosed->text, first_lines.unclosed->number);
  }
  if (head.samples.empty()) {
    refuse_input(input.name(), fmt::format("expected rows of numbers, found only line {}, which names columns; if it "
                                           "holds values, say --header no",
                                           head.first_line));
  }
  head.names = std::move(form.names);
  head.columns = std::ssize(head.names);
  head.row_names = head.columns > 1 && head.names.front().empty();
  head.may_end_empty = !form.is_shorter;
  head.spans_lines = line.last > line.number && lines_are_records(line.text, syntax, head.columns);
  head.quoted_fields = first_lines.quoted_fields;
  if (form.rows_end_empty) head.remarks.emplace_back("rows end with delimiters that the header lacks: no columns");
  if (form.is_longer) head.remarks.emplace_back("the header ends with delimiters that the rows lack: no columns");
  for (TextHead::Sample& row : head.samples) {
    if (head.may_end_empty && row.fields.size() > head.names.size() && width_of(row.fields) <= head.names.size()) {
      row.fields.resize(head.names.size());
    }
  }
  remark_on_comments(first_lines, head);
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
