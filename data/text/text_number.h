// Parses decimal numbers, independent of the locale; the texts that programs write for a missing value.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace kith::data {

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr std::uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/// How many of eight bytes are digits before the first other one, and their value if there are any: counted and
/// converted without a branch for each (after D. Lemire, Number Parsing at a Gigabyte per Second, 2021). For
/// little-endian machines.
[[gnu::always_inline]] inline int leading_digits(const char* p, std::uint64_t& value) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, p, sizeof bytes);
  bytes ^= 0x3030303030303030;  // turns each digit into its value
  const std::uint64_t others = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;
  const int digits = std::countr_zero(others) / 8;  // a carry can only affect bytes after the first non-digit
  if (digits == 0) return 0;
  bytes <<= 64 - 8 * digits;
  bytes = bytes * 10 + (bytes >> 8);  // combines pairs, then groups of four, then all eight
  constexpr std::uint64_t kPairs = 0x000000ff000000ff;
  value = ((bytes & kPairs) * (1000000 * (std::uint64_t{1} << 32) + 100) +
           (bytes >> 16 & kPairs) * (10000 * (std::uint64_t{1} << 32) + 1)) >>
          32;
  return digits;
}

/// Bytes that parse_short_number() may read, of which those after the number may have any value.
inline constexpr std::int64_t kShortNumberBytes = 24;

/// A number of at most seven digits before its point and seven after it, without exponent: most numbers of most tables.
/// Returns its end, or null for all others, which parse_number() reads. Its value has the bits that parse_number()
/// gives, since both operands are exact. Always inline, since it is called for every field.
[[gnu::always_inline]] inline const char* parse_short_number(const char* p, double& value) {
  if constexpr (std::endian::native != std::endian::little) return nullptr;
  const bool negative = *p == '-';
  p += negative ? 1 : 0;
  std::uint64_t whole = 0, fraction = 0;
  const int digits = leading_digits(p, whole);
  if (digits == 0 || digits == 8) return nullptr;
  p += digits;
  auto size = static_cast<double>(static_cast<std::int64_t>(whole));
  if (*p == '.') {
    const int places = leading_digits(++p, fraction);
    if (places == 0 || places == 8) return nullptr;
    p += places;
    size = static_cast<double>(static_cast<std::int64_t>(whole * kTens[places] + fraction)) / kPowers[places];
  }
  value = negative ? -size : size;
  return p;
}

/// Parses the longest number at `begin`: 12, -0.5, +1e-3, .5, nan, inf. Rounds correctly to float64; numbers beyond its
/// range become infinite. Returns the end of the number, or `begin` if there is none.
const char* parse_number(const char* begin, const char* end, double& value);

/// The value of a text that is one number.
inline double value_of(std::string_view number) {
  double value = 0.0;
  parse_number(number.data(), number.data() + number.size(), value);
  return value;
}

/// Whether the whole text is one number.
bool is_number_text(std::string_view text);

/// Removes blanks of any width at both ends, also of none, and soft hyphens at the end.
std::string_view without_blanks(std::string_view text);

/// The numbers among these texts.
std::vector<double> numbers_among(const std::vector<std::string>& texts);

/// Whether the text is one number if its commas are replaced by points.
bool has_decimal_comma(std::string_view text);

/// How a table writes numbers, if not as parse_number() reads them.
struct NumberStyle {
  char decimal = '.';
  /// Between groups of three digits before the decimal mark; '\0': nothing. A blank stands for no-break, narrow and
  /// thin spaces too, an apostrophe for a typographic one.
  char thousands = '\0';
  bool is_plain() const { return decimal == '.' && thousands == '\0'; }
};

inline bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
/// A letter of ASCII.
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// 01234, a code as it seems; 05 is a number.
inline bool has_leading_zero(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && text.find_first_not_of("0123456789") == text.npos;
}

/// Whether the text may be a negative number of accounts: (1,200.00).
inline bool is_in_parentheses(std::string_view text) {
  return text.size() > 2 && text.front() == '(' && text.back() == ')';
}

/// The number as parse_number() reads it, without blanks of any kind around it; empty if the text is not one number of
/// this style. True and False, TRUE and FALSE, true and false are 1 and 0; (12), 12- and a minus of typography are
/// negative. Where commas separate thousands, groups may be those of India: 1,23,456.
std::string plain_number(std::string_view text, const NumberStyle& style);
/// Its two steps, for several styles: the text without blanks, with its sign in front and a plain exponent; and the
/// number of one style.
std::string usual_number(std::string_view text);
std::string number_of_style(std::string_view usual, const NumberStyle& style);

/// Whether the text begins with a date of three numbers, such as 2026-11-23, 23.11.2026 or 11/23/26.
bool is_date_text(std::string_view text);

/// The text with spaces and apostrophes of all kinds as those of ASCII.
std::string with_plain_marks(std::string_view text);
/// The bytes of the dashes that stand for no decimals behind a price, 10,- or 10.--; 0: there are none.
std::size_t dashes_of_price(std::string_view text);
/// A price without such dashes, or a negative number with its sign in front: (1,200.00) of accounts, 1.200,00- of SAP,
/// or behind a minus or a dash of typography, as locales of R and Excel write it. Empty for others.
std::string with_sign_first(std::string_view text);

/// The mark of thousands that this text, one character in UTF-8, is written for: ' ' for all kinds of spaces within a
/// line, '\'' for a typographic apostrophe; '\0' if it is neither.
char plain_mark(std::string_view text);

/// Whether the text stands for a missing value where --nan is given: one of the table, or an error of a spreadsheet.
/// No number is one, and no text that some programs write for zero.
bool is_missing_text(std::string_view text);

/// Whether the text is one of those that are hardly ever the name of a column or of a category, as "Na" or "missing"
/// may be: such a text is a missing value even where --nan is not given.
bool is_missing_marker(std::string_view text);

/// Whether the text is a missing value where it stands among labels: such a marker, or what programs write for NaN.
bool is_missing_label(std::string_view text);

}  // namespace kith::data
