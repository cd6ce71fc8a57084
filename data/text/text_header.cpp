// Compares the first line of a table with the rows below it, column by column; finds tables behind other lines.
#include "data/text/text_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/text/number_marks.h"
#include "data/text/text_refusal.h"
#include "data/text/text_units.h"
#include "data/text/text_values.h"

namespace kith::data {
namespace {

constexpr std::size_t kEnoughRows = 3;  // below a line of numbers, to take it for names
constexpr std::size_t kLongRow = 5;     // fields in a sequence that is no accident

enum class CellKind { empty, missing, truth, infinite, whole, fraction, text };

struct Cell {
  CellKind kind = CellKind::empty;
  double value = 0.0;
  bool is_number() const { return kind == CellKind::whole || kind == CellKind::fraction; }
  bool is_absent() const { return kind == CellKind::empty || kind == CellKind::missing; }
};

Cell cell_of(std::string_view text, const NumberStyle& style) {
  if (text.empty()) return {};
  if (is_missing_marker(text)) return {CellKind::missing};
  const bool is_plain = style.is_plain() && is_number_text(text);
  const std::string number = is_plain ? std::string(text) : plain_number(text, style);
  if (number.empty()) return {has_decimal_comma(text) || is_number_text(text) ? CellKind::fraction : CellKind::text};
  if (std::string_view("TtFf").find(text[0]) != std::string_view::npos) return {CellKind::truth};
  const double value = value_of(number);
  if (std::isnan(value)) return {CellKind::missing};
  if (std::isinf(value)) return {CellKind::infinite};
  const bool whole = number.find_first_not_of("+-0123456789") == number.npos;
  return {whole ? CellKind::whole : CellKind::fraction, value};
}

/// A column: its field of the first line, and what the rows hold.
struct HeadColumn {
  Cell first;
  std::size_t numbers = 0, fractions = 0, texts = 0, truths = 0, absent = 0, years = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  bool rises = true, falls = true;  // from the first line on, in every row
  bool even_steps = true;           // all steps are equal, from the first line on
  double last = 0.0, step = 0.0;    // of the numbers so far
  bool is_value = false;            // its first text is a date, a time or a number with a unit, as all below are

