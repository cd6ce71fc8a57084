// Counts the values of each column in one pass over the blocks of a table; what the counts say decides the type.
//
// A column keeps its values in a table by their hashes. Once there are too many, it keeps those whose hash ends in a
// zero bit, then in two, and so on (adaptive sampling: P. Flajolet, On Adaptive Sampling, 1990). Which values are kept
// in the end, and how often each of them occurs, depends neither on the order of the rows nor on the threads.
#include "data/text/column_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>

#include "data/format/column_choice.h"
#include "data/io/utf8.h"
#include "data/text/number_marks.h"
#include "data/text/number_ranges.h"
#include "data/text/text_columns.h"
#include "data/text/text_head.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"
#include "data/text/text_values.h"

namespace kith::data {
namespace {

constexpr std::int64_t kMostCategories = 50;    // texts of a column that may become features
constexpr std::int64_t kRowsPerCategory = 3;    // on average, at least
constexpr std::int64_t kLeastConsecutive = 10;  // whole numbers in a column that looks like a count of the rows
constexpr std::size_t kKeptBytes = 60;          // of a value
constexpr std::size_t kMostValues = 10'000;     // of a column, in its table
constexpr std::int64_t kAllValues = 400'000;    // of all columns
constexpr std::size_t kExamples = 3;
constexpr std::size_t kMostMarks = 4;  // words of a column that may stand for missing values

/// What a value can be read as; a value may be several of them.
enum FieldKind : unsigned {
  missing,
  number,
  whole,
  styled,
  yes_no,
  yes_no_word,
  day_first,
  month_first,
  two_days,
  points,
  no_date,           // 0000-00-00 or 9999-12-31, which stand for none
  code,              // of digits, the first of at least three a zero
  with_unit,         // a number of the style of the table, and a unit
  with_styled_unit,  // of another style
  clear_time,
  other_time,  // hours and minutes, or minutes and seconds
  word         // nothing of all this
};
constexpr std::size_t kKinds = 17;
using Kinds = unsigned;  // a bit for each
constexpr bool has(Kinds kinds, FieldKind kind) { return (kinds >> kind & 1) != 0; }
constexpr Kinds bit(FieldKind kind) { return 1U << kind; }

/// A number whose bits all depend on all of the others (the end of MurmurHash3).
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdU;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53U;
  return bits ^ bits >> 33;
}

bool has_leading_zero(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && text.find_first_not_of("0123456789") == text.npos;
}

/// The values of one column that one thread has seen.
class ColumnCount {
 public:
  explicit ColumnCount(std::size_t most) : most_(most) {}

  void add(std::string_view text, std::int64_t row, const TextHead& head) {
    const std::uint64_t hash = std::hash<std::string_view>{}(text);
    fingerprint_ += mixed(hash ^ mixed(static_cast<std::uint64_t>(row)));
    const auto known = values_.find(hash);
    if (known != values_.end()) {
      Value& value = known->second;
      ++value.count;
      value.first_row = std::min(value.first_row, row);
      return add(value.kinds);
    }
    const Kinds kinds = classify(text, head);
    add(kinds);
    if (has(kinds, missing) || !is_sampled(hash)) return;
    values_.emplace(hash, Value{std::string(text.substr(0, kKeptBytes)), 1, row, kinds});
    thin_out();
  }

