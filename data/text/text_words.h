// Words that people write in tables: for missing values, beside totals, and in names of columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kith::data {

/// Whether a word among numbers stands for a missing value: no, as "<12" and Total do not; if the user says so, as a
/// code of letters and digits may; hardly, since it means zero; perhaps; or usually.
enum class MissingWord { no, code, zero, perhaps, usual };
MissingWord missing_word(std::string_view text);

/// Whether people write it beside sums of rows of a table: Total, Summe:, North Total.
bool says_total(std::string_view text);
/// The same, or beside means: Average, Median, which between the rows may be values like others.
bool says_total_or_mean(std::string_view text);
/// False for nearly all texts that say no total, in a few instructions, since it is called for every field.
inline bool may_say_total(std::string_view text) {
  constexpr std::size_t kShortest = 3, kLongest = 40;
  if (text.size() < kShortest || text.size() > kLongest) return false;
  constexpr auto pair = [](char a, char b) {
    return static_cast<unsigned>(static_cast<unsigned char>(a | 0x20)) << 8 | static_cast<unsigned char>(b | 0x20);
  };
  const unsigned begin = pair(text[0], text[1]), end = pair(text[text.size() - 2], text.back());
  for (const char* known : {"to", "su", "so", "ge", "zw", "ra", "in"}) {
    if (begin == pair(known[0], known[1])) return true;
  }
  return end == pair('a', 'l') || end == pair('i', 's') || end == pair('l', 'e') || end == pair('m', 't') ||
         end == pair('m', 'e');
}

/// Whether the name says that the column holds dates: date, OrderDate, geburtsdatum.
bool names_date(const std::string& name);
/// Whether the name is one that people give to what identifies a row: id, customer_id, orderId, uuid.
bool names_identifier(const std::string& name);

}  // namespace kith::data