  bool is_numeric() const { return numbers > 0 && texts == 0 && truths == 0; }
  bool is_fractional() const { return 2 * fractions > numbers; }  // programs also write 3 for 3.0
  bool is_outside() const { return first.value < least || first.value > most; }
  bool continues() const { return numbers >= kEnoughRows && (rises || falls); }
  bool steps_evenly() const { return continues() && even_steps; }
};

bool is_near_year(double value) { return value >= 1500 && value <= 2200; }
bool is_year(const Cell& field) { return field.kind == CellKind::whole && is_near_year(field.value); }

bool is_same_value(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

void add_cell(HeadColumn& column, const Cell& field) {
  if (field.is_absent()) ++column.absent;
  if (field.kind == CellKind::text) ++column.texts;
  if (field.kind == CellKind::truth) ++column.truths;
  if (!field.is_number()) return;
  const double before = column.numbers == 0 ? column.first.value : column.last, step = field.value - before;
  column.rises = column.rises && step > 0;
  column.falls = column.falls && step < 0;
  column.even_steps = column.even_steps && (column.numbers == 0 || is_same_value(step, column.step));
  column.step = step;
  column.last = field.value;
  ++column.numbers;
  if (field.kind == CellKind::fraction) ++column.fractions;
  if (is_near_year(field.value)) ++column.years;
  column.least = std::min(column.least, field.value);
  column.most = std::max(column.most, field.value);
}

/// The numbers of a row as a sequence.
struct NumberRow {
  explicit NumberRow(const std::vector<double>& values) : length(values.size()) {
    for (std::size_t j = 1; j < values.size(); ++j) {
      rises = rises && values[j] > values[j - 1];
      falls = falls && values[j] < values[j - 1];
      even = even && is_same_value(values[j] - values[j - 1], values[1] - values[0]);
    }
    if (!values.empty()) start = values[0];
  }
  std::size_t length;
  double start = 0.0;
  bool rises = true, falls = true, even = true;
  bool is_monotone() const { return length > 1 && (rises || falls); }
  bool is_even() const { return length >= 3 && is_monotone() && even; }
};

class Judge {
 public:
  explicit Judge(const FirstFields& fields) : fields_(fields) {
    for (const std::string& text : fields.first) {
      const bool is_name =
          is_in_parentheses(text) && text.find_first_of(".,") == text.npos;  // (1) or (2024) of a report
      columns_.emplace_back().first = is_name ? Cell{CellKind::text} : cell_of(text, fields.numbers);
    }
    std::vector<double> values;
    for (const HeadColumn& column : columns_) {
      if (column.first.is_number()) values.push_back(column.first.value);
    }
    line_ = NumberRow(values);
  }

  FirstLineChoice choose() {
    const auto has = [this](auto... kinds) {
      return any([=](const HeadColumn& column) { return ((column.first.kind == kinds) || ...); });
    };
    has_numbers_ = has(CellKind::whole, CellKind::fraction);
    const bool has_words = has(CellKind::missing, CellKind::truth, CellKind::infinite);
    if (!has_numbers_ && !has_words) {
      read_rows();
      if (!has(CellKind::text)) return {};
      if (!find_values() || !no_row().empty()) return names("");
      return has_names_above_texts() ? unclear("has a value as those below it, and a text above others")
                                     : FirstLineChoice{};
    }
    has_text_ = has(CellKind::text);
    read_rows();
    has_new_texts_ = has_text_ && has_names_above_texts();
    FirstLineChoice choice = has_numbers_ ? of_numbers() : of_words();
    const bool is_apart = has_new_texts_ && line_.is_monotone() && fields_.rows.size() + line_.length >= 6 &&
                          (line_.length >= 4 || all_numeric([](const HeadColumn& column) {
                             return column.first.kind == CellKind::whole && column.is_outside();
                           }));
    if (choice.is == FirstLine::row && is_apart)
      choice = unclear("has numbers in order beside a text unlike those below");
    if (choice.is == FirstLine::names || !counts_up()) return choice;
    // A long line that counts up, as the generated names of pandas and R do, is never a row without a question.
    return choice.is == FirstLine::unclear || line_.length >= 3 ? unclear(counting()) : choice;
  }

 private:
  template <class Holds>
  bool any(const Holds& holds) const {
    return std::any_of(columns_.begin(), columns_.end(), holds);
  }
  /// Whether it holds for all columns with a number in the first line and numbers below it, at least one.
  template <class Holds>
  bool all_numeric(const Holds& holds) const {
    bool some = false;
    for (const HeadColumn& column : columns_) {
      if (!column.first.is_number() || !column.is_numeric()) continue;
      if (!holds(column)) return false;
      some = true;
    }
    return some;
  }

  static FirstLineChoice unclear(std::string why) { return {FirstLine::unclear, std::move(why)}; }
  static FirstLineChoice names(std::string why) { return {FirstLine::names, std::move(why)}; }

  void read_rows() {
    std::vector<double> values;
    for (const std::vector<std::string>* row : fields_.rows) {
      values.clear();
      for (std::size_t j = 0; j < std::min(row->size(), columns_.size()); ++j) {
        const std::string& text = (*row)[j];
        const Cell field = is_missing_text(text) ? Cell{CellKind::missing} : cell_of(text, fields_.numbers);
        add_cell(columns_[j], field);
        if (columns_[j].first.is_number() && field.is_number()) values.push_back(field.value);
      }
      const NumberRow below(values);
      const bool same = below.length == line_.length;
      like_ += same && below.is_monotone() && below.rises == line_.rises ? 1 : 0;
      even_ += same && below.is_even() ? 1 : 0;
    }
  }

  bool find_values() {
    const auto unit_of = [](const std::string& text) {
      const UnitText unit = split_unit(text);
      return style_options(unit.number).empty() && plain_number(unit.number, {}).empty() ? "" : unit.unit;
    };
    const auto are_alike = [&](const std::string& name, const std::string& value) {
      if (date_readings(name).any() || date_readings(value).any()) {
        return date_readings(name).any() && date_readings(value).any();
      }
      const std::string unit = unit_of(name), other = unit_of(value);
      if (!unit.empty() || !other.empty()) {
        return !unit.empty() && !other.empty();
      }
      return parse_time(name) && parse_time(value);
    };
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const auto is_other = [&](const std::vector<std::string>* row) {
        return j >= row->size() || !are_alike(fields_.first[j], (*row)[j]);
      };
      columns_[j].is_value = !fields_.rows.empty() && std::ranges::none_of(fields_.rows, is_other);
    }
    return any([](const HeadColumn& column) { return column.is_value; });
  }

  /// Whether the texts of the first line stand above texts of which none is the same, and at least one of them is no
  /// text of a row as it seems: only those below have digits, or occur more than once.
  bool has_names_above_texts() const {
    constexpr std::string_view kDigits = "0123456789";
    bool some = false;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const std::string& name = fields_.first[j];
      if (columns_[j].first.kind != CellKind::text || columns_[j].is_value) continue;
      std::set<std::string_view> below;
      for (const std::vector<std::string>* row : fields_.rows) below.insert(j < row->size() ? (*row)[j] : name);
      if (below.count(name) > 0 || columns_[j].texts + columns_[j].absent < fields_.rows.size()) return false;
      const bool have_digits = std::all_of(below.begin(), below.end(), [kDigits](std::string_view text) {
        return text.find_first_of(kDigits) != text.npos;
      });
      some = some || below.size() < fields_.rows.size() || (have_digits && name.find_first_of(kDigits) == name.npos);
    }
    return some;
  }