  void add(const ColumnCount& other) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) counts_[kind] += other.counts_[kind];
    rows_ += other.rows_;
    fingerprint_ += other.fingerprint_;
    bytes_ += other.bytes_;
    words_ = std::max(words_, other.words_);
    numbers_.add(other.numbers_);
    unit_numbers_.add(other.unit_numbers_);
    hours_.add(other.hours_);
    by_day_.add(other.by_day_);
    by_month_.add(other.by_month_);
    styles_.add(other.styles_);
    stand_ins_.add(other.stand_ins_);
    no_dates_.insert(other.no_dates_.begin(), other.no_dates_.end());
    units_.insert(other.units_.begin(), other.units_.end());
    different_.insert(other.different_.begin(), other.different_.end());
    level_ = std::max(level_, other.level_);
    std::erase_if(values_, [this](const auto& entry) { return !is_sampled(entry.first); });
    for (const auto& [hash, value] : other.values_) {
      if (!is_sampled(hash)) continue;
      const auto [entry, is_new] = values_.emplace(hash, value);
      if (is_new) continue;
      entry->second.count += value.count;
      entry->second.first_row = std::min(entry->second.first_row, value.first_row);
    }
    thin_out();
  }

  ColumnProfile profile(const std::string& name) const;
  const StyleChoice& styles() const { return styles_; }
  /// Whether all values are numbers, of any style and perhaps with a unit.
  bool holds_numbers() const {
    const std::int64_t read = present() - (marks().empty() ? 0 : counts_[word]);
    return read > 0 && (counts_[number] + counts_[styled] == read || has_unit(read));
  }
  /// Whether a style other than that of the table reads more of the values, which all are numbers.
  bool has_other_style() const {
    return counts_[styled] + counts_[with_styled_unit] > 0 && !styles_.options().empty() && holds_numbers();
  }
  /// The first number in which the mark may be either.
  std::string text_with_either(char mark) const;

  /// The row of the only word, if it is not `name`; -1: there is none, or several.
  std::int64_t row_of_word(const std::string& name) const {
    const auto found = std::ranges::find_if(
        values_, [&](const auto& entry) { return entry.second.kinds == bit(word) && entry.second.text != name; });
    return counts_[word] != 1 || found == values_.end() ? -1 : found->second.first_row;
  }
  /// The words that stand for missing values among numbers, dates, or yes and no; ascending.
  std::vector<std::string> marks() const;

 private:
  struct Value {
    std::string text;
    std::int64_t count = 0;
    std::int64_t first_row = 0;
    Kinds kinds = 0;
  };

  std::int64_t present() const { return rows_ - counts_[missing]; }
  bool are_dates(FieldKind order) const {
    return counts_[order] > 0 && counts_[order] + counts_[no_date] == present() - counts_[word];
  }
  bool are_times(std::int64_t values) const {
    return values > 0 && (counts_[clear_time] == values || counts_[other_time] == values);
  }
  bool is_sampled(std::uint64_t hash) const { return (hash & ((std::uint64_t{1} << level_) - 1)) == 0; }
  void thin_out() {
    while (values_.size() > most_) {
      ++level_;
      std::erase_if(values_, [this](const auto& entry) { return !is_sampled(entry.first); });
    }
  }
  void add(Kinds kinds) {
    ++rows_;
    for (std::size_t kind = 0; kind < kKinds; ++kind) counts_[kind] += kinds >> kind & 1;
  }
  Kinds classify(std::string_view text, const TextHead& head);
  bool are_all_different() const {
    return values_.size() > 1 &&
           std::all_of(values_.begin(), values_.end(), [](const auto& entry) { return entry.second.count == 1; });
  }
  /// Whether so many values are numbers with the same unit.
  bool has_unit(std::int64_t values) const {
    return counts_[with_unit] + counts_[with_styled_unit] == values && units_.size() == 1;
  }
  void set_type(ColumnProfile& column) const;
  bool set_date(ColumnProfile& column) const;

  std::size_t most_;
  int level_ = 0;
  std::unordered_map<std::uint64_t, Value> values_;
  std::array<std::int64_t, kKinds> counts_{};
  std::int64_t rows_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::int64_t bytes_ = 0, words_ = 0;  // the longest value that is a text
  Range numbers_, by_day_, by_month_, unit_numbers_, hours_;
  StyleChoice styles_;
  StandIns stand_ins_;
  std::set<std::string> units_;      // two at most are needed
  std::set<std::string> no_dates_;   // one more than can be marks at most
  std::set<std::string> different_;  // words, one more than can be marks at most
};

