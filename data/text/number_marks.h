// What decimal and group marks mean in a column and in a table, judged by all of their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_number.h"

namespace kith::data {

/// What the numbers of a column or of a table say about their marks. A point or comma with three digits behind it and
/// one to three before it, as in 4.255, may separate decimals or thousands.
class NumberMarks {
 public:
  /// A number of any style, without its unit.
  void add(std::string_view number);
  void add(const NumberMarks& others) { seen_ |= others.seen_; }
  /// A number that parse_number() read as this value.
  void add_plain(const char* begin, const char* end, double value);
  /// Whether that adds nothing that matters, in a few instructions, since it is called for every field.
  [[gnu::always_inline]] bool knows(const char* begin, const char* end) const {
    if (end - begin > 4) return is_settled() || (has(either('.')) && end[-4] == '.');
    if (has(short_whole | decimal('.') | long_whole)) return true;
    return end - begin == 1 && (has(one_digit) || *begin == '0');
  }
  void add_currency() { seen_ |= currency; }
  /// Whether such numbers stand beside whole ones from 10 to 999 alone, as thousands do, or from 1 to 9 alone; and no
  /// other sign is there.
  bool may_be_thousands(char mark) const { return has_either(mark) && has(short_whole) && !has(long_whole); }
  bool is_beside_digits(char mark) const {
    return has_either(mark) && has(one_digit) && !has(short_whole | long_whole);
  }
  /// What the mark is in these numbers, of which some have it, beside the marks of all columns of the table.
  enum class Meaning { decimal, thousands, unclear };
  Meaning meaning_of(char mark, const NumberMarks& table, char delimiter) const;
  /// Whether numbers have the mark as either, and none surely before decimals.
  bool has_either(char mark) const { return has(either(mark)) && !has(decimal(mark)); }
  /// Whether there are numbers other than 0 to 9.
  bool has_more_than_digits() const { return has(all_bits & ~one_digit); }
  bool is_settled() const { return has(decimal('.') | long_whole); }  // of numbers that parse_number() reads
  static constexpr unsigned all_bits = 0x7ff;
  unsigned bits() const { return seen_; }
  static NumberMarks of(unsigned bits) {
    NumberMarks marks;
    marks.seen_ = bits & all_bits;
    return marks;
  }

 private:
  static constexpr unsigned one_digit = 1, short_whole = 2, long_whole = 4, currency = 8;
  static constexpr unsigned from_ten = 1024;  // 10.000 or more, with a mark that may be either
  static constexpr unsigned either(char mark) { return mark == '.' ? 16 : 32; }
  static constexpr unsigned decimal(char mark) { return mark == '.' ? 64 : 128; }
  static constexpr unsigned thousands(char mark) { return mark == '.' ? 256 : 512; }
  bool has(unsigned bits) const { return (seen_ & bits) != 0; }

  unsigned seen_ = 0;
};

/// All styles that options can name in one way, the plain one first.
std::vector<NumberStyle> number_styles();
/// "--decimal comma --thousands none"
std::string options_of(const NumberStyle& style);

/// What a text is as a number.
struct NumberText {
  std::string number = {};  // as parse_number() reads it; empty: the style of the table does not read it
  bool is_styled = false;   // another style does
  std::string unit = {};    // behind the number, or a currency before it; empty: none
  bool is_word() const { return number.empty() && !is_styled; }
};

/// The styles of numbers, other than the plain one, that read all of some texts.
class StyleChoice {
 public:
  /// Reads a text, and takes note of its marks if styles other than that of the table may be meant.
  NumberText read(std::string_view text, const NumberStyle& style, bool has_others);
  void add(const StyleChoice& others) {
    left_ &= others.left_;
    marks_.add(others.marks_);
  }
  /// Leaves those in which the mark has this meaning.
  void require(char mark, NumberMarks::Meaning meaning);
  const NumberMarks& marks() const { return marks_; }
  /// The options of the first of them, such as "--decimal comma --thousands point"; empty if there is none.
  std::string options() const;
  /// The first of them; the plain one if there is none.
  NumberStyle style() const;

 private:
  /// Whether a style other than the plain one reads the text; others are no numbers, and count for nothing.
  bool add(std::string_view text);
  /// A number that the plain style reads.
  void add_plain(std::string_view text);

  std::uint32_t left_ = ~std::uint32_t{0};  // one bit for each
  NumberMarks marks_;
};

/// Makes the styles of one column of a table those of its marks, beside those of all columns: '\0', or the mark that
/// may be either.
char settle_marks(StyleChoice& column, const NumberMarks& table, char delimiter);

/// "--decimal comma --thousands point or --decimal point": both meanings of a mark, behind the same options.
std::string options_for_either(char mark, const std::string& before);

/// The options that read this text as a number; empty if none do.
std::string style_options(std::string_view text);

}  // namespace kith::data