  /// Whether the numbers are 0, 1, 2, ... or, at least three, 1, 2, 3, ..., and all fields but an empty first one and
  /// texts that no row below has.
  bool counts_up() const {
    const bool steps = line_.length == 1 || (line_.rises && line_.even && columns_of_numbers_step_by_one());
    const bool starts = line_.start == 0.0 || (line_.start == 1.0 && line_.length >= 3);
    const auto texts =
        static_cast<std::size_t>(std::count_if(columns_.begin(), columns_.end(), [](const HeadColumn& column) {
          return column.first.kind == CellKind::text;
        }));
    return has_numbers_ && (texts == 0 || has_new_texts_) && steps && starts &&
           line_.length + texts + (is_blank_first() ? 1 : 0) == columns_.size();
  }
  bool columns_of_numbers_step_by_one() const {
    double expected = line_.start;
    for (const HeadColumn& column : columns_) {
      if (column.first.is_number() && (column.first.kind != CellKind::whole || column.first.value != expected++))
        return false;
    }
    return true;
  }
  bool is_blank_first() const { return columns_.size() > 1 && columns_[0].first.kind == CellKind::empty; }
  std::string counting() const { return fmt::format("counts up from {}", line_.start); }

  /// Whether the line cannot be a row: a name stands above numbers, or nothing above a column that is never empty.
  std::string no_row() const {
    if (fields_.is_shorter) return "has one field less than the rows";
    if (is_blank_first() && columns_[0].absent == 0 && !fields_.rows.empty()) return "begins with an empty field";
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const auto& texts = fields_.missing_texts;
      const bool is_name = columns_[j].first.kind == CellKind::text &&
                           std::find(texts.begin(), texts.end(), fields_.first[j]) == texts.end();
      if (is_name && columns_[j].is_numeric()) return "has text above numbers";
    }
    return "";
  }

  /// A line without numbers, but with words that can be values: inf, True, NA.
  FirstLineChoice of_words() const {
    if (const std::string why = no_row(); !why.empty()) return names(why);
    const auto is_truth_above_numbers = [](const HeadColumn& column) {
      return column.first.kind == CellKind::truth && column.is_numeric();
    };
    if (!any(is_truth_above_numbers)) return {};
    const std::set<std::string> different(fields_.first.begin(), fields_.first.end());
    const bool only_truths = std::all_of(columns_.begin(), columns_.end(), is_truth_above_numbers);
    const bool other =
        any([](const HeadColumn& column) { return column.least < 0 || column.most > 1 || column.fractions > 0; });
    const std::string why = "has truth values above numbers";
    const bool are_names = only_truths && other && columns_.size() > 1 && different.size() == columns_.size();
    return are_names ? names(why) : unclear(why);
  }

  /// Whether each number can be a name where the line is no row.
  bool all_can_be_names() const {
    const bool sequence = (line_.is_monotone() && line_.even && line_.length != 2) || counts_from_the_start();
    return std::all_of(columns_.begin(), columns_.end(), [&](const HeadColumn& column) {
      if (!column.first.is_number() || !column.is_numeric() || sequence) return true;
      const bool year = is_year(column.first) && 2 * column.years <= column.numbers;
      return year || (line_.length == 1 && column.first.kind == CellKind::whole && column.is_fractional());
    });
  }
  /// 0, or 0 and 1, or 1 and 2.
  bool counts_from_the_start() const {
    return columns_of_numbers_step_by_one() && (line_.start == 0.0 || (line_.start == 1.0 && line_.length == 2));
  }

