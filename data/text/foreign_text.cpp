// Knows texts that are no delimited tables by their first lines, and the commands that convert them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/column_choice.h"
#include "data/io/utf8.h"
#include "data/text/text_head.h"
#include "data/text/text_record.h"

namespace kith::data {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

std::string_view without_leading(std::string_view text, std::string_view characters) {
  const auto first = text.find_first_not_of(characters);
  return first == text.npos ? std::string_view() : text.substr(first);
}

bool begins_with(std::string_view text, std::string_view word) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), same);
}

/// Takes the text up to a character; what follows it stays in `text`.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const auto end = std::min(text.find_first_of(ends), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool is_arff(std::string_view begin) {
  begin = without_leading(begin, kSpace);
  while (begin.starts_with('%')) {
    take_until(begin, "\n");
    begin = without_leading(begin, kSpace);
  }
  return begins_with(begin, "@relation");
}

/// The fields of a line between blanks.
std::vector<std::string_view> take_words(std::string_view& text) {
  std::string_view line = take_until(text, "\n");
  std::vector<std::string_view> words;
  while (!(line = without_leading(line, kSpace)).empty()) words.push_back(take_until(line, " \t\r"));
  return words;
}

/// Numbers of words and of columns, then each word with its values: a table that its first line makes inconsistent.
bool is_word2vec(std::string_view begin) {
  const std::vector<std::string_view> sizes = take_words(begin), row = take_words(begin);
  std::int64_t words = 0, columns = 0;
  return sizes.size() == 2 && to_whole_number(sizes[0], words) && to_whole_number(sizes[1], columns) && words > 0 &&
         columns > 1 && std::ssize(row) == columns + 1;
}

/// Whether a rule of dashes under each name, and perhaps bars, stands among the first lines, beside a line of text: a
/// table of Markdown, Org, reStructuredText or of a terminal of a database.
bool is_ruled(std::string_view begin) {
  constexpr int kLines = 20;
  bool has_text = false;
  for (int line = 0; line < kLines && !begin.empty(); ++line) {
    std::string_view rule = take_until(begin, "\n");
    if (rule.ends_with('\r')) rule.remove_suffix(1);
    const bool has_bars = rule.find_first_of("|+") != rule.npos;
    const bool is_rule =
        rule.find_first_not_of(" |:+-=") == rule.npos && (rule.find("--") != rule.npos || rule.find("==") != rule.npos);
    const std::size_t first = rule.find_first_of("-="), gap = rule.find(' ', std::min(first, rule.size()));
    if (is_rule && (has_bars || rule.find_first_of("-=", std::min(gap, rule.size())) != rule.npos)) {
      return has_text || !without_leading(begin.substr(0, begin.find('\n')), kSpace).empty();
    }
    has_text = has_text || !without_leading(rule, kSpace).empty();
  }
  return false;
}

/// A line such as "(1.5, 2.5)", "[[1.5 2.5]" or "array([[1.5, 2.5],", as Python prints rows.
bool is_printed(std::string_view begin) {
  const std::string_view line = take_until(begin, "\n");
  if (line.starts_with("array([")) return true;
  if (line.starts_with("[[")) return line.find(',') == line.npos && line.find_first_of("0123456789") != line.npos;
  return line.starts_with('(') && line.rfind('(') == 0 && line.find(", ") != line.npos &&
         line.find_first_not_of(" ,;\r", std::min(line.rfind(')'), line.size() - 1) + 1) == line.npos &&
         line.rfind(')') != line.npos;
}

enum class Json { none, document, lines, values };

/// A first value in brackets or braces that begins as JSON does. After its end may only come white space, or another
/// value on a line of its own.
Json json_of(std::string_view begin) {
  begin = without_leading(begin, kSpace);
  if (!begin.starts_with('{') && !begin.starts_with('[')) return Json::none;
  const std::string_view inside = without_leading(begin.substr(1), kSpace);
  const std::string_view first = begin.starts_with('{') ? "\"}" : "\"{[]-0123456789ntf";
  if (inside.empty() || first.find(inside[0]) == first.npos) return Json::none;
  int depth = 0;
  bool text = false;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const char c = begin[i];
    if (text && c == '\\') ++i;
    if (c == '"') text = !text;
    if (text) continue;
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (depth > 0) continue;
    const std::string_view rest = begin.substr(i + 1);
    const std::string_view next = without_leading(rest, kSpace);
    if (next.empty()) return Json::document;
    const bool another = next[0] == begin[0] && rest.substr(0, rest.size() - next.size()).find('\n') != rest.npos;
    const bool is_line = begin.substr(0, i).find('\n') == begin.npos;
    return !another ? Json::none : is_line ? Json::lines : Json::values;
  }
  return Json::document;
}

/// The command that makes a table of a document of JSON.
std::string json_command(std::string_view begin, Json form) {
  if (form == Json::values) return "jq -c . IN > OUT.jsonl";
  const std::string head = "python3 -c \"import pandas; pandas.", end = ".to_csv('OUT.csv', index=False)\"";
  if (form == Json::lines) return head + "read_json('IN', lines=True)" + end;
  // Rows that are objects below a name, as {"data": [{"x": 1}]}
  const std::size_t rows = begin.starts_with('{') ? begin.find('[') : begin.npos;
  const std::size_t close = begin.substr(0, rows).rfind('"'), open = begin.substr(0, close).rfind('"');
  if (rows == begin.npos || open == begin.npos) return head + "read_json('IN')" + end;
  const std::string name(begin.substr(open + 1, close - open - 1));
  if (name == "columns" || name == "index") return head + "read_json('IN', orient='split')" + end;
  const bool are_objects = without_leading(begin.substr(rows + 1), kSpace).starts_with('{');
  if (!are_objects || name.find_first_of("'\\$`") != name.npos) return head + "read_json('IN')" + end;
  return "python3 -c \"import json, pandas; pandas.json_normalize(json.load(open('IN'))['" + name + "'])" + end;
}

}  // namespace