Kinds ColumnCount::classify(std::string_view text, const TextHead& head) {
  if (is_missing(head, text)) return bit(missing);
  Kinds kinds = 0;
  const NumberText read = styles_.read(text, head.numbers, head.may_be_thousands);
  double value = 0.0;
  if (!read.number.empty()) parse_number(read.number.data(), read.number.data() + read.number.size(), value);
  if (!read.number.empty() && read.unit.empty()) {
    if (!std::isfinite(value)) return bit(missing);
    numbers_.add(value);
    stand_ins_.add(value);
    kinds |= bit(number) | (value == std::floor(value) ? bit(whole) : 0) | (has_leading_zero(text) ? bit(code) : 0);
  } else if (read.is_styled && read.unit.empty()) {
    kinds |= bit(styled);
  }
  if (parse_yes_no(text)) {
    const bool is_word = std::isalpha(static_cast<unsigned char>(text.front())) != 0;
    kinds |= bit(yes_no) | (is_word ? bit(yes_no_word) : 0);
  }
  constexpr double kFirstDay = 19000101, kLastDay = 21001231;
  const bool may_be_day = text.size() == 8 && has(kinds, whole) && value >= kFirstDay && value <= kLastDay;
  if (has(kinds, number) && !may_be_day) return kinds;
  if (stands_for_no_date(text)) {
    if (no_dates_.size() <= kMostMarks) no_dates_.insert(std::string(text));
    kinds |= bit(no_date);
  }
  const DateReadings dates = date_readings(text);
  if (dates.day_first && !has(kinds, no_date)) {
    by_day_.add(*parse_date(text, DateOrder::day_first));
    kinds |= bit(day_first);
  }
  if (dates.month_first && !has(kinds, no_date)) {
    by_month_.add(*parse_date(text, DateOrder::month_first));
    kinds |= bit(month_first);
  }
  if (dates.is_ambiguous) kinds |= bit(two_days);
  if (dates.has_points) kinds |= bit(points);
  const auto time = kinds == 0 ? parse_time(text) : std::nullopt;
  if (time) {
    hours_.add(time->hours);
    kinds = bit(time->is_clear ? clear_time : other_time);
  }
  if ((kinds == 0 || time) && !read.unit.empty()) {
    if (!read.is_styled) unit_numbers_.add(value);
    kinds |= bit(read.is_styled ? with_styled_unit : with_unit);
    if (units_.size() < 2) units_.insert(read.unit);
  }
  if (kinds == 0) {
    kinds = bit(word);
    if (different_.size() <= kMostMarks) different_.insert(std::string(text));
  }
  if (kinds != bit(word) && !has(kinds, with_unit) && !has(kinds, with_styled_unit)) return kinds;
  bytes_ = std::max(bytes_, std::ssize(text));
  words_ = std::max(words_, 1 + std::count(text.begin(), text.end(), ' '));
  return kinds;
}

std::vector<std::string> ColumnCount::marks() const {
  // In percent of the values: more of them may be a kind of value of their own, as sizes among numbers (S, M, L, 42).
  constexpr std::int64_t kMostPercent = 15;
  const std::int64_t read = present() - counts_[word];
  const bool dates = are_dates(day_first) || are_dates(month_first) || are_times(read);
  const auto no_dates = [&] {
    const bool some = dates && no_dates_.size() <= kMostMarks;
    return some ? std::vector<std::string>(no_dates_.begin(), no_dates_.end()) : std::vector<std::string>();
  };
  if (counts_[word] == 0) return no_dates();
  if (different_.size() > kMostMarks || 100 * counts_[word] > kMostPercent * present()) return {};
  const bool numbers = counts_[number] + counts_[styled] == read || has_unit(read);
  if (!numbers && !dates && counts_[yes_no] != read) return {};
  for (const std::string& text : different_) {
    const MissingWord word = missing_word(text);
    if (word != MissingWord::usual && (word != MissingWord::perhaps || (!numbers && !dates))) return {};
  }
  std::vector<std::string> all = no_dates();
  all.insert(all.end(), different_.begin(), different_.end());
  return all;
}

std::string ColumnCount::text_with_either(char mark) const {
  const Value* first = nullptr;
  for (const auto& [hash, value] : values_) {
    NumberMarks marks;
    const UnitText unit = split_unit(value.text);
    marks.add(unit.unit.empty() ? value.text : unit.number);
    if (marks.has_either(mark) && (first == nullptr || value.first_row < first->first_row)) first = &value;
  }
  return first == nullptr ? "" : first->text;
}

bool ColumnCount::set_date(ColumnProfile& column) const {
  const bool all_by_day = counts_[word] == 0 && are_dates(day_first);
  const bool all_by_month = counts_[word] == 0 && are_dates(month_first);
  if (!all_by_day && !all_by_month) return false;
  column.type = ColumnType::date;
  const Range& range = all_by_day ? by_day_ : by_month_;
  column.minimum = range.least;
  column.maximum = range.most;
  if (all_by_day && all_by_month && counts_[two_days] > 0 && counts_[points] == 0) {
    column.date_order = "day and month are unclear";
  }
  return true;
}