  /// Whether all numbers of the line are years, and most of those below are not.
  bool are_years() const {
    std::size_t numbers = 0, years = 0;
    for (const HeadColumn& column : columns_) {
      if (!column.first.is_number()) continue;
      if (!is_year(column.first)) return false;
      numbers += column.numbers;
      years += column.years;
    }
    return 2 * years <= numbers;
  }

  FirstLineChoice of_numbers() const {
    const std::size_t rows = fields_.rows.size();
    const bool above_fractions = all_numeric(
        [](const HeadColumn& column) { return column.first.kind == CellKind::whole && column.is_fractional(); });
    if (const std::string why = no_row(); !why.empty()) {
      const bool is_like_rows = line_.length >= 3 && (2 * like_ >= rows || even_ > 0);
      return all_can_be_names() && (above_fractions || !is_like_rows) ? names(why) : unclear(why);
    }
    const bool above_text =
        rows >= kEnoughRows && any([rows](const HeadColumn& column) {
          return column.first.is_number() && column.texts + column.absent == rows && column.texts >= kEnoughRows;
        });
    if (above_text) return unclear("has a number above text");
    if (any([](const HeadColumn& column) { return column.first.kind == CellKind::truth && column.is_numeric(); })) {
      return unclear("has a truth value above numbers");
    }
    const bool outside = all_numeric([](const HeadColumn& column) { return column.is_outside(); });
    if (counts_up() && line_.start == 0.0) return of_counting(above_fractions, outside);
    if (line_.length >= 3 && line_.is_even()) return of_even_steps(above_fractions, outside);
    if (line_.length >= kLongRow && line_.is_monotone()) {
      return outside && 2 * like_ < rows ? unclear("is in order, as no row below it is") : FirstLineChoice{};
    }
    const bool apart = are_years() && outside && rows >= kEnoughRows;
    if (!apart || (line_.length > 1 && !line_.is_monotone())) return {};
    if (line_.length > 1 && above_fractions && has_text_) return names("has years above other numbers");
    return above_fractions || line_.length > 1 ? unclear("has years above other numbers") : FirstLineChoice{};
  }

  /// The line is 0, or 0, 1, or 0, 1, 2 ...
  FirstLineChoice of_counting(bool above_fractions, bool outside) const {
    const bool even = any([](const HeadColumn& column) { return column.steps_evenly(); });
    const bool continues = any([](const HeadColumn& column) { return column.continues(); });
    const bool some_fractions =
        any([](const HeadColumn& column) { return column.is_numeric() && column.is_fractional(); });
    const bool enough = fields_.rows.size() >= kEnoughRows;
    const bool alien =
        all_numeric([](const HeadColumn& column) { return column.is_fractional() || column.is_outside(); });
    if (line_.length <= 2 && (even || !alien)) return {};
    if (line_.length == 1) return above_fractions && !continues && enough ? unclear(counting()) : FirstLineChoice{};
    if (some_fractions) {
      const bool are_names = enough && !continues && (line_.length > 2 || above_fractions);
      return are_names ? names(counting()) : enough || line_.length > 2 ? unclear(counting()) : FirstLineChoice{};
    }
    const bool larger = outside && !continues && fields_.rows.size() >= kLongRow &&
                        all_numeric([](const HeadColumn& column) { return column.least >= 10 || column.most <= -10; });
    return larger || line_.length > 2 ? unclear(counting()) : FirstLineChoice{};
  }

  /// At least three numbers, equally spaced.
  FirstLineChoice of_even_steps(bool above_fractions, bool outside) const {
    const std::size_t rows = fields_.rows.size();
    const bool is_long = line_.length >= kLongRow;
    if (even_ > 0 || (!is_long && 2 * like_ >= rows) || rows < kEnoughRows) return {};
    const std::string why = "has equally spaced numbers, as no row below it has";
    const bool continues = any([](const HeadColumn& column) { return column.continues(); });
    if (above_fractions || are_years() || (is_long && outside && !continues)) return names(why);
    const bool apart = outside && !continues && rows >= kLongRow;
    return is_long || apart ? unclear(why) : FirstLineChoice{};
  }

