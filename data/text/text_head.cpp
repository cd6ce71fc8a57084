// Reads the first records of a text file, and finds its delimiter and its header.
#include "data/text/text_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "data/format/formats.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

/// Line ends of Unicode, which editors show and programs do not: their bytes, name, and bytes as sed has them.
constexpr std::array<const char*, 3> kOtherEnds[] = {{"\u2028", "U+2028", "\\xe2\\x80\\xa8"},
                                                     {"\u2029", "U+2029", "\\xe2\\x80\\xa9"},
                                                     {"\u0085", "U+0085", "\\xc2\\x85"}};
constexpr std::int64_t kFirstBytes = std::int64_t{64} << 10;
constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;

/// The memory of the fields of the first records is checked before they are split: a line may be nothing but
/// delimiters.
void require_memory_of_fields(const FirstRecords& first, const std::string& name) {
  std::int64_t fields = 0;
  for (const FirstRecord& line : first.lines) {
    for (const char c : {'\t', ';', ',', '|', kBlanks}) {
      fields = std::max<std::int64_t>(fields, std::count(line.text.begin(), line.text.end(), c));
    }
  }
  constexpr std::int64_t kLarge = std::int64_t{1} << 16, kBytes = 200;  // of a name, its place, and a choice of columns
  const std::int64_t copies = std::ssize(first.lines) + 2;
  if (fields < kLarge) return;
  require_memory(fields * (copies * static_cast<std::int64_t>(sizeof(std::string)) + kBytes), name + " (its columns)");
}

/// The position behind so many lines; npos if there are fewer.
std::size_t end_of_lines(std::string_view bytes, std::int64_t lines) {
  std::size_t at = 0;
  for (; lines > 0; --lines) {
    at = bytes.find('\n', at);
    if (at++ == bytes.npos) return bytes.npos;
  }
  return at;
}

}  // namespace

FirstRecords first_records(const InputBytes& input, const TextSyntax& syntax, std::int64_t skip_lines,
                           std::size_t count) {
  for (std::int64_t limit = kFirstBytes;; limit *= 8) {
    const std::string bytes = input.begin(limit);
    const bool whole = std::ssize(bytes) == input.size(), last = whole || limit >= kMaxBytes;
    if (bytes.find('\n') == bytes.npos && bytes.find('\r') != bytes.npos && last) {
      refuse_input(input.name(),
                   "expected lines that end with LF or CR LF, found CR only; convert it: tr '\\r' '\\n' < IN > OUT");
    }
    for (const auto& [end, name, escaped] : kOtherEnds) {
      const std::size_t line_end = std::min(bytes.find('\n'), bytes.size());
      if (line_end + 1 < bytes.size() || bytes.find(end) == bytes.npos || bytes.rfind(end) < bytes.size() / 2) continue;
      refuse_input(input.name(), fmt::format("expected lines that end with LF or CR LF, found {} only; convert it: "
                                             "sed 's/{}/\\n/g' IN > OUT",
                                             name, escaped));
    }
    const std::size_t bom_bytes = bytes.size() - without_byte_order_mark(bytes).size();
    const std::size_t start = std::max(bom_bytes, end_of_lines(bytes, skip_lines));
    if (start == bytes.npos && !last) continue;
    if (start == bytes.npos) {
      refuse_input(input.name(), fmt::format("expected rows of numbers behind {} lines, as --skip-lines says, found {} "
                                             "lines; give a smaller number",
                                             skip_lines, std::count(bytes.begin(), bytes.end(), '\n')));
    }
    RecordCursor cursor(std::string_view(bytes).substr(start), syntax, whole);
    FirstRecords first;
    first.has_quotes = syntax.quotes && bytes.find('"', start) != bytes.npos;
    for (std::string_view record; first.lines.size() < count && cursor.next(record);) {
      const std::int64_t begin = record.data() - bytes.data();
      FirstRecord line{skip_lines + cursor.line() + 1, skip_lines + cursor.lines_passed(), begin,
                       static_cast<std::int64_t>(start) + cursor.passed(), std::string(record)};
      if (cursor.is_unclosed()) {
        first.unclosed = std::move(line);
        break;
      }
      if (first.lines.empty()) first.comments = bytes.substr(start, static_cast<std::size_t>(begin) - start);
      first.skipped.push_back({cursor.comments(), cursor.blank_lines()});
      first.lines.push_back(std::move(line));
      first.quoted_fields = cursor.quoted_fields();
    }
    for (const FirstRecord& line : first.lines) {
      if (first.has_quotes || line.text.find('\r') == line.text.npos) continue;
      refuse_input(input.name(), fmt::format("line {} has line ends of CR beside those of LF; convert it: "
                                             "sed 's/\\r$//' IN | tr '\\r' '\\n' > OUT",
                                             line.number));
    }
    if (whole || first.lines.size() >= 2) {
      if (const std::string foreign = foreign_text(std::string_view(bytes).substr(start)); !foreign.empty()) {
        refuse_input(input.name(), fmt::format("expected a table, such as CSV, found {}", foreign));
      }
      require_memory_of_fields(first, input.name());
      return first;
    }
    if (last) {
      refuse_input(input.name(),
                   fmt::format("its first lines are longer than {} bytes; is it a table, and is every quote "
                               "closed? --quote none reads quotation marks as characters like others",
                               kMaxBytes));
    }
  }
}

