// What rows have shown while they were read, and the remarks about it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/number_marks.h"
#include "data/text/text_head.h"
#include "data/text/text_words.h"

namespace kith::data {

/// NumberMarks of the columns of a file, and forms of their numbers, which several threads note. Empty: the user, or a
/// model, says what marks mean.
class ColumnMarks {
 public:
  explicit ColumnMarks(std::size_t columns) : seen_(columns) {}
  std::int64_t columns() const { return std::ssize(seen_); }
  NumberMarks of(std::int64_t column) const { return NumberMarks::of(seen_[static_cast<std::size_t>(column)]); }
  /// Notes the marks of a number that was read as this value.
  void add(std::int64_t column, const char* begin, const char* end, double value) {
    if (seen_.empty()) return;
    std::atomic<std::uint16_t>& seen = seen_[static_cast<std::size_t>(column)];
    NumberMarks marks = NumberMarks::of(seen.load(std::memory_order_relaxed));
    if (marks.knows(begin, end)) return;
    marks.add_plain(begin, end, value);
    seen.fetch_or(static_cast<std::uint16_t>(marks.bits()), std::memory_order_relaxed);
  }
  /// No sign of the column matters any more.
  void settle(std::int64_t column) { seen_[static_cast<std::size_t>(column)] |= NumberMarks::all_bits; }
  /// A remark if points of a column may separate thousands. `doubtful`: columns of which only others say that they do
  /// not.
  std::vector<std::string> remarks(const TextHead& head, std::vector<std::int64_t> doubtful) const;

 private:
  std::vector<std::atomic<std::uint16_t>> seen_;
};

/// The first value of each kind in the file, whatever the order in which threads read its rows, perhaps several times.
class TextNotes {
 public:
  enum Kind { open_end, of_accounts, rounded, exponent, truth, unknown, total, side };
  explicit TextNotes(const TextHead& head);
  /// exponent: only in columns whose first rows hold whole numbers and exponents alone; truth: only among numbers;
  /// total: for any text that is no point; side: only beside degrees.
  void add(Kind kind, std::int64_t line, std::int64_t column, std::string_view text);
  /// Notes a number that a spreadsheet may have made of an identifier: 1E3, 4.00638E+12.
  void add_exponent(std::int64_t line, std::int64_t column, const char* begin, const char* end, double value) {
    if (std::floor(value) != value) return;
    const char* sign = std::find_if(begin, end, [](char c) { return c == 'E' || c == 'e'; });
    if (end - sign < 2) return;
    const bool is_long = *sign == 'E' && sign[1] == '+' && value >= 1e10;
    const bool is_code = sign[1] >= '0' && sign[1] <= '9' && std::find(begin, sign, '.') == sign && *begin != '-' &&
                         sign - begin > (*sign == 'E' ? 0 : 1);  // programs write 1e5, never 10e4
    if (is_long || is_code) add(exponent, line, column, std::string_view(begin, end));
  }
  /// Notes a text that says total, or the side of the equator or of Greenwich on which the number before it lies.
  /// `is_signed`: that number is negative.
  void add_text(std::int64_t line, std::int64_t column, std::string_view text, bool is_signed) {
    if (may_say_total(text)) add(total, line, column, text);
    if (!is_signed && text.size() == 1 && (text[0] == 'S' || text[0] == 'W')) add(side, line, column, text);
  }
  /// How many rows have a value that the model does not know.
  std::int64_t unknown_rows() const;
  /// A sentence for each kind. `rows`: of the table; `totals`: remarks on totals in its first and last row, which stand
  /// where no others are.
  std::vector<std::string> remarks(const TextHead& head, std::int64_t rows, std::vector<std::string> totals) const;

 private:
  struct Noted {
    std::atomic<std::int64_t> line = 0;  // 0: none
    std::int64_t column = 0;
    std::string text = {};
  };
  std::vector<char> is_whole_, is_number_, is_side_;  // the first rows of each column
  mutable std::mutex mutex_;
  std::array<Noted, side + 1> first_;
  std::set<std::int64_t> unknown_lines_, total_lines_;
};

}  // namespace kith::data