  const FirstFields& fields_;
  std::vector<HeadColumn> columns_;
  NumberRow line_{std::vector<double>()};  // the numbers of the first line
  bool has_numbers_ = false, has_text_ = false;
  bool has_new_texts_ = false;       // has_names_above_texts()
  std::size_t like_ = 0, even_ = 0;  // rows whose numbers rise or fall as the line does, and that are equally spaced
};

}  // namespace

FirstLineChoice judge_first_line(const FirstFields& fields) { return Judge(fields).choose(); }

// Looks for the row from which on all rows have the same form, and for the header above it.

namespace {

constexpr std::size_t kSearchedLines = 200;     // lines of a narrow table that are searched
constexpr std::size_t kSearchedFields = 20000;  // of a wide one, but at least as many lines as decide on its form
constexpr std::ptrdiff_t kLeastRows = 2;        // at least, of the same form
constexpr std::ptrdiff_t kMostNotes = 3;        // lines below the rows

using Fields = std::vector<std::string>;

/// A table behind other lines.
struct TableBehind {
  std::int64_t first_line = 0;  // counted from 1
  std::string text;             // of that line
  std::int64_t first_row = 0;   // the line of the first row, counted from 1
  std::size_t columns = 0;
  std::ptrdiff_t rows = 0;
  char delimiter = ',';
};

/// Whether a field is a number, perhaps with a unit, or a date.
bool is_value(const TextHead& head, const std::string& field) {
  return !is_text_field(head, field) || is_date_text(field) || !split_unit(field).unit.empty();
}

/// Whether a line has the form of a row: as many fields as the last one, and values where that has values.
bool is_like_row(const TextHead& head, const Fields& fields, const Fields& last) {
  if (fields.size() != last.size()) return false;
  bool values = false;
  for (std::size_t j = 0; j < fields.size(); ++j) {
    if (!is_value(head, last[j]) || is_missing(head, last[j])) continue;
    const bool absent = is_missing(head, fields[j]);
    if (!absent && !is_value(head, fields[j])) return false;
    values = values || (!absent && (fields.size() > 1 || !is_text_field(head, fields[j])));
  }
  return values;
}

std::optional<TableBehind> find_table(const InputBytes& input, const TextHead& head, const TextSyntax& syntax) {
  const std::size_t lines_of_wide =
      21 + kSearchedFields / static_cast<std::size_t>(std::max<std::int64_t>(1, head.columns));
  const std::size_t count = std::min(kSearchedLines, lines_of_wide);
  const std::vector<FirstRecord> lines = first_records(input, syntax, head.options.skip_lines, count).lines;
  if (lines.empty()) return {};
  std::vector<Fields> fields;
  fields.reserve(lines.size());
  for (const FirstRecord& line : lines) fields.push_back(fields_of(line.text, syntax));
  // Notes and counts below a short table have fewer fields.
  const auto is_note = [&fields] {
    const auto before = fields.end() - std::min<std::ptrdiff_t>(std::ssize(fields), kMostNotes + kLeastRows);
    return std::any_of(before, fields.end(), [&](const Fields& row) { return row.size() > fields.back().size(); });
  };
  for (std::ptrdiff_t notes = 0; notes < kMostNotes && lines.size() < count && is_note(); ++notes) fields.pop_back();
  const auto like_last = [&](const Fields& line) { return is_like_row(head, line, fields.back()); };
  const auto rows = std::find_if_not(fields.rbegin(), fields.rend(), like_last).base();
  if (rows == fields.begin() || fields.end() - rows < kLeastRows || std::any_of(fields.begin(), rows, like_last))
    return {};
  Fields above = rows[-1];
  const bool is_shorter = above.size() + 1 == rows->size();
  if (is_shorter) above.insert(above.begin(), "");
  std::vector<const Fields*> below;
  for (auto row = rows; row != fields.end(); ++row) below.push_back(&*row);
  const FirstFields lines_of_table{above, below, head.numbers, head.options.missing_texts, is_shorter};
  const bool is_header = above.size() == rows->size() && judge_first_line(lines_of_table).is == FirstLine::names;
  // A line below the first that has numbers where the rows have them is a row with words in other columns, but above a
  // line of names.
  const auto is_faulty_row = [&](const Fields& line) {
    for (std::size_t j = 0; line.size() == rows->size() && j < line.size(); ++j) {
      if (is_number_text(line[j]) && is_number_text((*rows)[j])) return true;
    }
    return false;
  };
  const bool has_numbers = std::ranges::any_of(above, [](const std::string& field) { return is_number_text(field); });
  if ((!is_header || has_numbers) && std::any_of(fields.begin() + 1, rows, is_faulty_row)) return {};
  const FirstRecord& first = lines[static_cast<std::size_t>(rows - fields.begin() - (is_header ? 1 : 0))];
  const FirstRecord& row = lines[static_cast<std::size_t>(rows - fields.begin())];
  return TableBehind{first.number, first.text, row.number, rows->size(), fields.end() - rows, syntax.delimiter};
}

/// The widest table that begins below the first line; nothing if there is none.
std::optional<TableBehind> table_below(const InputBytes& input, const TextHead& head) {
  std::optional<TableBehind> best;
  TextSyntax syntax = head.syntax;
  syntax.comment = head.options.comment.value_or('#');
  syntax.comments_lead = !head.options.comment;
  const std::string delimiters = !head.options.delimiter.empty() ? head.options.delimiter
                                 : head.numbers.decimal == ','   ? "\t;| "
                                                                 : "\t;,| ";
  const bool is_even = head.columns > 1 && std::all_of(head.samples.begin(), head.samples.end(), [&](const auto& row) {
                         return std::ssize(row.fields) == head.columns;
                       });
  for (const char c : is_even ? std::string(1, head.syntax.delimiter) : delimiters) {
    syntax.delimiter = c;
    const std::optional<TableBehind> table = find_table(input, head, syntax);
    if (table && (!best || table->columns > best->columns)) best = table;
  }
  return best && best->first_line > head.first_line ? best : std::nullopt;
}

}  // namespace