void ColumnCount::set_type(ColumnProfile& column) const {
  const std::int64_t present = this->present();
  const bool few =
      !column.has_more_distinct && column.distinct <= kMostCategories && kRowsPerCategory * column.distinct <= present;
  const auto different = [&column] {
    return fmt::format("{}{} different texts", column.has_more_distinct ? "more than " : "", column.distinct);
  };
  column.reads_as_number = counts_[number] == present;
  if (present == 0) {
    column.why = "missing values only";
    return;
  }
  if (column.distinct == 1) {
    column.type = ColumnType::constant;
    column.why = "one value in all rows";
    if (column.reads_as_number) {
      column.minimum = numbers_.least;
      column.maximum = numbers_.most;
    }
    return;
  }
  if (counts_[yes_no] == present && counts_[yes_no_word] > 0) {
    column.type = ColumnType::yesno;
    return;
  }
  if (column.reads_as_number && counts_[day_first] == present && names_date(column.name) && set_date(column)) return;
  if (column.reads_as_number) {
    column.minimum = numbers_.least;
    column.maximum = numbers_.most;
    if (counts_[code] > 0 && counts_[whole] == present) {
      column.type = few ? ColumnType::category : ColumnType::identifier;
      column.is_code = true;
      column.why = "codes with leading zeros";
      if (are_all_different() && counts_[missing] == 0 && names_identifier(column.name)) column.names_rows = 2;
      return;
    }
    column.far_value = stand_ins_.far_value();
    if (!column.far_value.empty()) column.rest = {stand_ins_.rest().least, stand_ins_.rest().most};
    const bool differ = counts_[whole] == present && are_all_different();
    const bool counts =
        differ && present >= kLeastConsecutive && numbers_.most - numbers_.least + 1.0 == static_cast<double>(present);
    const bool named = counts_[whole] == present && names_identifier(column.name) && column.distinct > kMostCategories;
    column.type =
        counts || named || (differ && names_identifier(column.name)) ? ColumnType::identifier : ColumnType::number;
    if (column.type == ColumnType::identifier) {
      if (differ && counts_[missing] == 0 && names_identifier(column.name)) column.names_rows = 2;
      column.why = counts ? "consecutive whole numbers" : differ ? "whole numbers, all different" : "its name says so";
    }
    return;
  }
  if (set_date(column)) return;
  if (are_times(present) && !has_unit(present)) {
    column.type = ColumnType::time;
    column.minimum = hours_.least;
    column.maximum = hours_.most;
    return;
  }
  if (counts_[number] + counts_[styled] == present && !styles_.options().empty()) {
    column.type = ColumnType::number;
    column.number_options = styles_.options();
    column.why = "with " + column.number_options;
    return;
  }
  if (has_unit(present)) {
    column.type = ColumnType::number;
    column.unit = *units_.begin();
    column.why = fmt::format("with the unit {}", column.unit);
    if (counts_[with_styled_unit] > 0) column.number_options = styles_.options();
    column.minimum = unit_numbers_.least;
    column.maximum = unit_numbers_.most;
    return;
  }
  if (few) {
    column.type = ColumnType::category;
    column.why = different();
    return;
  }
  constexpr std::int64_t kNameWords = 2, kNameBytes = 40;
  const bool are_lists =
      std::all_of(values_.begin(), values_.end(), [](const auto& entry) { return entry.second.text.starts_with('['); });
  if (are_all_different() && !are_lists && words_ <= kNameWords && bytes_ <= kNameBytes &&
      present >= kLeastConsecutive) {
    column.type = ColumnType::identifier;
    column.why = "texts, all different";
    if (counts_[missing] == 0) column.names_rows = names_identifier(column.name) ? 2 : 1;
    return;
  }
  column.type = ColumnType::text;
  const std::int64_t numbers = counts_[number];
  column.why = are_lists               ? "lists of values"
               : 2 * numbers > present ? fmt::format("{} of {} values are no numbers", present - numbers, present)
                                       : different();
}

