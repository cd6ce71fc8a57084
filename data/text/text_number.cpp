// Parses decimal numbers: short ones with one exact multiplication or division (W. Clinger, How to Read Floating Point
// Numbers Accurately, 1990), the others with std::from_chars.
#include "data/text/text_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "data/io/utf8.h"
#include "data/text/text_values.h"

namespace kith::data {
namespace {

constexpr int kMaxPower = 22;   // the largest power of ten that float64 holds exactly
constexpr int kMaxDigits = 19;  // any number of 19 digits fits into 64 bits

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// The value of a number that from_chars reports as out of range: infinite if it is too large, 0 if it is too small.
/// The exponent of the first nonzero digit decides.
double out_of_range(const char* begin, const char* end) {
  const bool negative = *begin == '-';
  std::int64_t exponent = 0, written = 0;
  bool seen = false, point = false;
  const char* p = begin + (negative ? 1 : 0);
  for (; p < end && (is_digit(*p) || *p == '.'); ++p) {
    if (*p == '.') {
      point = true;
      continue;
    }
    seen = seen || *p != '0';
    if (seen && !point) ++exponent;
    if (!seen && point) --exponent;
  }
  if (p < end && ++p < end) {
    const bool down = *p == '-';
    if (*p == '+' || *p == '-') ++p;
    constexpr std::int64_t limit = 1'000'000'000'000;
    for (; p < end && written < limit; ++p) written = 10 * written + (*p - '0');
    if (down) written = -written;
  }
  const double size = exponent + written > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -size : size;
}

/// Appends the digits at `p` to `number`; returns their end. Always inline, since a call takes a fifth of the time for
/// numbers with few digits.
[[gnu::always_inline]] inline const char* add_digits(const char* p, const char* end, std::uint64_t& number) {
  while (std::endian::native == std::endian::little && end - p >= 8) {
    std::uint64_t value = 0;
    const int digits = leading_digits(p, value);
    if (digits == 0) return p;
    number = number * kTens[digits] + value;
    p += digits;
    if (digits < 8) return p;
  }
  while (p < end && is_digit(*p)) number = 10 * number + static_cast<std::uint64_t>(*p++ - '0');
  return p;
}

const char* parse_any(const char* begin, const char* end, double& value) {
  const char* first = begin < end && *begin == '+' ? begin + 1 : begin;
  if (first != begin && first < end && *first == '-') return begin;
  const auto [stop, problem] = std::from_chars(first, end, value);
  if (problem == std::errc::result_out_of_range) value = out_of_range(first, stop);
  return problem == std::errc::invalid_argument ? begin : stop;
}

struct MarkForm {
  std::string_view form;
  char mark;
};
constexpr MarkForm kMarkForms[] = {
    {"\xc2\xa0", ' '},       // no-break space
    {"\xe2\x80\xaf", ' '},   // narrow no-break space
    {"\xe2\x80\x89", ' '},   // thin space
    {"\xe2\x80\x87", ' '},   // figure space
    {"\xe2\x80\x88", ' '},   // punctuation space
    {"\xe2\x80\x8a", ' '},   // hair space
    {"\xe2\x80\x99", '\''},  // right single quotation mark
    {"\xca\xbc", '\''},      // modifier letter apostrophe
    {"\xa0", ' '},           // no-break space in ISO 8859-1; no digit precedes this byte in UTF-8
};

/// A number with an exponent of Fortran, 1.5D+03, with that of other languages; empty for others.
std::string with_plain_exponent(std::string_view text) {
  const std::size_t at = std::min(text.find('D'), text.find('d'));
  const bool has_one =
      at != text.npos && at > 0 && at + 2 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
  if (!has_one) return "";
  std::string number(text);
  number[at] = 'e';
  return number;
}

}  // namespace

std::size_t dashes_of_price(std::string_view text) {
  constexpr std::string_view kDashes[] = {"-", "\u2013", "\u2014"};
  std::size_t bytes = 0;
  for (bool any = true; any;) {
    any = false;
    for (const std::string_view dash : kDashes) {
      if (!text.ends_with(dash)) continue;
      text.remove_suffix(dash.size());
      bytes += dash.size();
      any = true;
    }
  }
  const bool has_mark =
      text.size() > 1 && (text.back() == '.' || text.back() == ',') && is_digit(text[text.size() - 2]);
  return has_mark ? bytes : 0;
}

std::string with_plain_marks(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (is_ascii(text[0])) {
      plain += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto* known = std::find_if(std::begin(kMarkForms), std::end(kMarkForms),
                                     [text](const MarkForm& entry) { return text.starts_with(entry.form); });
    const bool is_known = known != std::end(kMarkForms);
    plain += is_known ? known->mark : text[0];
    text.remove_prefix(is_known ? known->form.size() : 1);
  }
  return plain;
}

std::string with_sign_first(std::string_view text) {
  constexpr std::string_view kMinus[] = {"\u2212", "\u2010", "\u2012", "\u2013", "\ufe63", "\uff0d"};
  std::string_view digits, sign = "-";
  const bool is_usual =
      text.empty() || (is_ascii(text[0]) && text[0] != '(' && is_ascii(text.back()) && text.back() != '-');
  if (is_usual) return "";
  for (const std::string_view minus : kMinus) {
    if (text.starts_with(minus)) digits = text.substr(minus.size());
  }
  if (is_in_parentheses(text)) digits = without_blanks(text.substr(1, text.size() - 2));
  const bool is_code = text.size() > 2 && text[0] == '0' && is_digit(text[1]);  // 001-
  if (text.ends_with('-') && !is_code) digits = without_blanks(text.substr(0, text.size() - 1));
  if (const std::size_t dashes = dashes_of_price(text); dashes > 0) {
    digits = text.substr(0, text.size() - dashes);
    sign = "";
  }
  const bool is_number =
      !digits.empty() && (is_digit(digits.front()) || digits.front() == '.' || digits.front() == ',');
  return is_number ? std::string(sign) + std::string(digits) : "";
}

char plain_mark(std::string_view text) {
  const std::string plain = with_plain_marks(text);
  return plain.size() == 1 && text.size() > 1 ? plain[0] : '\0';
}

const char* parse_number(const char* begin, const char* end, double& value) {
  const char* p = begin;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  std::uint64_t digits = 0;
  const char* first = p;
  p = add_digits(p, end, digits);
  std::int64_t count = p - first;
  int power = 0;
  if (p < end && *p == '.') {
    const char* fraction = ++p;
    p = add_digits(p, end, digits);
    power = -static_cast<int>(p - fraction);
    count += p - fraction;
  }
  if (count == 0 || count > kMaxDigits) return parse_any(begin, end, value);
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool down = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) ++q;
    const char* exponent = q;
    int written = 0;
    while (q < end && is_digit(*q) && q - exponent < 4) written = 10 * written + (*q++ - '0');
    if (q == exponent || (q < end && is_digit(*q))) return parse_any(begin, end, value);
    power += down ? -written : written;
    p = q;
  }
  if (digits >> std::numeric_limits<double>::digits != 0 || power < -kMaxPower || power > kMaxPower) {
    return parse_any(begin, end, value);
  }
  // Both operands are exact, so the single operation rounds correctly.
  const auto whole = static_cast<double>(digits);
  const double size = power < 0 ? whole / kPowers[-power] : whole * kPowers[power];
  value = negative ? -size : size;
  return p;
}

