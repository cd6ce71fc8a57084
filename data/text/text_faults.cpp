// Counts in every column what is not a finite number, and words the refusal.
#include "data/text/text_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/quoted.h"
#include "data/text/text_number.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

constexpr std::size_t kShown = 20;     // columns of a kind
constexpr std::size_t kMostWords = 4;  // of a column that may stand for missing values

/// What a column holds that is no finite number.
struct Faults {
  std::int64_t column = 0;
  std::int64_t missing = 0, words = 0, styled = 0;  // rows
  std::int64_t first_line = 0, word_line = 0;       // of the first fault and the first word, counted from 1
  std::vector<std::string> different;               // words, in the order of the rows; at most kMostWords + 1
  StyleChoice styles;                               // that read the numbers
  bool may_group = true;                            // a comma in each of them may separate thousands
  bool any() const { return missing + words + styled > 0; }
  std::string word() const { return different.empty() ? "" : different.front(); }
};

bool is_finite_number(const std::string& number) {
  double value = 0.0;
  parse_number(number.data(), number.data() + number.size(), value);
  return std::isfinite(value);
}

void count(Faults& faults, const TextHead& head, const std::string& text, std::int64_t line, bool keeps_missing) {
  constexpr std::int64_t kFirst = 1000;  // rows whose plain numbers have to be read too
  const std::string number = plain_number(text, head.numbers);
  if (!number.empty() && line < head.first_line + kFirst) faults.styles.add(text);
  const bool absent = number.empty() ? is_missing(head, text) : !is_finite_number(number);
  if ((!number.empty() && !absent) || (absent && keeps_missing)) return;
  if (!faults.any()) faults.first_line = line;
  const std::string style = absent || !head.numbers.is_plain() ? "" : style_options(text);
  if (absent) {
    ++faults.missing;
  } else if (!style.empty()) {
    ++faults.styled;
    faults.styles.add(text);
    faults.may_group = faults.may_group && !plain_number(text, {'.', ','}).empty();
  } else {
    if (faults.words++ == 0) faults.word_line = line;
    std::vector<std::string>& different = faults.different;
    const bool is_new = std::find(different.begin(), different.end(), text) == different.end();
    if (is_new && different.size() <= kMostWords) different.push_back(text);
  }
}

/// The rows that were read.
std::int64_t count_all(std::vector<Faults>& all, const InputBytes& input, const TextHead& head, const TextIndex& index,
                       bool keeps_missing) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;
  std::vector<Faults*> of_column(static_cast<std::size_t>(head.columns));
  for (Faults& faults : all) of_column[static_cast<std::size_t>(faults.column)] = &faults;
  Matrix<std::byte> buffer;
  std::int64_t rows = 0, bytes = 0;
  for (const TextBlock& block : index.blocks) {
    if (rows > 0 && bytes + block.bytes > kMostBytes) break;
    bytes += block.bytes;
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t, std::int64_t line) {
      ++rows;
      FieldCursor cursor(record, head.syntax);
      for (Faults* faults : of_column) {
        if (!cursor.more()) break;
        const Field field = cursor.take();
        if (faults != nullptr) count(*faults, head, text_of(field), line, keeps_missing);
      }
    });
  }
  return rows;
}

/// The faults of each of the columns, ascending, and in `rows` how many rows were read.
std::vector<Faults> faults_of(const InputBytes& input, const TextHead& head, const TextIndex& index,
                              const std::vector<std::int64_t>& columns, bool keeps_missing, std::int64_t& rows) {
  std::vector<Faults> all;
  for (const std::int64_t column : columns) all.emplace_back().column = column;
  std::sort(all.begin(), all.end(), [](const Faults& a, const Faults& b) { return a.column < b.column; });
  rows = count_all(all, input, head, index, keeps_missing);
  return all;
}