std::int64_t lines_before(const InputBytes& input, const TextHead& head) {
  constexpr std::size_t kMostTitles = 20;
  constexpr std::int64_t kLeastColumns = 3;  // of two, one may be empty in a row
  const auto is_title = [&head](const FirstRecord& line) {
    const Fields fields = fields_of(line.text, head.syntax);
    return std::ssize(fields) - std::count(fields.begin(), fields.end(), "") <= 1;
  };
  const std::vector<FirstRecord> lines =
      first_records(input, head.syntax, head.options.skip_lines, kMostTitles + 1).lines;
  const auto table_line = std::find_if_not(lines.begin(), lines.end(), is_title);
  if (head.columns >= kLeastColumns && table_line != lines.begin() && table_line != lines.end()) {
    return table_line->number - 1;
  }
  const std::optional<TableBehind> table = table_below(input, head);
  return table ? table->first_line - 1 : 0;
}

void refuse_lines_before(const InputBytes& input, const TextHead& head) {
  const std::optional<TableBehind> best = table_below(input, head);
  if (!best) return;
  // Lines below the names may hold units, types, questions of a survey, or further names.
  constexpr std::int64_t kMostBetween = 4;
  const std::int64_t first = head.lines_before + 1, last = best->first_row - 1;
  const auto named = std::ssize(head.names) - std::ranges::count(head.names, "");
  const auto may_be_names = [&](const TextHead::Sample& row) {
    return row.line > last ||
           (row.fields.size() == best->columns &&
            std::ranges::none_of(row.fields, [&](const auto& f) { return is_value(head, f) && !is_missing(head, f); }));
  };
  if (best->delimiter == head.syntax.delimiter && head.names.size() == best->columns && named > 1 &&
      named + 1 >= head.columns && best->first_line <= last && last < first + kMostBetween &&
      std::ranges::all_of(head.samples, may_be_names)) {
    const std::string lines = fmt::format("{}{}", first, last > first ? fmt::format(",{}", last) : "");
    refuse_input(input.name(),
                 fmt::format("line{} {}, '{}', stand{} between the names of line {} and the rows; say "
                             "--skip-lines {} if line {} has the names, or leave {} out: sed {}d IN > OUT",
                             last > first ? fmt::format("s {} to", first) : "", last, quoted(best->text, 40),
                             last > first ? "" : "s", head.first_line, best->first_line - 1, best->first_line,
                             last > first ? "them" : "it", lines));
  }
  refuse_input(input.name(), fmt::format("the table seems to begin in line {}, '{}', behind lines of another kind; say "
                                         "--skip-lines {}",
                                         best->first_line, quoted(best->text, 40), best->first_line - 1));
}

}  // namespace kith::data
