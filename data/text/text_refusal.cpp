// Finds columns of text in the sampled rows, and words the refusals.
#include "data/text/text_refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/text/column_remedies.h"
#include "data/text/number_marks.h"
#include "data/text/text_number.h"
#include "data/text/text_units.h"
#include "data/text/text_values.h"
#include "data/text/text_words.h"

namespace kith::data {

bool is_missing(const TextHead& head, std::string_view text) {
  text = without_blanks(text);
  return text.empty() || is_missing_text(text) ||
         std::find(head.missing_texts.begin(), head.missing_texts.end(), text) != head.missing_texts.end();
}

bool is_missing_category(const TextHead& head, std::string_view text, Missing missing) {
  return missing == Missing::keep ? is_missing(head, text) : text.empty() || is_missing_marker(text);
}

bool is_text_field(const TextHead& head, const std::string& field) {
  return !is_number_text(field) && !has_decimal_comma(field) && plain_number(field, head.numbers).empty() &&
         style_options(field).empty();
}

std::vector<std::int64_t> text_columns(const TextHead& head, const std::vector<std::int64_t>& columns,
                                       Missing missing) {
  std::vector<std::int64_t> result;
  for (const std::int64_t j : columns) {
    const auto column = static_cast<std::size_t>(j);
    const auto is_text = [&head, column, missing](const TextHead::Sample& row) {
      if (column >= row.fields.size()) return false;
      const std::string& field = row.fields[column];
      const bool ignored = missing == Missing::keep ? is_missing(head, field) : field.empty();
      return !ignored && is_text_field(head, field);
    };
    if (std::all_of(head.samples.begin(), head.samples.end(), is_text)) result.push_back(j);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string column_list(const TextHead& head, const std::vector<std::int64_t>& columns) {
  constexpr std::size_t kNamed = 30;
  std::vector<std::string> items;
  if (columns.size() <= kNamed) {
    for (const std::int64_t j : columns) items.push_back(option_text(head.names, j));
    return fmt::format("{}", fmt::join(items, ","));
  }
  for (std::size_t begin = 0; begin < columns.size();) {
    std::size_t end = begin + 1;
    while (end < columns.size() && columns[end] == columns[end - 1] + 1) ++end;
    items.push_back(end == begin + 1 ? std::to_string(columns[begin] + 1)
                                     : fmt::format("{}-{}", columns[begin] + 1, columns[end - 1] + 1));
    begin = end;
  }
  return fmt::format("{}", fmt::join(items, ","));
}

std::string drop_option(const TextHead& head, const std::vector<std::int64_t>& columns) {
  const std::string& before = head.options.drop_columns;
  return fmt::format("{}--drop-columns {}{}{}", head.header_option, before, before.empty() ? "" : ",",
                     column_list(head, columns));
}

namespace {

/// The option that finds out what columns hold, with a comma behind it, if the command has it.
std::string or_prepare(const ReadOptions& options) {
  return options.offers_prepare ? "say --prepare auto, which makes points of the columns that can be used, or " : "";
}

}  // namespace

void refuse_text_columns(const TextHead& head, const std::vector<std::int64_t>& columns, std::size_t points,
                         const std::string& name) {
  constexpr std::size_t kShown = 30;
  std::vector<std::string> shown;
  for (const std::int64_t j : columns) shown.push_back(shown.size() < kShown ? show_column(head.names, j) : "");
  const bool several = columns.size() > 1;
  const TextHead::Sample& row = head.samples.front();
  const std::string& text = row.fields[static_cast<std::size_t>(columns[0])];
  const auto date = std::find_if(columns.begin(), columns.end(), [&row](std::int64_t column) {
    return is_date_text(row.fields[static_cast<std::size_t>(column)]);
  });
  const bool dates = date == columns.begin(), all = columns.size() == points;
  std::string shown_number;
  const std::string units = unit_options(head, columns, shown_number), unquote = unquoting_command(text);
  if (!unquote.empty()) {
    refuse_input(name, fmt::format("expected numbers, found text in {} (such as '{}' in line {}); its marks are no "
                                   "quotation marks of tables; remove them: {}",
                                   show_list(shown, kShown), quoted(text, 40), row.line, unquote));
  }
  const bool keeps = !dates && units.empty() && !text.starts_with('[');  // the last remedy is a list of some
  const bool may_prepare = !all || !units.empty() || date != columns.end();
  const std::string leave_out = all ? ""
                                    : fmt::format("leave {} out with {}, {}", several ? "them" : "it",
                                                  drop_option(head, columns), !keeps || several ? "or " : "");
  const auto bits = std::ranges::find_if(columns, [&](std::int64_t j) { return !bits_in_column(head, j).empty(); });
  const std::string others =
      bits != columns.end()
          ? fmt::format("; {} may hold {}", show_column(head.names, *bits), bits_in_column(head, *bits))
      : dates || date == columns.end()
          ? ""
          : fmt::format("; {} holds dates: {}", show_column(head.names, *date),
                        remedy_for_dates(head, *date, row.fields[static_cast<std::size_t>(*date)]));
  refuse_input(
      name,
      fmt::format(
          "expected numbers, found {} in {} (such as '{}' in line {}); {}{}{}{}{}", dates ? "dates" : "text",
          show_list(shown, kShown), quoted(text, 40), row.line, may_prepare ? or_prepare(head.options) : "", leave_out,
          dates            ? remedy_for_dates(head, columns[0], text)
          : !units.empty() ? units + " makes numbers of them" + (shown_number.empty() ? "" : "; " + shown_number)
          : text.starts_with('[') && text.ends_with(']') ? "write each number of its lists in a column of its own"
          : all                                          ? "make features of the texts with --encode onehot"
          : several                                      ? "make features of their texts with --encode onehot"
                    : "make features of its texts with --encode onehot, or keep it as text with --label-column or "
                      "--id-column",
          others, (units.empty() ? separator_remedy(head) : "") + or_header(head, row.line)));
}

// Counts in every column what is not a finite number, and words the refusal.

namespace {

constexpr std::size_t kShown = 10;     // columns of a kind
constexpr std::size_t kMostWords = 4;  // of a column that may stand for missing values

/// What a column holds that is no finite number.
struct Faults {
  std::int64_t column = 0;
  std::int64_t missing = 0, words = 0, styled = 0;  // rows
  // Of the first fault, the first word and the first number of another style, counted from 1.
  std::int64_t first_line = 0, word_line = 0, styled_line = 0;
  std::vector<std::string> different;              // words, in the order of the rows; at most kMostWords + 1
  StyleChoice styles;                              // that read the numbers
  std::string styled_text = {}, either_text = {};  // the first of another style, and with a mark that may be either
  bool is_quoted = false;                          // styled_text
  bool is_point = false;                           // a column of the points; others show what marks mean
  bool any() const { return missing + words + styled > 0; }
  std::string word() const { return different.empty() ? "" : different.front(); }
};

/// Whether --na-values can name the words of a column, which may stand for missing values.
bool may_be_marks(const Faults& faults) {
  return faults.words > 0 && faults.different.size() <= kMostWords &&
         std::all_of(faults.different.begin(), faults.different.end(), [](const std::string& word) {
           return missing_word(word) != MissingWord::no && quoted(word) == word;
         });
}

/// Whether all values are numbers, or missing.
bool holds_numbers(const Faults& faults) { return faults.words == 0 || (faults.styled > 0 && may_be_marks(faults)); }

void count(Faults& faults, const TextHead& head, const Field& field, std::int64_t line, bool keeps_missing) {
  const std::string text = text_of(field);
  const bool may_be_missing = is_missing(head, text) && plain_number(text, head.numbers).empty();
  const NumberText read =
      may_be_missing ? NumberText{} : faults.styles.read(text, head.numbers, head.numbers.is_plain());
  const bool is_number = !read.number.empty() && read.unit.empty();
  const bool absent = may_be_missing || (is_number && !std::isfinite(value_of(read.number)));
  const NumberMarks& marks = faults.styles.marks();
  if (faults.either_text.empty() && (marks.has_either('.') || marks.has_either(','))) faults.either_text = text;
  if ((is_number && !absent) || (absent && keeps_missing)) return;
  if (!faults.any()) faults.first_line = line;
  if (absent) {
    ++faults.missing;
  } else if (read.is_styled && read.unit.empty()) {
    if (faults.styled++ > 0) return;
    faults.styled_line = line;
    faults.styled_text = text;
    faults.is_quoted = field.quoted;
  } else {
    if (faults.words++ == 0) faults.word_line = line;
    std::vector<std::string>& different = faults.different;
    const std::string_view word = without_blanks(text);
    const bool is_new = std::find(different.begin(), different.end(), word) == different.end();
    if (is_new && different.size() <= kMostWords) different.emplace_back(word);
  }
}

/// The rows that were read, those of them without a value in the columns of the points, and the marks of all columns of
/// numbers.
struct RowCount {
  std::int64_t read = 0, empty = 0;
  NumberMarks marks = {};
};

RowCount count_all(std::vector<Faults>& all, const InputBytes& input, const TextHead& head, const TextIndex& index,
                   bool keeps_missing) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;
  std::vector<Faults*> of_column(static_cast<std::size_t>(head.columns));
  for (Faults& faults : all) of_column[static_cast<std::size_t>(faults.column)] = &faults;
  Matrix<std::byte> buffer;
  RowCount rows;
  std::int64_t bytes = 0;
  for (const TextBlock& block : index.blocks) {
    if (rows.read > 0 && bytes + block.bytes > kMostBytes) break;
    bytes += block.bytes;
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t, std::int64_t line) {
      ++rows.read;
      bool is_empty = true;
      FieldCursor cursor(record, head.syntax);
      for (Faults* faults : of_column) {
        if (!cursor.more()) break;
        const Field field = cursor.take();
        if (faults == nullptr) continue;
        const std::int64_t before = faults->missing;
        count(*faults, head, field, line, keeps_missing);
        is_empty = is_empty && (faults->missing > before || !faults->is_point);
      }
      rows.empty += is_empty ? 1 : 0;
    });
  }
  return rows;
}

/// The faults of each of the columns, ascending, and in `rows` what was read.
std::vector<Faults> faults_of(const InputBytes& input, const TextHead& head, const TextIndex& index,
                              const std::vector<std::int64_t>& columns, bool keeps_missing, RowCount& rows) {
  std::vector<Faults> all(static_cast<std::size_t>(head.columns));
  for (std::size_t j = 0; j < all.size(); ++j) all[j].column = static_cast<std::int64_t>(j);
  for (const std::int64_t column : columns) all[static_cast<std::size_t>(column)].is_point = true;
  rows = count_all(all, input, head, index, keeps_missing);
  for (const Faults& faults : all) {
    if (holds_numbers(faults)) rows.marks.add(faults.styles.marks());
  }
  std::erase_if(all, [](const Faults& faults) { return !faults.is_point; });
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
        stays =
            number.empty() ? !is_missing(head, text) && !style_options(text).empty() : std::isfinite(value_of(number));
      }
      any = any || stays;
    });
  }
  return any;
}

