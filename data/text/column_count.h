// The values of one column of a text table, as far as they decide its type.
//
// A column keeps its values in a table by their hashes. Once there are too many, it keeps those whose hash ends in a
// zero bit, then in two, and so on (adaptive sampling: P. Flajolet, On Adaptive Sampling, 1990). Which values are kept
// in the end, and how often each of them occurs, depends neither on the order of the rows nor on the threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/text/column_types.h"
#include "data/text/number_marks.h"
#include "data/text/number_ranges.h"
#include "data/text/text_head.h"

namespace kith::data {

/// A number whose bits all depend on all of the others (the end of MurmurHash3).
inline std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdU;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53U;
  return bits ^ bits >> 33;
}

/// The values of one column that one thread has seen.
class ColumnCount {
 public:
  explicit ColumnCount(std::size_t most) : most_(most) {}

  static constexpr std::int64_t kMostCategories = 50;  // texts of a column that may become features

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
    hours_.add(other.hours_);
    by_day_.add(other.by_day_);
    by_month_.add(other.by_month_);
    styles_.add(other.styles_);
    stand_ins_.add(other.stand_ins_);
    no_dates_.insert(other.no_dates_.begin(), other.no_dates_.end());
    for (const auto& [unit, range] : other.units_) units_[unit].add(range);
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
  static constexpr std::size_t kKeptBytes = 60;  // of a value
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
    other_time,   // hours and minutes, or minutes and seconds
    point_time,   // a number that may be one: 8.30
    padded_time,  // 08.30
    word          // nothing of all this
  };
  static constexpr std::size_t kKinds = 19;
  using Kinds = unsigned;  // a bit for each
  static constexpr bool has(Kinds kinds, FieldKind kind) { return (kinds >> kind & 1) != 0; }
  static constexpr Kinds bit(FieldKind kind) { return 1U << kind; }
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
    const std::int64_t other = counts_[other_time] + counts_[point_time];
    const bool are_padded = counts_[other_time] + counts_[padded_time] > 0;  // numbers are not
    return values > 0 && (counts_[clear_time] == values || (other == values && are_padded));
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
  /// The units of so many values, of which some may have none; empty if there is none, or none that all have in common.
  std::set<std::string> units(std::int64_t values) const;
  bool has_unit(std::int64_t values) const { return !units(values).empty(); }
  void set_type(ColumnProfile& column) const;
  bool set_date(ColumnProfile& column) const;

  std::size_t most_;
  int level_ = 0;
  std::unordered_map<std::uint64_t, Value> values_;
  std::array<std::int64_t, kKinds> counts_{};
  std::int64_t rows_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::int64_t bytes_ = 0, words_ = 0;  // the longest value that is a text
  Range numbers_, by_day_, by_month_, hours_;
  StyleChoice styles_;
  StandIns stand_ins_;
  std::map<std::string, Range> units_;
  std::set<std::string> no_dates_;   // one more than can be marks at most
  std::set<std::string> different_;  // words, one more than can be marks at most
};

}  // namespace kith::data