bool is_number_text(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  return !text.empty() && parse_number(text.data(), end, value) == end;
}

std::vector<double> numbers_among(const std::vector<std::string>& texts) {
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    if (is_number_text(text)) numbers.push_back(value_of(text));
  }
  return numbers;
}

bool has_decimal_comma(std::string_view text) {
  std::string with_point(text);
  std::replace(with_point.begin(), with_point.end(), ',', '.');
  return with_point != text && is_number_text(with_point);
}

bool is_date_text(std::string_view text) {
  if (date_readings(text).any()) return true;  // also with the name of a month
  std::size_t at = 0, lengths[3] = {};
  char mark = '\0';
  for (int part = 0; part < 3; ++part) {
    while (at < text.size() && is_digit(text[at]) && lengths[part] < 5) ++at, ++lengths[part];
    if (lengths[part] == 0 || lengths[part] > 4 || lengths[part] == 3) return false;
    if (part == 2) break;
    if (at == text.size() || (text[at] != '-' && text[at] != '/' && text[at] != '.')) return false;
    if (part == 1 && text[at] != mark) return false;
    mark = text[at++];
  }
  const bool year_first = lengths[0] == 4 && lengths[2] <= 2, year_last = lengths[0] <= 2 && lengths[2] != 1;
  return lengths[1] <= 2 && (year_first || year_last) && (at == text.size() || text[at] == 'T' || text[at] == ' ');
}