/// "--na-values 'a,b'" with the words that the options name and those of a column.
std::string na_values(std::vector<std::string> marks) { return fmt::format("--na-values '{}'", fmt::join(marks, ",")); }

/// Throws about the only column with faults, which holds a word: what reads the table is known from all its words.
[[noreturn]] void refuse_words(const InputBytes& input, const TextHead& head, const TextIndex& index,
                               const std::vector<std::int64_t>& points, const Faults& faults,
                               const ReadOptions& options) {
  std::string remedy = "correct it";
  if (points.size() > 1) remedy += ", or leave the column out with " + drop_option(head, {faults.column});
  const auto [rule, number, shown] = number_rule(head, faults.column);
  const char* drop = faults.missing > 0 && options.missing == Missing::offer ? " --nan drop" : "";
  const bool reads = rule == "time"           ? parse_time(with_colons(faults.word())).has_value()
                     : rule == "first-number" ? first_number(faults.word(), head.numbers).has_value()
                                              : rule == "ordinal" || (rule == "unit" && number.empty());
  if (reads) {
    remedy += fmt::format(", or say --encode {}={}{}{}", option_text(head.names, faults.column), rule, drop,
                          shown.empty() ? "" : "; " + shown);
  }
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
  const std::string word = faults.word();
  const bool is_stray = faults.words == 1 && std::ranges::count(word, '"') == 1 &&
                        (is_number_text(word.substr(1)) || is_number_text(word.substr(0, word.size() - 1)));
  refuse_value(fmt::format("{}: line {}, {}", input.name(), faults.word_line, show_column(head.names, faults.column)),
               fmt::format("expected a number, found '{}'; {}{}", quoted(faults.word(), 40), remedy,
                           is_stray ? "; or remove its quotation mark: " + stray_quote_command(faults.word_line)
                           : may_be_marks(faults) ? ""
                           : split_unit(faults.word()).unit == "%"
                               ? "; if 12% and 12 mean the same here, remove the sign: sed 's/ *%//g' IN > OUT"
                               : or_cut(input, head, index, faults.word_line)));
}

