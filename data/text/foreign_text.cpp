// Tests the first lines for what no delimited table of numbers has.
#include "data/text/foreign_text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "data/text/number_lines.h"

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

enum class Json { none, document, lines };

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
    return another ? Json::lines : Json::none;
  }
  return Json::document;
}

}  // namespace

std::string foreign_text(std::string_view begin) {
  if (begin.starts_with("\xef\xbb\xbf")) begin.remove_prefix(3);
  if (is_arff(begin)) {
    return "an ARFF file; convert it: python3 -c \"import pandas, scipy.io.arff as a; "
           "pandas.DataFrame(a.loadarff('IN')[0]).to_csv('OUT.csv', index=False)\", then name its class with "
           "--label-column";
  }
  for (const char* start : {"(dp0\n", "(lp0\n", "ccopy_reg\n", "cnumpy"}) {
    if (begin.starts_with(start))
      return "a Python pickle, which may run any program when it is loaded; save its arrays as .npy";
  }
  if (const Json json = json_of(begin); json != Json::none) {
    return std::string("JSON; convert it: python3 -c \"import pandas; pandas.read_json('IN'") +
           (json == Json::lines ? ", lines=True" : "") + ").to_csv('OUT.csv', index=False)\"";
  }
  if (is_word2vec(begin)) {
    return "vectors of word2vec below a line with their sizes; say --skip-lines 1 --id-column 1 --quote none";
  }
  const std::string_view markup = without_leading(begin, kSpace);
  for (const char* start : {"<!doctype", "<html", "<?xml", "<svg"}) {
    if (begins_with(markup, start)) return "an HTML or XML page; download or export the table itself, as CSV";
  }
  return "";
}

}  // namespace kith::data
