// Keeps the first value of each kind, and words the remarks.
#include "data/text/text_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/format/column_choice.h"
#include "data/io/utf8.h"
#include "data/text/text_number.h"
#include "data/text/text_words.h"

namespace kith::data {
namespace {

constexpr std::int64_t kMostTotals = 10'000;  // rows that are counted

}  // namespace

std::vector<std::string> ColumnMarks::remarks(const TextHead& head, std::vector<std::int64_t> doubtful) const {
  NumberMarks all;
  for (std::int64_t j = 0; j < columns(); ++j) all.add(of(j));
  // Where semicolons stand between columns, commas often stand before decimals.
  const bool no_sign = head.syntax.delimiter == ';' && !all.is_settled();
  for (std::int64_t j = 0; j < columns(); ++j) {
    if (of(j).is_beside_digits('.') || (no_sign && of(j).has_either('.'))) doubtful.push_back(j);
  }
  if (doubtful.empty()) return {};
  return {fmt::format(
      "{} holds numbers such as 1.234, which were read as decimals; say --decimal comma --thousands point if "
      "points separate thousands, or --decimal point",
      show_column(head.names, doubtful.front()))};
}

TextNotes::TextNotes(const TextHead& head) {
  for (std::size_t j = 0; j < static_cast<std::size_t>(head.columns); ++j) {
    const auto rows = [&](const auto& test) {
      return std::ranges::count_if(
          head.samples, [&](const TextHead::Sample& row) { return j < row.fields.size() && test(row.fields[j]); });
    };
    // 1E3 and 4.00638E+12 may be identifiers that a spreadsheet has read as numbers; 4.1E-3 and 1.5 are none.
    const auto fractions = rows([](const std::string& field) {
      const std::size_t power = field.find('E');
      return field.find("E-") != field.npos || (power == field.npos && field.find('.') != field.npos);
    });
    is_whole_.push_back(fractions == 0 &&
                        rows([](const std::string& field) { return field.find('.') == field.npos; }) > 0);
    is_number_.push_back(rows([](const std::string& field) { return field.size() > 1 && is_number_text(field); }) > 0);
    const std::string before = j == 0 || head.names.empty() ? "" : lower_case(head.names[j - 1]);
    const bool are_degrees =
        before.find("lat") != before.npos || before.find("lon") != before.npos || before.find("lng") != before.npos;
    const auto is_other = [j](const TextHead::Sample& row) {  // than 48.85 and N
      if (j >= row.fields.size() || row.fields[j].size() > 1) return true;
      const bool is_side = row.fields[j].find_first_not_of("NSEW") == std::string::npos;
      return !is_side || !is_number_text(row.fields[j - 1]) || row.fields[j - 1].starts_with('-');
    };
    is_side_.push_back(are_degrees && std::ranges::none_of(head.samples, is_other));
  }
}

void TextNotes::add(Kind kind, std::int64_t line, std::int64_t column, std::string_view text) {
  if (kind == total && !says_total(text)) return;
  Noted& first = first_[kind];
  const auto of_column = [column](const std::vector<char>& flags) {
    return flags[static_cast<std::size_t>(column)] != 0;
  };
  const std::int64_t noted = first.line;
  const bool counts = kind == unknown || kind == total;
  if (!counts && noted > 0 && noted < line) return;
  if ((kind == exponent && !of_column(is_whole_)) || (kind == truth && !of_column(is_number_))) return;
  if (kind == side && !of_column(is_side_)) return;
  const std::lock_guard lock(mutex_);
  if (kind == unknown) unknown_lines_.insert(line);
  if (kind == total && std::ssize(total_lines_) <= kMostTotals) total_lines_.insert(line);
  if (first.line > 0 && std::pair(first.line.load(), first.column) <= std::pair(line, column)) return;
  first.line = line;
  first.column = column;
  first.text = text;
}

std::int64_t TextNotes::unknown_rows() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(unknown_lines_);
}

std::vector<std::string> TextNotes::remarks(const TextHead& head, std::int64_t rows,
                                            std::vector<std::string> totals) const {
  constexpr std::size_t kShownBytes = 40;
  const std::lock_guard lock(mutex_);
  std::vector<std::string> remarks;
  // Where half of the rows have such a word, it is a value like others.
  const std::int64_t sums = std::ssize(total_lines_);
  const bool between = sums > std::ssize(totals) && 2 * sums < rows && sums <= kMostTotals;
  if (!between) remarks = std::move(totals);
  // {0}: the line and the column, {1}: the text there, {2}: the column for an option, then what else is given.
  const auto remark = [&]<class... More>(
                          Kind kind, fmt::format_string<std::string, std::string, std::string, const More&...> words,
                          const More&... more) {
    const Noted& noted = first_[kind];
    if (noted.line == 0) return;
    remarks.push_back(fmt::format(words,
                                  fmt::format("line {}, {}", noted.line.load(), show_column(head.names, noted.column)),
                                  quoted(noted.text, kShownBytes), option_text(head.names, noted.column), more...));
  };
  remark(open_end,
         "{0} has the date {1}, which databases write where there is none, and which is far from all others; "
         "--na-values '{1}' makes a missing value of it");
  remark(of_accounts, "{0}: '{1}' and the like were read as negative, as accounts write numbers");
  remark(rounded,
         "{0}: float64 cannot hold the whole number {1}, which was rounded; if such numbers identify rows, leave them "
         "out with --drop-columns {2}");
  remark(exponent,
         "{0}: {1} was read as a number; spreadsheets write identifiers so, such as 1E3 or those of many digits: if "
         "the column identifies rows, leave it out with --drop-columns {2}");
  const std::string& word = first_[truth].text;
  remark(truth, "{0}: '{1}' stands among numbers, and was read as {3}; correct the line if it means something else",
         word.starts_with('T') || word.starts_with('t') ? 1 : 0);
  constexpr std::int64_t kMostListed = 20;
  const std::string lines =
      sums <= kMostListed ? fmt::format(": sed '{}d' IN > OUT", fmt::join(total_lines_, "d;")) : "";
  if (between) {
    remark(total, "{3} row{4} a word for sums, the first in {0}: '{1}'; if {5} sums of other rows, leave {6} out{7}",
           sums, sums == 1 ? " has" : "s have", sums == 1 ? "it holds" : "they hold", sums == 1 ? "it" : "them", lines);
  }
  const char c = head.syntax.delimiter;
  const std::string mark = c == '\t' ? "\\t" : std::string(1, c);
  std::string signs;
  for (std::size_t j = 1; j < is_side_.size(); ++j) {
    if (is_side_[j] != 0) signs += fmt::format("${} ~ /^\"?[SW]\"?\\r?$/ {{${} = \"-\" ${}}} ", j + 1, j, j);
  }
  remark(side, "{0}: '{1}' stands beside degrees without a sign; south and west are negative: awk {3}'{4}1' IN > OUT",
         c == kBlanks ? "" : fmt::format("-F'{0}' -v OFS='{0}' ", mark), signs);
  const bool is_one = unknown_lines_.size() == 1;
  remark(unknown,
         "{3} of {4} rows {5} a value that the model does not know, the first in {0}: '{1}'; {6} no label (-1); "
         "--unknown error refuses such rows",
         unknown_lines_.size(), rows, is_one ? "has" : "have", is_one ? "it gets" : "they get");
  return remarks;
}

}  // namespace kith::data
