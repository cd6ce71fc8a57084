// Words that people write in tables: for missing values, beside totals, and in names of columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kith::data {

/// Whether a list such as "|yes|true|" has the word.
bool has_word(std::string_view list, std::string_view word);

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
  constexpr std::size_t kShortest = 4, kLongest = 40;
  if (text.size() < kShortest || text.size() > kLongest) return false;
  constexpr auto four = [](const char* letters) {  // as one number, those of ASCII in lower case
    std::uint32_t number = 0;
    for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(letters[i] | 0x20);
    return number;
  };
  switch (four(text.data())) {
    case four("tota"):
    case four("subt"):
    case four("summ"):
    case four("suma"):
    case four("__no"):
    case four("__am"):
    case four("__to"):
    case four("__al"):
    case four("n_un"):
    case four("n_mu"):
    case four("n_no"):
    case four("n_am"):
    case four("somm"):
    case four("gesa"):
    case four("zwis"):
    case four("sous"):
    case four("raze"):
    case four("insg"):
      return true;
    default:
      break;
  }
  switch (four(text.data() + text.size() - 4)) {
    case four("otal"):
    case four("tale"):
    case four("bnis"):
    case four("samt"):
    case four("umme"):
      return true;
    default:
      return false;
  }
}

/// Whether the name says that the column holds dates: date, OrderDate, geburtsdatum.
bool names_date(const std::string& name);
/// Whether the name is one that people give to what identifies a row: id, customer_id, orderId, uuid.
bool names_identifier(const std::string& name);

}  // namespace kith::data