ColumnProfile ColumnCount::profile(const std::string& name) const {
  ColumnProfile column;
  column.name = name;
  column.missing = counts_[missing];
  column.has_more_distinct = level_ > 0;
  column.distinct = static_cast<std::int64_t>(level_ > 0 ? most_ : values_.size());
  std::vector<const Value*> values;
  for (const auto& [hash, value] : values_) values.push_back(&value);
  const auto first = [&values](const auto& before) {
    const auto end = values.begin() + std::min(std::ssize(values), std::ssize(std::array<int, kExamples>()));
    std::partial_sort(values.begin(), end, values.end(), before);
    return std::vector<const Value*>(values.begin(), end);
  };
  for (const Value* value : first([](const Value*a, const Value*b) { return a->first_row < b->first_row; })) {
    column.examples.push_back(value->text);
  }
  if (level_ == 0) {
    const auto oftener = [](const Value* a, const Value* b) {
      return a->count != b->count ? a->count > b->count : a->first_row < b->first_row;
    };
    for (const Value* value : first(oftener)) column.commonest.emplace_back(value->text, value->count);
  }
  column.fingerprint = fingerprint_;
  set_type(column);
  return column;
}

std::vector<ColumnCount> count_columns(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                       int threads) {
  const std::int64_t share = kAllValues / std::max<std::int64_t>(1, head.columns);
  const auto most = static_cast<std::size_t>(
      std::clamp<std::int64_t>(share, 4 * kMostCategories, static_cast<std::int64_t>(kMostValues)));
  std::vector<ColumnCount> all(static_cast<std::size_t>(head.columns), ColumnCount(most));
  std::mutex mutex;
  std::vector<std::vector<ColumnCount>> free;  // of threads that are between two blocks
  read_in_blocks(std::ssize(index.blocks), threads, [&](std::int64_t number, Matrix<std::byte>& buffer) {
    std::vector<ColumnCount> own;
    {
      const std::lock_guard lock(mutex);
      if (!free.empty()) {
        own = std::move(free.back());
        free.pop_back();
      }
    }
    if (own.empty()) own.assign(static_cast<std::size_t>(head.columns), ColumnCount(most));
    const TextBlock& block = index.blocks[static_cast<std::size_t>(number)];
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t row, std::int64_t line) {
      FieldCursor cursor(record, head.syntax);
      for (ColumnCount& column : own) {
        if (!cursor.more()) refuse_length(input, head, record, line);
        const Field field = cursor.take();
        if (field.quoted || field.text.starts_with('=') || !is_utf8(field.text)) {
          column.add(text_of(field), row, head);
        } else {
          column.add(field.text, row, head);
        }
      }
      if (cursor.more() && !ends_empty(head, cursor)) refuse_length(input, head, record, line);
    });
    const std::lock_guard lock(mutex);
    free.push_back(std::move(own));
  });
  for (const std::vector<ColumnCount>& own : free) {
    for (std::size_t j = 0; j < all.size(); ++j) all[j].add(own[j]);
  }
  return all;
}

/// What the columns say of the table: the style that reads more of them, and the words that stand for missing values.
struct TableSigns {
  StyleChoice styles;
  bool need_style = false;  // points separate thousands, though all values read as numbers
  std::set<std::string> marks;
  std::map<std::int64_t, std::string> unclear;  // columns with a mark that may be either, and a question for each
};

/// Also finds the signs, unless they are null.
TableProfile profile_of(const InputBytes& input, const TextHead& head, const TextIndex& index, int threads,
                        TableSigns* signs) {
  TableProfile table;
  table.rows = index.rows;
  table.names = head.names;
  table.numbers = head.numbers;
  table.skip_lines = head.options.skip_lines;
  std::vector<ColumnCount> counts = count_columns(input, head, index, threads);
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const std::string name = head.names.empty() ? std::to_string(j + 1) : head.names[j];
    table.columns.push_back(counts[j].profile(name));
    table.columns.back().column = static_cast<std::int64_t>(j);
  }
  if (signs == nullptr) return table;
  std::set<std::int64_t> rows;
  for (std::size_t j = 0; j < counts.size(); ++j) rows.insert(counts[j].row_of_word(table.columns[j].name));
  if (rows.size() == 1 && *rows.begin() >= 0) {  // which another table has
    Matrix<std::byte> buffer;
    for (const TextBlock& block : index.blocks) {
      for_records(input, head.syntax, block, buffer, [&](std::string_view, std::int64_t row, std::int64_t line) {
        if (row == *rows.begin()) refuse_row_of_words(input.name(), line);
      });
    }
  }
  NumberMarks marks;
  for (const ColumnCount& count : counts) {
    if (count.holds_numbers()) marks.add(count.styles().marks());
    for (std::string& mark : count.marks()) signs->marks.insert(std::move(mark));
  }
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (!counts[j].holds_numbers()) continue;
    StyleChoice styles = counts[j].styles();
    const auto column = static_cast<std::int64_t>(j);
    const char unclear = settle_marks(styles, marks, head.syntax.delimiter);
    if (unclear != '\0') {
      signs->unclear[column] = question_about(unclear, counts[j].text_with_either(unclear), head.names, column) +
                               options_for_either(unclear, "");
      continue;
    }
    const bool groups = styles.style().thousands == '.' && styles.marks().has_either('.');
    signs->need_style = signs->need_style || groups;
    if (groups || counts[j].has_other_style()) {
      signs->styles.add(styles);
      table.columns[j].number_options = groups || !table.columns[j].number_options.empty() ? styles.options() : "";
    }
  }
  return table;
}