namespace {

/// Whether the text is one blank of any width, also of none: a byte order mark, marks of the direction of writing, and
/// the line ends of Unicode.
bool is_any_blank(std::string_view character) {
  if (character.size() == 1) return character[0] == ' ' || character[0] == '\t';
  constexpr std::string_view kBegins = "\xc2\xe2\xe3\xef";  // of those below in UTF-8
  if (kBegins.find(character[0]) == kBegins.npos) return false;
  const auto [code, bytes] = first_character(character);
  if (bytes != character.size()) return false;
  constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {{0x85, 0x85},     {0xa0, 0xa0},     {0x2000, 0x200f},
                                                                 {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},
                                                                 {0xfeff, 0xfeff}};
  return std::ranges::any_of(kRanges,
                             [code = code](const auto& range) { return code >= range.first && code <= range.second; });
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kSoftHyphen = "\u00ad";  // in front of a number it may be a minus
  const auto is_shown = [](char c) { return c > ' ' && is_ascii(c); };
  if (text.empty() || (is_shown(text.front()) && is_shown(text.back()))) return text;
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(3, text.size());) {
    if (is_any_blank(text.substr(0, bytes))) {
      text.remove_prefix(bytes);
    } else if (is_any_blank(text.substr(text.size() - bytes)) || (bytes == 2 && text.ends_with(kSoftHyphen))) {
      text.remove_suffix(bytes);
    } else {
      ++bytes;
      continue;
    }
    bytes = 1;
  }
  return text;
}

std::string usual_number(std::string_view text) {
  std::string usual(without_blanks(text));
  for (std::string next;; usual = without_blanks(next)) {
    next = with_sign_first(usual);
    if (next.empty()) next = with_plain_exponent(usual);
    if (next.empty()) return usual;
  }
}

std::string plain_number(std::string_view text, const NumberStyle& style) {
  return number_of_style(usual_number(text), style);
}

std::string number_of_style(std::string_view usual, const NumberStyle& style) {
  if (!usual.empty() && std::string_view("TtFf").find(usual[0]) != std::string_view::npos) {
    if (usual == "True" || usual == "TRUE" || usual == "true") return "1";
    if (usual == "False" || usual == "FALSE" || usual == "false") return "0";
  }
  if (style.is_plain()) return is_number_text(usual) ? std::string(usual) : "";
  const bool has_forms = style.thousands == ' ' || style.thousands == '\'';
  const std::string plain = has_forms ? with_plain_marks(usual) : std::string(usual);
  std::string number;
  std::size_t digits = 0, first = 0, middle = 0;  // of the group, the first one, and those between first and last
  bool grouped = false, whole = true;
  const auto is_middle = [&] {
    if (digits != 3 && !(digits == 2 && first < 3 && style.thousands == ',')) return false;
    return middle == 0 || middle == digits;
  };
  for (const char c : plain) {
    if (whole && c == style.thousands && (grouped ? is_middle() : digits > 0 && digits <= 3)) {
      (grouped ? middle : first) = digits;
      grouped = true;
      digits = 0;
      continue;
    }
    if (is_digit(c)) {
      ++digits;
    } else if (digits > 0 || c == style.decimal) {
      if (whole && grouped && digits != 3) return "";
      whole = false;
    }
    if (c == '.' && style.decimal != '.') return "";
    number += c == style.decimal ? '.' : c;
  }
  if (whole && grouped && digits != 3) return "";
  return is_number_text(number) ? number : "";
}

// The table of texts for missing values; docs/commands.md lists the same.

