// Says what each value can be read as, and decides the type of the column from the counts.
#include "data/text/column_count.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "data/text/text_refusal.h"
#include "data/text/text_units.h"
#include "data/text/text_values.h"
#include "data/text/text_words.h"

namespace kith::data {
namespace {

constexpr std::int64_t kRowsPerCategory = 3;    // on average, at least
constexpr std::int64_t kLeastConsecutive = 10;  // whole numbers in a column that looks like a count of the rows
constexpr std::size_t kExamples = 3;
constexpr std::size_t kMostMarks = 4;  // words of a column that may stand for missing values

}  // namespace

ColumnCount::Kinds ColumnCount::classify(std::string_view text, const TextHead& head) {
  if (is_missing(head, text)) return bit(missing);
  Kinds kinds = 0;
  const NumberText read = styles_.read(text, head.numbers, head.may_be_thousands);
  const double value = value_of(read.number);
  if (!read.number.empty() && read.unit.empty()) {
    if (!std::isfinite(value)) return bit(missing);
    numbers_.add(value);
    stand_ins_.add(value);
    const double floor = std::floor(value);
    kinds |= bit(number) | (value == floor ? bit(whole) : 0) | (has_leading_zero(text) ? bit(code) : 0);
    if (is_time_with_point(text)) {
      kinds |= bit(point_time) | (text[0] == '0' && text[1] != '.' ? bit(padded_time) : 0);
      constexpr double kMinutes = 60.0 / 100.0;
      hours_.add(floor + (value - floor) / kMinutes);
    }
  } else if (read.is_styled && read.unit.empty()) {
    kinds |= bit(styled);
  }
  if (parse_yes_no(text)) {
    const bool is_word = std::isalpha(static_cast<unsigned char>(text.front())) != 0;
    kinds |= bit(yes_no) | (is_word ? bit(yes_no_word) : 0);
  }
  // A day, or with hours, minutes and seconds.
  const bool may_be_day = text.size() >= 6 && text.size() <= 14 && text.size() % 2 == 0 && has(kinds, whole) &&
                          (text.starts_with("19") || text.starts_with("20") || text.starts_with("2100"));
  if (has(kinds, number) && !may_be_day && !is_month_with_point(text)) return kinds;
  if (stands_for_no_date(text)) {
    if (no_dates_.size() <= kMostMarks) no_dates_.insert(std::string(text));
    kinds |= bit(no_date);
  }
  const DateReadings dates = date_readings(text);
  if (dates.day_first && !has(kinds, no_date)) {
    by_day_.add(*dates.day_first);
    kinds |= bit(day_first);
  }
  if (dates.month_first && !has(kinds, no_date)) {
    by_month_.add(*dates.month_first);
    kinds |= bit(month_first);
  }
  if (dates.are_different()) kinds |= bit(two_days);
  if (dates.has_points) kinds |= bit(points);
  const auto time = kinds == 0 ? parse_time(text) : std::nullopt;
  if (time) {
    hours_.add(time->hours);
    kinds = bit(time->is_clear ? clear_time : other_time);
  }
  if ((kinds == 0 || time) && !read.unit.empty()) {
    constexpr std::size_t kMostUnits = 20;
    const auto unit = units_.find(read.unit);
    Range range;
    if (!read.is_styled) range.add(value);
    if (unit != units_.end()) unit->second.add(range);
    if (unit == units_.end() && units_.size() < kMostUnits) units_.emplace(read.unit, range);
    kinds |= bit(read.is_styled ? with_styled_unit : with_unit);
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
  constexpr std::int64_t kMostPercent = 15, kMostUsualPercent = 50;
  const std::int64_t read = present() - counts_[word];
  const bool dates = are_dates(day_first) || are_dates(month_first) || are_times(read);
  const auto no_dates = [&] {
    const bool some = dates && no_dates_.size() <= kMostMarks;
    return some ? std::vector<std::string>(no_dates_.begin(), no_dates_.end()) : std::vector<std::string>();
  };
  if (counts_[word] == 0) return no_dates();
  const auto is_usual = [](const std::string& text) { return missing_word(text) == MissingWord::usual; };
  const std::int64_t most = std::ranges::all_of(different_, is_usual) ? kMostUsualPercent : kMostPercent;
  if (different_.size() > kMostMarks || 100 * counts_[word] > most * present()) return {};
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

std::set<std::string> ColumnCount::units(std::int64_t values) const {
  const std::int64_t with = counts_[with_unit] + counts_[with_styled_unit];
  std::set<std::string> all;
  if (with == 0 || with + counts_[number] != values) return all;
  for (const auto& [unit, range] : units_) all.insert(unit);
  if (counts_[number] > 0) all.insert("");
  return common_unit(all, false).empty() ? std::set<std::string>() : all;
}

void ColumnCount::set_type(ColumnProfile& column) const {
  const std::int64_t present = this->present();
  const bool few =
      !column.has_more_distinct && column.distinct <= kMostCategories && kRowsPerCategory * column.distinct <= present;
  const auto different = [&column] {
    return fmt::format("{}{} different texts", column.has_more_distinct ? "more than " : "", column.distinct);
  };
  column.reads_as_number = counts_[number] == present;
  column.has_few_words = counts_[word] > 0 && 2 * (counts_[number] + counts_[styled]) > present;
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
  const auto is_padded = [](const auto& entry) { return entry.second.text.starts_with('0'); };  // 03.2024
  const bool names_dates = names_date(column.name) || std::ranges::any_of(values_, is_padded);
  if (column.reads_as_number && counts_[day_first] == present && names_dates && set_date(column)) return;
  if (are_times(present) && !has_unit(present)) {
    column.type = ColumnType::time;
    column.minimum = hours_.least;
    column.maximum = hours_.most;
    return;
  }
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
  if (counts_[number] + counts_[styled] == present && !styles_.options().empty()) {
    column.type = ColumnType::number;
    column.number_options = styles_.options();
    column.why = "with " + column.number_options;
    return;
  }
  if (has_unit(present)) {
    column.type = ColumnType::number;
    const std::set<std::string> units = this->units(present);
    for (const std::string& unit : units)
      column.unit += fmt::format("{}{}", column.unit.empty() ? "" : ", ", unit.empty() ? "1" : unit);
    column.why = fmt::format("with the unit{} {}", units.size() > 1 ? "s" : "", column.unit);
    if (counts_[with_styled_unit] > 0) column.number_options = styles_.options();
    const std::string common = common_unit(units, false);
    Range range;
    for (const std::string& unit : units) {
      const Range& own = unit.empty() ? numbers_ : units_.at(unit);
      for (const double end : {own.least, own.most}) range.add(end * factor_of(unit, common).value_or(1.0));
    }
    column.minimum = range.least;
    column.maximum = range.most;
    return;
  }
  if (few) {
    column.type = ColumnType::category;
    column.why = different();
    std::vector<std::string> texts;
    for (const auto& [hash, value] : values_) texts.push_back(value.text);
    const TextOrder order = known_order(texts);
    column.is_ordered = order.is_sure;
    if (order.is_sure) column.why += fmt::format(", '{}' to '{}'", order.texts.front(), order.texts.back());
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

}  // namespace kith::data