// Detects delimiter and header from the first records of a text file, and refuses ambiguous ones.

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

/// Whether commas can be delimiters where they are decimal marks too: fields with commas are between quotes, or the
/// first line names several columns.
bool has_quoted_commas(const FirstRecords& first, const TextSyntax& syntax) {
  const std::vector<std::string> names = fields_of(first.lines.front().text, syntax);
  const auto is_name = [](const std::string& field) { return !field.empty() && !is_number_text(field); };
  if (names.size() > 1 && std::all_of(names.begin(), names.end(), is_name)) return true;
  return std::any_of(first.lines.begin(), first.lines.end(), [&syntax](const FirstRecord& line) {
    for (FieldCursor cursor(line.text, syntax); cursor.more();) {
      const Field field = cursor.take();
      if (field.quoted && has_decimal_comma(field.text)) return true;
    }
    return false;
  });
}

/// The first records as a delimiter divides them: where there are quotes, it decides which line ends are between them.
char find_delimiter(const InputBytes& input, const FirstRecords& first, TextSyntax syntax, const ReadOptions& options) {
  char widest = ',';  // for one column, or rows of different lengths, which reading the rows will report
  std::size_t most = 0;
  // The last ones, those of Hive and of exports that avoid all characters of texts, separate nothing else.
  for (const char c : std::string_view(options.decimal == ',' ? "\t;| ,\1\x1f^~" : "\t;,| \1\x1f^~")) {
    syntax.delimiter = c;
    const FirstRecords divided =
        first.has_quotes ? first_records(input, syntax, options.skip_lines, kSamples + 1) : first;
    if (divided.lines.empty()) continue;
    if (c == ',' && options.decimal == ',' && !has_quoted_commas(divided, syntax)) continue;
    if (is_consistent(divided.lines, syntax)) return c;
    const auto has_one_field = [&syntax](const FirstRecord& line) { return fields_of(line.text, syntax).size() == 1; };
    // Blanks in the name of the only column separate nothing.
    if (c == kBlanks && divided.lines.size() > 1 &&
        std::all_of(divided.lines.begin() + 1, divided.lines.end(), has_one_field))
      continue;
    const std::size_t fields = fields_of(divided.lines.front().text, syntax).size();
    if (fields > most && std::string_view("\1\x1f^~").find(c) == std::string_view::npos) {
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
  std::string line = first.lines.front().text;
  std::erase_if(line, [](char c) { return c == ' ' || c == '"'; });
  if (line.size() != kBegin.size() + 1 || !lower_case(line).starts_with(kBegin)) return '\0';
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
  line.erase(0, line.find_first_not_of("# \t"));
  const std::vector<std::string> names = fields_of(line, head.syntax);
  const auto is_name = [](const std::string& field) {
    return !field.empty() && !is_number_text(field) && !is_missing_marker(field);
  };
  return names.size() == columns && std::ranges::all_of(names, is_name) ? names : std::vector<std::string>();
}

/// Remarks on the comment above the first record, if it has the form of names, and on the first one that has the form
/// of a row: "#2,1.5,3" may be a row with the name #2.
void remark_on_comments(const FirstRecords& first, TextHead& head) {
  if (head.options.comment || head.columns < 2) return;
  std::int64_t number = head.options.skip_lines;
  for (const std::string& line : split_text(first.comments, '\n')) {
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
  bool end_empty = false;       // it and the rows end with delimiters
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
  const std::size_t width = width_of(first);  // columns at the end may have neither names nor values
  form.end_empty = width > 0 && first.size() == fields && width < fields &&
                   all_rows([&](const auto& row) { return width_of(row.fields) <= width; });
  if (form.end_empty) form.names.resize(width);
  if (form.is_shorter) form.names.insert(form.names.begin(), "");
  for (std::string& name : form.names) name = std::string(without_blanks(name));
  return form;
}

/// Throws unless the first column can hold row names: different texts, or whole numbers.
void require_row_names(const InputBytes& input, const TextHead& head, const FirstRecord& header) {
  std::set<std::string> names;
  for (const TextHead::Sample& row : head.samples) {
    const std::string& name = row.fields.front();
    const bool is_whole = name.find_first_not_of("0123456789") == name.npos;
    if (!name.empty() && (is_whole || !is_number_text(name)) && names.insert(name).second) continue;
    refuse_fixed_width(input, head);
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

FirstLineChoice judge(const HeaderForm& form, const TextHead& head) {
  std::vector<const std::vector<std::string>*> below;
  for (const TextHead::Sample& row : head.samples) below.push_back(&row.fields);
  return judge_first_line({form.names, below, head.numbers, head.options.missing_texts, form.is_shorter});
}

/// Whether the first line names the columns. Throws if that is unclear.
bool find_header(const InputBytes& input, const FirstRecord& line, const HeaderForm& form, TextHead& head) {
  const ReadOptions& options = head.options;
  const std::vector<TextHead::Sample>& rows = head.samples;
  if (options.header != Header::automatic) return options.header == Header::yes;
  const FirstLineChoice choice = judge(form, head);
  if (choice.is == FirstLine::row) return false;
  if (choice.is == FirstLine::names) {
    if (!choice.why.empty()) {
      head.header_option = "--header yes ";
      head.remarks.push_back(
          fmt::format("line {}, '{}', {}, and was read as names of columns; --header no reads it as "
                      "a row",
                      line.number, quoted(line.text, kShownLine), choice.why));
    }
    if (form.is_shorter) require_row_names(input, head, line);
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

/// A remark on a first row that may be a part of the header: a count of the columns, or years below groups.
void remark_on_second_header(const std::vector<FirstRecord>& lines, TextHead& head) {
  constexpr std::size_t kLeast = 4;  // rows
  if (head.samples.size() < kLeast) return;
  const TextHead::Sample& row = head.samples.front();
  std::vector<std::string> first = row.fields;
  std::vector<const std::vector<std::string>*> below;
  for (std::size_t i = 1; i < head.samples.size(); ++i) below.push_back(&head.samples[i].fields);
  bool counts = first.size() > 2 && below.front()->size() == first.size();
  for (std::size_t j = 0; j < first.size(); ++j) {
    std::string& field = first[j];
    if (is_in_parentheses(field)) field = field.substr(1, field.size() - 2);
    if (field.find_first_not_of("0123456789") != field.npos) return;
    counts = counts && field == std::to_string(j + 1) && (*below.front())[j] != std::to_string(j + 2);
  }
  const FirstFields fields{first, below, head.numbers, head.options.missing_texts};
  if (!counts && judge_first_line(fields).is != FirstLine::names) return;
  head.remarks.push_back(
      fmt::format("line {0}, '{1}', was read as a row, but has the form of names; if it is none, leave "
                  "it out: sed {0}d IN > OUT",
                  row.line, quoted(lines[1].text, kShownLine)));
}

/// Throws if commas seem to stand before decimals as well as between fields: each row has two whole numbers for one
/// column. `names`: none if the first record is a row.
void refuse_split_decimals(const InputBytes& input, const TextHead& head, const std::vector<std::string>& names,
                           const std::vector<std::string>& first) {
  if (head.syntax.delimiter != ',' || head.options.decimal == '.' || (!names.empty() && head.samples.empty())) return;
  bool any_zero = false;  // the first decimal, as in 5,05
  std::vector<const std::vector<std::string>*> rows;
  if (names.empty()) rows.push_back(&first);
  for (const TextHead::Sample& row : head.samples) rows.push_back(&row.fields);
  const std::size_t columns = names.empty() ? 1 : names.size();
  for (const std::vector<std::string>* row : rows) {
    if (row->size() != 2 * columns) return;
    for (std::size_t j = 0; j < row->size(); ++j) {
      const std::string& field = (*row)[j];
      const std::size_t digits = j % 2 == 0 && field.starts_with('-') ? 1 : 0;
      if (field.size() <= digits || field.find_first_not_of("0123456789", digits) != field.npos) return;
      any_zero = any_zero || (j % 2 == 1 && field.size() > 1 && field.front() == '0');
    }
  }
  if (columns > 1) {
    refuse_input(input.name(),
                 fmt::format("line {} names {} columns, and the rows have {} whole numbers, as decimal commas between "
                             "commas make of them; save the table with semicolons between the columns, or, if each is "
                             "a number, say --delimiter comma --header no --skip-lines {}",
                             head.first_line, columns, 2 * columns, head.first_line));
  }
  if (any_zero) {
    refuse_input(input.name(), fmt::format("does the comma in '{},{}' separate columns or decimals? say --delimiter "
                                           "comma or --decimal comma",
                                           (*rows.front())[0], (*rows.front())[1]));
  }
}

}  // namespace

namespace {

/// The options, where the text is one of kith itself the form that it has.
ReadOptions with_form_of(const InputBytes& input, ReadOptions options) {
  if (!input.is_own_text()) return options;
  options.delimiter = ",";
  options.header = Header::yes;
  options.quotes = true;
  options.comment = '\0';
  options.skip_lines = 0;
  options.decimal = '.';
  options.thousands = '\0';
  return options;
}

}  // namespace

TextHead read_head(const InputBytes& input, const ReadOptions& given) {
  const ReadOptions options = with_form_of(input, given);
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
  head.may_be_thousands = options.decimal == '\0';
  head.numbers = {head.may_be_thousands ? '.' : options.decimal, options.thousands};
  head.missing_texts = options.missing_texts;
  head.options = options;
  const FirstRecord& line = lines.front();
  head.first_line = line.number;
  for (const FirstRecord& record : lines) {
    if (is_utf8(record.text)) continue;
    head.not_utf8 = record.number;
    break;
  }
  for (const FirstRecord& record : lines) head.samples.push_back({record.number, fields_of(record.text, syntax)});
  const std::vector<std::string> first = head.samples.front().fields;
  head.samples.erase(head.samples.begin());
  HeaderForm form = header_form(first, head.samples);
  std::vector<std::string> above;  // names, which --header yes means if the first record has none
  const auto is_value = [](const std::string& field) { return is_number_text(field) || is_missing_marker(field); };
  if (options.header == Header::yes &&
      (std::all_of(first.begin(), first.end(), is_value) || judge(form, head).is == FirstLine::row)) {
    above = names_above(first_lines, head, first.size());
  }
  const bool header = above.empty() && find_header(input, line, form, head);
  head.skipped = first_lines.skipped.front();
  head.rows_at = header ? line.end : line.begin;
  if (header) head.header_at = line.begin, head.header_bytes = std::ssize(line.text);
  head.lines_before = header ? line.last : line.number - 1;
  if (options.delimiter.empty())
    refuse_split_decimals(input, head, header ? form.names : std::vector<std::string>(), first);
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
    throw NoRows(input.name(), fmt::format("expected rows of numbers, found only line {}, which names columns; if it "
                                           "holds values, say --header no",
                                           head.first_line));
  }
  head.names = std::move(form.names);
  head.columns = std::ssize(head.names);
  head.row_names = head.columns > 1 && head.names.front().empty();
  head.may_end_empty = !form.is_shorter;
  head.spans_lines = line.last > line.number && lines_like_records(line.text, syntax, head.columns) == 1.0;
  head.quoted_fields = first_lines.quoted_fields;
  if (form.rows_end_empty) head.remarks.emplace_back("rows end with delimiters that the header lacks: no columns");
  if (form.is_longer) head.remarks.emplace_back("the header ends with delimiters that the rows lack: no columns");
  if (form.end_empty) head.remarks.emplace_back("lines end with delimiters, without a name or a value: no columns");
  for (TextHead::Sample& row : head.samples) {
    if (head.may_end_empty && row.fields.size() > head.names.size() && width_of(row.fields) <= head.names.size()) {
      row.fields.resize(head.names.size());
    }
  }
  remark_on_comments(first_lines, head);
  remark_on_second_header(lines, head);
  return head;
}

bool is_text_table(const std::string& file) {
  const std::string begin = begin_of_stream(file);
  if (is_matrix_market(file) || is_svmlight(file) || is_fps(file)) return false;
  // Whatever else comes from standard input can only be text.
  return is_standard_input(file) ? !begin.starts_with(kNumpySignature) : !begin.empty() && is_text(begin);
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
      return fmt::format("separated by {}", quoted(std::string(1, delimiter)));
  }
}

}  // namespace kith::data