/// Throws if a row has a word in each of the columns, as a second table has, or the names of the columns once more.
void refuse_second_header(const InputBytes& input, const TextHead& head, const std::vector<Faults>& all,
                          std::size_t points) {
  const auto is_name = [&head](const Faults& faults) {
    return !head.names.empty() && faults.different.size() == 1 &&
           faults.word() == head.names[static_cast<std::size_t>(faults.column)];
  };
  const std::int64_t line = all.empty() ? 0 : all.front().word_line;
  const auto is_there = [line](const Faults& faults) { return faults.words > 0 && faults.word_line == line; };
  if (all.size() != points || !std::ranges::all_of(all, is_there)) return;
  if (std::ranges::all_of(all, is_name)) {
    refuse_input(input.name(),
                 fmt::format("line {0} repeats the names of line {1}; leave out such lines: awk 'NR == {1} "
                             "{{names = $0}} NR == {1} || $0 != names' IN > OUT",
                             line, head.first_line));
  }
  if (points < 2 || line == head.first_line || std::ranges::any_of(all, [](const Faults& f) { return f.words > 1; }))
    return;
  refuse_row_of_words(input.name(), line);
}

}  // namespace

std::vector<std::int64_t> columns_with_words(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                             const std::vector<std::int64_t>& columns) {
  RowCount rows;
  std::vector<std::int64_t> found;
  for (const Faults& faults : faults_of(input, head, index, columns, true, rows)) {
    if (faults.words > 0) found.push_back(faults.column);
  }
  return found;
}