std::int64_t columns_of_numbers(const TableProfile& table) {
  return std::count_if(table.columns.begin(), table.columns.end(),
                       [](const ColumnProfile& column) { return column.is_number(); });
}

}  // namespace

const char* name_of(ColumnType type) {
  constexpr const char* kNames[] = {"number",     "yes/no",    "date",     "time", "few texts",
                                    "identifier", "free text", "constant", "empty"};
  return kNames[static_cast<int>(type)];
}

TableProfile profile_table(const std::vector<Location>& tables, const ReadOptions& options) {
  const bool several = tables.size() > 1;
  const InputBytes input = several ? joined_tables(tables, options) : open_text_bytes(tables.front(), options.scratch);
  ReadOptions read = options;
  if (several) read.skip_lines = 0;  // the rows have been joined without them
  TextHead head = read_head(input, read);
  // A title above the table leaves columns without names.
  const auto unnamed = std::count(head.names.begin(), head.names.end(), "");
  const bool is_even = std::all_of(head.samples.begin(), head.samples.end(),
                                   [&](const auto& row) { return std::ssize(row.fields) == head.columns; });
  if (const std::int64_t lines = unnamed > 1 || !is_even ? lines_before(input, head) : 0; lines > 0) {
    read.skip_lines = lines;
    head = read_head(input, read);
  }
  TableSigns signs;
  TableProfile table = profile_of(input, head, index_text(input, head), options.threads, &signs);
  const std::set<std::string>& marks = signs.marks;
  const std::string other = signs.styles.options();
  const bool any_styled =
      !other.empty() && std::any_of(table.columns.begin(), table.columns.end(), [](const auto& column) {
        return !column.number_options.empty() || !column.is_number();
      });
  // The styles may read some columns and not others; then the words count without them.
  for (const bool styled : {true, false}) {
    if (styled ? !any_styled : marks.empty()) continue;
    ReadOptions adjusted = read;
    if (styled) {
      adjusted.decimal = signs.styles.style().decimal;
      adjusted.thousands = signs.styles.style().thousands;
    }
    adjusted.missing_texts.insert(adjusted.missing_texts.end(), marks.begin(), marks.end());
    const TextHead again = read_head(input, adjusted);
    if (again.columns != head.columns || again.names != head.names) continue;
    TableProfile better = profile_of(input, again, index_text(input, again), options.threads, nullptr);
    if (styled && columns_of_numbers(better) < columns_of_numbers(table) + (signs.need_style ? 0 : 1)) continue;
    table = std::move(better);
    if (styled) table.number_options = other;
    table.missing_texts = {marks.begin(), marks.end()};
    break;
  }
  const auto is_unusable = [](const ColumnProfile& column) {
    return column.type == ColumnType::text || column.type == ColumnType::identifier || column.type == ColumnType::empty;
  };
  if (std::ranges::all_of(table.columns, is_unusable)) refuse_lines_before(input, head);
  if (several) table.skip_lines = options.skip_lines;
  table.points = choose_text_columns(input, head, names_for(head)).points;
  for (const std::int64_t column : table.points) {
    if (table.unclear.empty() && signs.unclear.count(column) > 0) table.unclear = signs.unclear[column];
  }
  input.check_unchanged();
  return table;
}

}  // namespace kith::data