std::string bits_in_column(const TextHead& head, std::int64_t column) {
  constexpr std::size_t kLeastRows = 3, kLeastBits = 8, kLeastDigits = 16;
  const auto j = static_cast<std::size_t>(column);
  std::size_t length = 0;
  bool begins_zero = false, has_letter = false, differ = false, are_bits = true;
  for (const TextHead::Sample& row : head.samples) {
    const std::string_view text = j < row.fields.size() ? std::string_view(row.fields[j]) : std::string_view();
    if (length == 0) length = text.size();
    if (text.size() != length || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos || text.empty())
      return "";
    are_bits = are_bits && text.find_first_not_of("01") == text.npos;
    begins_zero = begins_zero || text[0] == '0';
    has_letter = has_letter || text.find_first_not_of("0123456789") != text.npos;
    differ = differ || text != head.samples.front().fields[j];
  }
  if (!differ || head.samples.size() < kLeastRows) return "";
  const char c = head.syntax.delimiter;
  const std::string begin = c == kBlanks ? "awk " : fmt::format("awk -F'{}' ", c == '\t' ? "\\t" : std::string(1, c));
  if (are_bits && begins_zero && length >= kLeastBits) {
    const std::string drop =
        head.columns == 1 ? ""
                          : fmt::format("leave it out with --drop-columns {}, or ", option_text(head.names, column));
    return fmt::format(
        "rows of bits, a character for each; {0}give each bit a column: {1}'NR > {2} {{gsub(/[^01]/, \"\", "
        "${3}); gsub(/./, \"& \", ${3}); print ${3}}}' IN > OUT",
        drop, begin, head.lines_before, column + 1);
  }
  if (!has_letter || length % 2 != 0 || length < kLeastDigits) return "";
  return fmt::format(
      "rows of bits in hexadecimal digits, such as fingerprints; make an FPS file of them: {}'BEGIN {{print "
      "\"#FPS1\"}} NR > {} {{print ${} \"\\t\" {}}}' IN > OUT.fps",
      begin, head.lines_before, column + 1,
      head.columns == 1 ? "NR"
      : column == 0     ? "$2"
                        : "$1");
}

std::string foreign_text(std::string_view begin) {
  begin = without_byte_order_mark(begin);
  if (is_arff(begin)) {
    return "an ARFF file (--label-column names its class later); convert it: python3 -c \"import pandas, scipy.io.arff "
           "as a; "
           "pandas.DataFrame(a.loadarff('IN')[0]).to_csv('OUT.csv', index=False)\"";
  }
  for (const char* start : {"(dp0\n", "(lp0\n", "ccopy_reg\n", "cnumpy"}) {
    if (begin.starts_with(start))
      return "a Python pickle, which may run any program when it is loaded; save its arrays as .npy";
  }
  if (is_printed(begin)) {
    return "rows in brackets, as Python prints them; convert it: sed -e 's/array(//' -e 's/[][()]//g' -e 's/[,;] *$//' "
           "IN > OUT";
  }
  if (const Json json = json_of(begin); json != Json::none) {
    return std::string("JSON") +
           (json == Json::values ? " over many lines; write one line for each value: " : "; convert it: ") +
           json_command(without_leading(begin, kSpace), json);
  }
  if (begin.starts_with("\"TOA5\"") || begin.starts_with("TOA5,")) {
    return "a TOA5 file of a Campbell logger, with lines above and below the names of its columns; leave them out: sed "
           "-e "
           "1d -e 3,4d IN > OUT.csv";
  }
  if (is_word2vec(begin)) {
    return "vectors of word2vec below a line with their sizes; say --skip-lines 1 --id-column 1 --quote none";
  }
  const std::string_view markup = without_leading(begin, kSpace);
  if (is_ruled(begin)) {
    return "a table of Markdown or of a terminal, with rules; convert it: sed -e '/^[ |:+=-]*$/d' -e '/^(*[0-9]* "
           "rows* *[a-z)]/d' -e 's/^ *| *//' -e 's/ *| *$//' IN > OUT";
  }
  if (begins_with(markup, "\\begin{")) {
    return "a table of LaTeX; convert it: sed -e '/^ *\\\\[a-z]/d' -e 's/ *\\\\\\\\.*$//' -e 's/ *& */,/g' IN > "
           "OUT.csv";
  }
  if (begins_with(markup, "insert into ") || begins_with(markup, "create table ")) {
    return "a script of SQL; run it in a database, and export the table as CSV";
  }
  for (const char* start : {"<!doctype", "<html", "<?xml", "<svg", "<table", "<body", "<meta", "<div"}) {
    if (begins_with(markup, start)) return "an HTML or XML page; download or export the table itself, as CSV";
  }
  return "";
}

}  // namespace kith::data