/// Whether some row has a number in each of these columns, so that it stays with --nan drop.
bool any_row_stays(const InputBytes& input, const TextHead& head, const TextIndex& index,
                   const std::vector<std::int64_t>& columns) {
  std::vector<char> looked_at(static_cast<std::size_t>(head.columns), 0);
  for (const std::int64_t column : columns) looked_at[static_cast<std::size_t>(column)] = 1;
  Matrix<std::byte> buffer;
  bool any = false;
  for (auto block = index.blocks.begin(); block != index.blocks.end() && !any; ++block) {
    for_records(input, head.syntax, *block, buffer, [&](std::string_view record, std::int64_t, std::int64_t) {
      FieldCursor cursor(record, head.syntax);
      bool stays = true;
      for (std::size_t j = 0; j < looked_at.size() && cursor.more() && stays && !any; ++j) {
        const std::string text = text_of(cursor.take());
        if (looked_at[j] == 0) continue;
        const std::string number = plain_number(text, head.numbers);
        stays = number.empty() ? !is_missing(head, text) && !style_options(text).empty() : is_finite_number(number);
      }
      any = any || stays;
    });
  }
  return any;
}

/// Whether --na-values can name the words of a column, which may stand for missing values.
bool may_be_marks(const Faults& faults) {
  return faults.words > 0 && faults.different.size() <= kMostWords &&
         std::all_of(faults.different.begin(), faults.different.end(), [](const std::string& word) {
           return word.find_first_of(",'\"\n") == word.npos && quoted(word) == word;
         });
}

/// "--na-values 'a,b'" with the words that the options name and those of a column.
std::string na_values(std::vector<std::string> marks) { return fmt::format("--na-values '{}'", fmt::join(marks, ",")); }

/// Throws about the only column with faults, which holds a word: what reads the table is known from all its words.
[[noreturn]] void refuse_words(const InputBytes& input, const TextHead& head, const TextIndex& index,
                               const std::vector<std::int64_t>& points, const Faults& faults,
                               const ReadOptions& options) {
  std::string remedy = "correct it";
  if (points.size() > 1) remedy += ", or leave the column out with " + drop_option(head, {faults.column});
  const bool may_mark = may_be_marks(faults) && options.missing != Missing::refuse;
  if (may_mark && (options.fill != Fill::none || any_row_stays(input, head, index, points))) {
    std::vector<std::string> marks = options.missing_texts;
    marks.insert(marks.end(), faults.different.begin(), faults.different.end());
    remedy += fmt::format("; if {} missing value, say {}{}",
                          faults.different.size() == 1
                              ? "it stands for a"
                              : fmt::format("each of '{}' stands for a", fmt::join(faults.different, "', '")),
                          na_values(std::move(marks)), options.missing == Missing::keep ? "" : " --nan drop");
  }
  refuse_value(fmt::format("{}: line {}, {}", input.name(), faults.word_line, show_column(head.names, faults.column)),
               fmt::format("expected a number, found '{}'; {}", quoted(faults.word(), 40), remedy));
}

}  // namespace

std::vector<std::int64_t> columns_with_words(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                             const std::vector<std::int64_t>& columns) {
  std::int64_t rows = 0;
  std::vector<std::int64_t> found;
  for (const Faults& faults : faults_of(input, head, index, columns, true, rows)) {
    if (faults.words > 0) found.push_back(faults.column);
  }
  return found;
}