namespace {

struct MissingText {
  std::string_view text;
  const char* written_by;
  bool is_marker = false;  // is_missing_marker()
};

// Not in the table, since they mean zero or a number elsewhere, are --na-values only: "-", "--" (accounting formats and
// statistical offices write them for 0), "none", "nil", "*", "unknown", -999, 9999.
constexpr MissingText kTexts[] = {
    {"NA", "R, pandas", true},
    {"N/A", "pandas, spreadsheets", true},
    {"#N/A", "Excel", true},
    {"NULL", "SQL", true},
    {"null", "JSON, polars", true},
    {"None", "Python", true},
    {"?", "ARFF, UCI", true},
    {".", "Stata, SAS, SPSS", true},
    {"<NA>", "pandas"},
    {"NaT", "pandas"},
    {"n/a", "pandas"},
    {"na", "by hand"},
    {"n.a.", "data banks of companies"},
    {"N.A.", "data banks of companies"},
    {"\\N", "MySQL, PostgreSQL, Hive"},
    {"Null", "SQL"},
    {"(null)", "Oracle, SQLite"},
    {"[NULL]", "DBeaver"},
    {"<null>", "DataGrip"},
    {"missing", "Julia"},
    {"#NA", "Excel"},
    {"#N/A N/A", "Excel with Bloomberg"},
    {"#NV", "Excel, German"},
    {"#N/D", "Excel, Italian, Spanish, Portuguese"},
    {"..", "World Bank"},
    {"...", "statistical offices"},
    {":", "Eurostat"},
    {"1.#IND", "Microsoft's C library"},
    {"-1.#IND", "Microsoft's C library"},
    {"1.#QNAN", "Microsoft's C library"},
    {"-1.#QNAN", "Microsoft's C library"},
    {"1.#INF", "Microsoft's C library"},
    {"-1.#INF", "Microsoft's C library"},
};

/// .a to .z and ._, the further missing values of Stata and SAS.
bool is_extended_missing(std::string_view text) {
  return text.size() == 2 && text[0] == '.' && (is_letter(text[1]) || text[1] == '_');
}

/// #DIV/0!, #VALUE!, #NAME?, #WERT!, Err:502: an error of Excel or LibreOffice, in any language.
bool is_spreadsheet_error(std::string_view text) {
  constexpr std::size_t kShortest = 4, kLongest = 16;
  constexpr std::string_view kNumbered = "Err:";
  if (text.starts_with(kNumbered)) {
    return text.find_first_not_of("0123456789", kNumbered.size()) == text.npos && text.size() == kNumbered.size() + 3;
  }
  const bool is_framed = text.size() >= kShortest && text.size() <= kLongest && text[0] == '#' &&
                         (text.back() == '!' || text.back() == '?');
  return is_framed && std::all_of(text.begin() + 1, text.end() - 1, [](unsigned char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c >= 0x80;
         });
}

/// Whether one of the texts begins so.
constexpr auto kBegins = [] {
  std::array<bool, 256> begins{};
  for (const MissingText& known : kTexts) begins[static_cast<unsigned char>(known.text[0])] = true;
  return begins;
}();

const MissingText* find(std::string_view text) {
  if (text.empty() || !kBegins[static_cast<unsigned char>(text[0])]) return std::end(kTexts);
  while (text.ends_with('0') && text.find(".#") != text.npos) text.remove_suffix(1);  // 1.#INF00, with decimals
  const auto is_it = [text](const MissingText& known) { return text[0] == known.text[0] && text == known.text; };
  return std::find_if(std::begin(kTexts), std::end(kTexts), is_it);
}

}  // namespace

bool is_missing_text(std::string_view text) {
  return find(text) != std::end(kTexts) || is_extended_missing(text) || is_spreadsheet_error(text);
}

bool is_missing_marker(std::string_view text) {
  const MissingText* known = find(text);
  return known != std::end(kTexts) && known->is_marker;
}

bool is_missing_label(std::string_view text) {
  constexpr std::string_view kNone[] = {"NaN", "nan", "NAN", "-nan", "<NA>", "NaT"};
  return text.empty() || is_missing_marker(text) || std::ranges::find(kNone, text) != std::end(kNone);
}

}  // namespace kith::data