std::vector<std::int64_t> numeric_columns(const InputBytes& input, const TextHead& head) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(head.columns)), found;
  std::iota(all.begin(), all.end(), 0);
  RowCount rows;
  for (const Faults& faults : faults_of(input, head, index_text(input, head), all, false, rows)) {
    if (faults.words == 0 && faults.missing < rows.read) found.push_back(faults.column);
  }
  return found;
}

void refuse_faulty_columns(const InputBytes& input, const TextHead& head, const TextIndex& index,
                           const std::vector<std::int64_t>& points, const std::vector<std::int64_t>& named,
                           const ReadOptions& options) {
  const bool keeps_missing = options.missing == Missing::keep, may_drop = options.missing == Missing::offer;
  RowCount rows;
  std::vector<Faults> all = faults_of(input, head, index, points, keeps_missing, rows);
  StyleChoice styles;
  bool is_styled = false;
  std::string question;  // about the marks of a column, without the options for each answer
  char unclear = '\0';
  for (Faults& faults : all) {
    const char mark = settle_marks(faults.styles, rows.marks, head.syntax.delimiter);
    if (mark != '\0' && holds_numbers(faults) && unclear == '\0') {
      unclear = mark;
      question = question_about(mark, faults.either_text, head.names, faults.column);
    } else if (holds_numbers(faults) && mark == '\0') {
      styles.add(faults.styles);
    }
    is_styled = is_styled || faults.styled > 0;
  }
  // Decimal commas and decimal points in one table, which no options describe.
  const bool conflict = is_styled && unclear == '\0' && styles.options().empty();
  std::erase_if(all, [](const Faults& faults) { return !faults.any(); });
  const bool named_all = std::all_of(all.begin(), all.end(), [&named](const Faults& faults) {
    return std::binary_search(named.begin(), named.end(), faults.column);
  });
  const bool misread = std::any_of(all.begin(), all.end(), [&](const Faults& faults) {
    const bool as_header = options.header == Header::automatic && head.names.empty();
    return (as_header && faults.first_line == head.first_line && faults.styled == 0) || is_number_text(faults.word());
  });
  if (all.empty() || named_all || misread) return;
  refuse_second_header(input, head, all, points.size());
  if (all.size() == 1) {
    const Faults& faults = all.front();
    if (faults.words > 0 && faults.styled == 0) refuse_words(input, head, index, points, faults, options);
    const bool is_mostly_missing = 2 * (faults.missing - rows.empty) > rows.read - rows.empty;
    if (faults.styled == 0 && !is_mostly_missing) return;
  }
  if (all.size() == 1 && all.front().missing + all.front().words == 0 && !conflict) {
    const Faults& faults = all.front();
    const std::string style = styles.options();
    const bool may_divide = style == "--decimal comma" && head.syntax.delimiter != ',' && !faults.is_quoted;
    const std::string say =
        unclear != '\0'
            ? question + options_for_either(unclear, "")
            : fmt::format("say {}{}", style, may_divide ? ", or --delimiter comma if it separates fields" : "");
    refuse_value(
        fmt::format("{}: line {}, {}", input.name(), faults.styled_line, show_column(head.names, faults.column)),
        fmt::format("expected a number, found '{}'; {}", quoted(faults.styled_text, 40), say));
  }
  std::vector<std::string> texts, absent, styled, markers = options.missing_texts;
  std::set<std::string> known(markers.begin(), markers.end());
  std::vector<std::int64_t> dropped, with_gaps;
  const std::string style = is_styled ? styles.options() : "";
  bool drops_rows = false, may_encode = false, may_prepare = false;
  bool may_replace = conflict && head.syntax.delimiter != ',';
  std::int64_t dates = -1;  // a column that holds them
  std::string date_text;
  for (const Faults& faults : all) {
    const std::string name = show_column(head.names, faults.column);
    const auto shown = [&](std::int64_t count, const std::string& what) {
      return fmt::format("{} ({}{} row{}, first fault in line {})", name, what, count, count == 1 ? "" : "s",
                         faults.first_line);
    };
    if (faults.words > 0) texts.push_back(shown(faults.words, fmt::format("'{}', ", quoted(faults.word(), 20))));
    if (faults.missing > 0) absent.push_back(shown(faults.missing, ""));
    if (faults.styled > 0) styled.push_back(shown(faults.styled, ""));
    const bool marks = may_be_marks(faults) && (may_drop || keeps_missing);
    const std::int64_t lost = faults.missing + faults.words + (conflict ? faults.styled : 0);
    may_replace = may_replace && (faults.styled == 0 || has_decimal_comma(faults.styled_text));
    // Rows without any value, as behind the table in a spreadsheet, say nothing of a column.
    if (2 * (lost - rows.empty) > rows.read - rows.empty || (faults.words > 0 && !marks) ||
        (conflict && faults.styled > 0) || (lost > 0 && !may_drop && !keeps_missing)) {
      dropped.push_back(faults.column);
      const bool date = faults.words > 0 && is_date_text(faults.word());
      if (date && dates < 0) {
        dates = faults.column;
        date_text = faults.word();
      }
      may_encode = may_encode || (faults.words > 0 && !date);
      const bool repeats = faults.words > 2 * std::ssize(faults.different);
      may_prepare = may_prepare || date || repeats || !split_unit(faults.word()).unit.empty();
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
  // Many faults are counted; few are listed.
  constexpr std::size_t kMostListed = 8;
  const bool offers = options.offers_prepare && may_prepare;
  std::string found;
  if (const auto word = std::find_if(all.begin(), all.end(), [](const Faults& faults) { return faults.words > 0; });
      word != all.end() && (offers || texts.size() + absent.size() + styled.size() > kMostListed)) {
    found = fmt::format("text in {} of {} columns (such as '{}' in line {}, {})", texts.size(), points.size(),
                        quoted(word->word(), 20), word->word_line, show_column(head.names, word->column));
    if (!absent.empty()) found += fmt::format(", missing values in {}", absent.size());
    if (!styled.empty()) found += fmt::format(", numbers with other marks in {}", styled.size());
  }
  const std::string where =
      !found.empty() ? "" : fmt::format(" in {} {} rows", rows.read < index.rows ? "the first" : "its", rows.read);
  for (const auto& [what, columns] :
       {std::pair{"text in ", &texts}, std::pair{"missing values, NaN or infinity in ", &absent},
        std::pair{"numbers with other marks in ", &styled}}) {
    if (!where.empty() && !columns->empty())
      found += (found.empty() ? "" : "; ") + std::string(what) + show_list(*columns, kShown);
  }
  if (offers) {
    refuse_input(input.name(), fmt::format("expected numbers, found {}; kith can choose what becomes of each column, "
                                           "and prints its choice; say --prepare auto",
                                           found));
  }
  std::string remedy = !dropped.empty()             ? " " + drop_option(head, dropped)
                       : head.header_option.empty() ? ""
                                                    : " --header yes";
  if (markers.size() > options.missing_texts.size()) remedy += " " + na_values(markers);
  if (drops_rows) remedy += " --nan drop";
  if (unclear != '\0') {
    refuse_input(input.name(), fmt::format("expected numbers, found{} {}; {}{}", where, found, question,
                                           options_for_either(unclear, remedy.empty() ? "" : remedy.substr(1) + " ")));
  }
  if (!style.empty()) remedy += " " + style;
  if (may_encode) remedy += " (or --encode onehot, which makes features of texts)";
  if (dates >= 0)
    remedy +=
        fmt::format("; {} holds dates: {}", show_column(head.names, dates), remedy_for_dates(head, dates, date_text));
  if (all.front().words > 0 && !may_be_marks(all.front()) && dates < 0)
    remedy += or_cut(input, head, index, std::ranges::min(all, {}, &Faults::first_line).first_line);
  if (may_replace) remedy += "; or write all decimals with points: tr , . < IN > OUT";
  const bool reads = dropped.size() < points.size();
  refuse_input(input.name(), fmt::format("expected numbers, found{} {}; {}{}", where, found,
                                         reads         ? "this reads it:"
                                         : may_replace ? "write all decimals with points: tr , . < IN > OUT"
                                                       : "choose other columns, or correct them",
                                         reads ? remedy : ""));
}

std::vector<std::int64_t> refuse_unclear_points(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                                const std::vector<std::int64_t>& columns) {
  RowCount rows;
  std::vector<std::int64_t> doubtful;
  for (const Faults& faults : faults_of(input, head, index, columns, true, rows)) {
    const NumberMarks& marks = faults.styles.marks();
    if (marks.meaning_of('.', rows.marks, head.syntax.delimiter) == NumberMarks::Meaning::decimal) {
      if (marks.may_be_thousands('.')) doubtful.push_back(faults.column);
      continue;
    }
    refuse_value(input.name(),
                 question_about('.', faults.either_text, head.names, faults.column) + options_for_either('.', ""));
  }
  return doubtful;
}

}  // namespace kith::data