void refuse_faulty_columns(const InputBytes& input, const TextHead& head, const TextIndex& index,
                           const std::vector<std::int64_t>& points, const std::vector<std::int64_t>& named,
                           const ReadOptions& options) {
  const bool keeps_missing = options.missing == Missing::keep, may_drop = options.missing == Missing::offer;
  std::int64_t rows = 0;
  std::vector<Faults> all = faults_of(input, head, index, points, keeps_missing, rows);
  StyleChoice styles;
  bool is_styled = false;
  for (const Faults& faults : all) {
    if (faults.words == 0) styles.add(faults.styles);
    is_styled = is_styled || faults.styled > 0;
  }
  std::erase_if(all, [](const Faults& faults) { return !faults.any(); });
  const bool named_all = std::all_of(all.begin(), all.end(), [&named](const Faults& faults) {
    return std::binary_search(named.begin(), named.end(), faults.column);
  });
  const bool misread = std::any_of(all.begin(), all.end(), [&](const Faults& faults) {
    const bool as_header = options.header == Header::automatic && head.names.empty();
    return (as_header && faults.first_line == head.first_line && faults.styled == 0) || is_number_text(faults.word());
  });
  if (all.empty() || named_all || misread) return;
  if (all.size() == 1) {
    const Faults& faults = all.front();
    if (faults.words > 0 && faults.styled == 0) refuse_words(input, head, index, points, faults, options);
    return;
  }
  std::vector<std::string> texts, absent, styled, markers = options.missing_texts;
  std::set<std::string> known(markers.begin(), markers.end());
  std::vector<std::int64_t> dropped, with_gaps;
  const std::string style = is_styled ? styles.options() : "";
  bool drops_rows = false, may_group = true, may_encode = false;
  std::int64_t dates = -1;  // a column that holds them
  for (const Faults& faults : all) {
    const std::string name = show_column(head.names, faults.column);
    const auto shown = [&](std::int64_t count, const std::string& what) {
      return fmt::format("{} ({}{} row{}, first fault in line {})", name, what, count, count == 1 ? "" : "s",
                         faults.first_line);
    };
    if (faults.words > 0) texts.push_back(shown(faults.words, fmt::format("'{}', ", quoted(faults.word(), 20))));
    if (faults.missing > 0) absent.push_back(shown(faults.missing, ""));
    if (faults.styled > 0) styled.push_back(shown(faults.styled, ""));
    may_group = may_group && faults.may_group;
    const bool marks = may_be_marks(faults) && (may_drop || keeps_missing);
    const std::int64_t lost = faults.missing + faults.words;
    if (2 * lost > rows || (faults.words > 0 && !marks) || (lost > 0 && !may_drop && !keeps_missing)) {
      dropped.push_back(faults.column);
      const bool date = faults.words > 0 && is_date_text(faults.word());
      if (date && dates < 0) dates = faults.column;
      may_encode = may_encode || (faults.words > 0 && !date);
      continue;
    }
    drops_rows = drops_rows || (lost > 0 && may_drop);
    if (lost > 0) with_gaps.push_back(faults.column);
    for (const std::string& word : marks ? faults.different : std::vector<std::string>()) {
      if (known.insert(word).second) markers.push_back(word);
    }
  }
  std::vector<std::int64_t> left = points;
  std::erase_if(left, [&dropped](std::int64_t column) { return std::ranges::count(dropped, column) > 0; });
  if (!with_gaps.empty() && options.fill == Fill::none && !any_row_stays(input, head, index, left)) {
    dropped.insert(dropped.end(), with_gaps.begin(), with_gaps.end());
    std::sort(dropped.begin(), dropped.end());
    markers = options.missing_texts;
    drops_rows = false;
  }
  std::string found;
  for (const auto& [what, columns] :
       {std::pair{"text in ", &texts}, std::pair{"missing values, NaN or infinity in ", &absent},
        std::pair{"numbers with other marks in ", &styled}}) {
    if (!columns->empty()) found += (found.empty() ? "" : "; ") + std::string(what) + show_list(*columns, kShown);
  }
  std::string remedy = !dropped.empty()             ? " " + drop_option(head, dropped)
                       : head.header_option.empty() ? ""
                                                    : " --header yes";
  if (markers.size() > options.missing_texts.size()) remedy += " " + na_values(markers);
  if (drops_rows) remedy += " --nan drop";
  if (!style.empty()) remedy += " " + style;
  if (style == "--decimal comma" && may_group) remedy += " (or --thousands comma, if the comma separates thousands)";
  if (may_encode) remedy += " (or --encode onehot, which makes features of texts)";
  if (dates >= 0)
    remedy += fmt::format("; {} holds dates: {}", show_column(head.names, dates), remedy_for_dates(head, dates));
  const bool reads = dropped.size() < points.size();
  refuse_input(
      input.name(),
      fmt::format("expected numbers, found in {} {} rows {}; {}{}", rows < index.rows ? "the first" : "its", rows,
                  found, reads ? "this reads it:" : "choose other columns, or correct them", reads ? remedy : ""));
}

}  // namespace kith::data
