// Collects signs of decimals and of thousands as bits, number by number, and decides by those of a column, then by
// those of the table.
#include "data/text/number_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "data/text/text_units.h"
#include "data/text/text_values.h"

namespace kith::data {
namespace {

constexpr std::pair<NumberStyle, const char*> kStyles[] = {
    {{',', '\0'}, "--decimal comma"},
    {{'.', ' '}, "--thousands blank"},
    {{'.', '\''}, "--thousands apostrophe"},
    {{',', '.'}, "--decimal comma --thousands point"},
    {{',', ' '}, "--decimal comma --thousands blank"},
    {{',', '\''}, "--decimal comma --thousands apostrophe"},
    {{'.', ','}, "--thousands comma"},
};
constexpr std::uint32_t kDecimalCommas = 0b0111001;  // bits of the styles with one

}  // namespace

void NumberMarks::add_plain(const char* begin, const char* end, double value) {
  if (is_settled() || !(value > -1e300 && value < 1e300)) return;
  if (*begin == '-' || *begin == '+') ++begin;
  const auto length = end - begin;
  if (length > 4 && end[-4] == '.') {
    seen_ |= length <= 7 && *begin != '0' ? either('.') : decimal('.');
  } else {
    const double size = value < 0 ? -value : value;
    const bool is_whole = length < 3 || (length == 3 && end[-2] != '.');
    if (!is_whole || size > 999 || size != static_cast<double>(static_cast<int>(size))) {
      seen_ |= decimal('.');  // or a whole number from 1000 on, which settles it as well
    } else if (size >= 1) {
      seen_ |= size < 10 ? one_digit : short_whole;
    }
  }
}

void NumberMarks::add(std::string_view text) {
  text = without_blanks(text);
  const std::string usual = with_sign_first(text), number = with_plain_marks(usual.empty() ? text : usual);
  const std::size_t begin = number.find_first_not_of("+- "), stop = number.find_first_not_of("0123456789.,' ", begin);
  const std::size_t last = number.find_last_of(".,", stop), end = std::min(stop, number.size());
  if (begin == number.npos || (stop != number.npos && number[stop] != 'e' && number[stop] != 'E')) return;
  const bool groups = number.find_first_of("' ", begin) != number.npos, power = stop != number.npos;
  if (last == number.npos) {
    const std::size_t first = std::min(number.find_first_not_of('0', begin), end), digits = end - first;
    if (digits > 0) seen_ |= groups || power || digits > 3 ? long_whole : digits > 1 ? short_whole : one_digit;
    return;
  }
  const char mark = number[last], other = mark == '.' ? ',' : '.';
  if (std::count(number.begin(), number.end(), mark) > 1) {
    seen_ |= thousands(mark);
    return;
  }
  const bool has_other = number.find(other) != number.npos;
  if (has_other) seen_ |= thousands(other);
  const bool is_either = !has_other && !groups && !power && end - last == 4 && last - begin > 0 && last - begin <= 3 &&
                         number[begin] != '0';
  seen_ |= is_either ? either(mark) | (last - begin > 1 ? from_ten : 0) : decimal(mark);
}

NumberMarks::Meaning NumberMarks::meaning_of(char mark, const NumberMarks& table, char delimiter) const {
  const char other = mark == '.' ? ',' : '.';
  if (has(decimal(mark) | thousands(other))) return Meaning::decimal;
  if (has(thousands(mark) | decimal(other))) return Meaning::thousands;
  const bool point = table.has(decimal(mark) | thousands(other)), group = table.has(thousands(mark) | decimal(other));
  if (point != group) return point ? Meaning::decimal : Meaning::thousands;
  if (mark == ',' && delimiter == ',') return Meaning::thousands;  // a decimal comma has another delimiter
  if (has(long_whole)) return Meaning::decimal;
  if (may_be_thousands(mark)) return has(currency) ? Meaning::thousands : Meaning::unclear;
  if (has(currency) && has(from_ten)) return Meaning::unclear;  // 1.799 EUR is the price of a litre, 13.697 EUR is not
  return mark == '.' || delimiter == ';' ? Meaning::decimal : Meaning::unclear;
}

std::vector<NumberStyle> number_styles() {
  std::vector<NumberStyle> styles{NumberStyle{}};
  for (const auto& [style, options] : kStyles) styles.push_back(style);
  return styles;
}

std::string options_of(const NumberStyle& style) {
  constexpr std::pair<char, const char*> kMarks[] = {
      {'\0', "none"}, {'.', "point"}, {',', "comma"}, {' ', "blank"}, {'\'', "apostrophe"}};
  const auto* mark = std::find_if(std::begin(kMarks), std::end(kMarks),
                                  [&style](const auto& entry) { return entry.first == style.thousands; });
  return fmt::format("--decimal {} --thousands {}", style.decimal == ',' ? "comma" : "point",
                     mark == std::end(kMarks) ? std::string(1, style.thousands) : mark->second);
}

NumberText StyleChoice::read(std::string_view text, const NumberStyle& style, bool has_others) {
  NumberText found;
  const auto is_number = [&](std::string_view number) {
    found.number = plain_number(number, style);
    if (has_others && !found.number.empty() && !is_month_with_point(number)) add_plain(number);
    if (has_others && found.number.empty()) found.is_styled = add(number);
    return !found.is_word();
  };
  if (is_number(text)) return found;
  const UnitText unit = split_unit(text);
  if (unit.unit.empty() || !is_number(unit.number)) return found;
  found.unit = unit.unit;
  if (has_others && is_currency(unit.unit)) marks_.add_currency();
  return found;
}

bool StyleChoice::add(std::string_view text) {
  std::uint32_t read_by = 0, bit = 1;
  const std::string usual = usual_number(text);
  const auto is_of_word = [](char c) { return is_letter(c) || !is_ascii(c); };
  if (usual.empty() || is_of_word(usual.front()) || is_of_word(usual.back())) return false;  // a word in every style
  for (const auto& [style, options] : kStyles) {
    if (!number_of_style(usual, style).empty()) read_by |= bit;
    bit <<= 1;
  }
  if (read_by == 0) return false;
  left_ &= read_by;
  marks_.add(text);
  return true;
}

void StyleChoice::add_plain(std::string_view text) {
  if (marks_.is_settled() && (left_ & kDecimalCommas) == 0) return;
  text.find('.') == text.npos ? marks_.add(text) : void(add(text));
}

void StyleChoice::require(char mark, NumberMarks::Meaning meaning) {
  std::uint32_t bit = 1;
  for (const auto& [style, options] : kStyles) {
    const char meant = meaning == NumberMarks::Meaning::decimal ? style.decimal : style.thousands;
    if (meant != mark) left_ &= ~bit;
    bit <<= 1;
  }
}

char settle_marks(StyleChoice& column, const NumberMarks& table, char delimiter) {
  for (const char mark : {',', '.'}) {
    if (!column.marks().has_either(mark)) continue;
    const NumberMarks::Meaning meaning = column.marks().meaning_of(mark, table, delimiter);
    if (meaning == NumberMarks::Meaning::unclear) return mark;
    column.require(mark, meaning);
  }
  return '\0';
}

std::string options_for_either(char mark, const std::string& before) {
  const bool point = mark == '.';
  return before + (point ? "--decimal comma --thousands point" : "--thousands comma") + " or " + before +
         (point ? "--decimal point" : "--decimal comma");
}

std::string StyleChoice::options() const {
  std::uint32_t bit = 1;
  for (const auto& [style, options] : kStyles) {
    if ((left_ & bit) != 0) return options;
    bit <<= 1;
  }
  return "";
}

NumberStyle StyleChoice::style() const {
  std::uint32_t bit = 1;
  for (const auto& [style, options] : kStyles) {
    if ((left_ & bit) != 0) return style;
    bit <<= 1;
  }
  return {};
}

std::string style_options(std::string_view text) {
  for (const auto& [style, options] : kStyles) {
    if (!plain_number(text, style).empty()) return options;
  }
  return "";
}

}  // namespace kith::data
