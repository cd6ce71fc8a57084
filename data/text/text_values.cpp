// Reads dates from left to right; std::chrono knows the calendar.
#include "data/text/text_values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "data/io/utf8.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"
#include "data/text/text_words.h"

namespace kith::data {
namespace {

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes characters from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  char next() const { return text_.empty() ? '\0' : text_[0]; }
  bool take(char c) {
    if (next() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while (take(' ')) {
    }
  }
  /// The number of `least` to `most` digits at the front; nothing if there are fewer or more.
  std::optional<int> number(int least, int most, int* digits = nullptr) {
    int count = 0, value = 0;
    while (is_decimal_digit(next())) {
      if (++count > most) return std::nullopt;
      value = 10 * value + (next() - '0');
      text_.remove_prefix(1);
    }
    if (digits != nullptr) *digits = count;
    return count < least ? std::nullopt : std::optional(value);
  }
  /// The value of the digits behind a decimal mark, if there is one.
  double fraction() {
    if (next() != '.' && next() != ',') return 0.0;
    std::size_t end = 1;
    while (end < text_.size() && is_decimal_digit(text_[end])) ++end;
    double value = 0.0;
    const std::string digits = "0." + std::string(text_.substr(1, end - 1)) + "0";
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    text_.remove_prefix(end);
    return value;
  }
  /// Takes letters, which it returns in lower case, and a point behind them.
  std::string word() {
    std::size_t bytes = 0;
    while (bytes < text_.size() && (is_letter(text_[bytes]) || !is_ascii(text_[bytes]))) ++bytes;
    const std::string letters = lower_case(text_.substr(0, bytes));
    text_.remove_prefix(bytes);
    if (bytes > 0) take('.');
    return letters;
  }
  std::string letter() {
    const std::string_view taken = text_.substr(0, 1);
    text_.remove_prefix(taken.size());
    return std::string(taken);
  }
  bool take(std::string_view text) {
    if (!text_.starts_with(text)) return false;
    text_.remove_prefix(text.size());
    return true;
  }
  /// Takes AM, PM, a.m. or p.m. in any case: 0 or 12 hours.
  std::optional<int> half_of_day() {
    for (const std::string_view half : {"am", "pm", "a.m.", "p.m."}) {
      if (lower_case(text_.substr(0, half.size())) != half) continue;
      text_.remove_prefix(half.size());
      return half[0] == 'p' ? 12 : 0;
    }
    return std::nullopt;
  }

 private:
  std::string_view text_;
};

/// A year of two digits is one of 1930 to 2029, as spreadsheets read it.
int full_year(int year) {
  constexpr int kFirstOfNineties = 30, kCentury = 100;
  return year + (year < kFirstOfNineties ? 20 : 19) * kCentury;
}

/// Whether a number may be the year of a date that could be another number.
bool is_usual_year(int year) { return year >= 1900 && year <= 2100; }

/// Three numbers, of which the year comes first or last, and what follows them.
struct DateParts {
  int year = 0, first = 0, second = 0;
  bool year_first = false;
  char mark = '\0';
  double day_share = 0.0;  // the time, in days, less the zone
};

std::optional<double> take_time(Scanner& scanner) {
  constexpr double kMinutes = 24.0 * 60.0;
  const auto hours = scanner.number(1, 2);
  if (!hours || !scanner.take(':')) return std::nullopt;
  const auto minutes = scanner.number(2, 2);
  std::optional<int> seconds = 0;
  double fraction = 0.0;
  if (scanner.take(':')) {
    seconds = scanner.number(2, 2);
    fraction = scanner.fraction();
  }
  if (!minutes || !seconds) return std::nullopt;
  scanner.skip_blanks();
  int hour = *hours;
  if (const auto half = scanner.half_of_day()) {
    if (hour < 1 || hour > 12) return std::nullopt;
    hour = hour % 12 + *half;
  }
  scanner.skip_blanks();
  int zone = 0;                                                      // minutes
  const bool is_named = scanner.take("GMT") || scanner.take("UTC");  // also GMT+1, as forms of Google have it
  constexpr std::pair<std::string_view, int> kZones[] = {{"EST", -5}, {"EDT", -4}, {"CST", -6}, {"CDT", -5},
                                                         {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7},
                                                         {"CET", 1},  {"CEST", 2}};
  for (const auto& [name, hours] : kZones) {
    if (zone == 0 && !is_named && scanner.take(name)) zone = 60 * hours;
  }
  if (zone == 0 && !scanner.take('Z') && (scanner.next() == '+' || scanner.next() == '-')) {
    const int sign = scanner.take('+') ? 1 : -1;
    if (sign < 0) scanner.take('-');
    int digits = 0;
    const auto of_zone = scanner.number(is_named ? 1 : 2, 4, &digits);
    if (!of_zone || digits == 3) return std::nullopt;
    if (digits == 4) {
      zone = *of_zone / 100 * 60 + *of_zone % 100;
    } else {
      const auto more = scanner.take(':') ? scanner.number(2, 2) : std::optional(0);
      if (!more) return std::nullopt;
      zone = 60 * *of_zone + *more;
    }
    zone *= sign;
  }
  if (hour > 24 || *minutes > 59 || *seconds > 60 || !scanner.at_end()) return std::nullopt;
  return (60 * hour + *minutes - zone) / kMinutes + (*seconds + fraction) / (kMinutes * 60.0);
}

/// 1 to 12 for names of months and what people write in short, in English, German, French, Spanish, Italian,
/// Portuguese, Dutch, Polish, Russian, Turkish and the languages of Scandinavia; 0 for others.
int month_of(std::string_view word) {
  constexpr std::string_view kNames[] = {
      "|jan|january|januar|j\u00e4nner|janvier|janv|enero|ene|gennaio|gen|janeiro|januari|sty|stycznia|янв|января|ocak|"
      "oca|",
      "|feb|february|februar|f\u00e9vrier|f\u00e9vr|febrero|febbraio|fevereiro|fev|februari|lut|lutego|фев|февраля|"
      "\u015eubat|\u015eub|",
      "|mar|march|m\u00e4rz|m\u00e4r|mrz|mars|marzo|mar\u00e7o|maart|mrt|marts|marca|мар|марта|mart|",
      "|apr|april|avril|avr|abril|abr|aprile|kwi|kwietnia|апр|апреля|nis|nisan|",
      "|may|mai|mayo|maggio|mag|maio|mei|maj|maja|май|мая|may\u0131s|",
      "|jun|june|juni|juin|junio|giugno|giu|junho|cze|czerwca|июн|июня|haz|haziran|",
      "|jul|july|juli|juillet|juil|julio|luglio|lug|julho|lip|lipca|июл|июля|tem|temmuz|",
      "|aug|august|ao\u00fbt|agosto|ago|augustus|augusti|sie|sierpnia|авг|августа|a\u011fu|a\u011fustos|",
      "|sep|sept|september|septembre|septiembre|settembre|set|setembro|wrz|wrze\u015bnia|сен|сентября|eyl|eyl\u00fcl|",
      "|oct|october|okt|oktober|octobre|octubre|ottobre|ott|outubro|out|pa\u017a|pa\u017adziernika|окт|октября|eki|"
      "ekim|",
      "|nov|november|novembre|noviembre|novembro|lis|listopada|ноя|ноября|kas|kas\u0131m|",
      "|dec|december|dez|dezember|d\u00e9cembre|d\u00e9c|diciembre|dic|dicembre|dezembro|des|desember|gru|grudnia|дек|"
      "декабря|ara|aral\u0131k|"};
  const auto* found = std::ranges::find_if(kNames, [word](std::string_view names) { return has_word(names, word); });
  return found == std::end(kNames) ? 0 : static_cast<int>(found - std::begin(kNames)) + 1;
}

/// Blanks, a comma, or one of the marks between the parts of a date.
bool take_mark(Scanner& scanner) {
  const bool any = scanner.take('-') || scanner.take('/') || scanner.take(',') || scanner.next() == ' ';
  scanner.skip_blanks();
  scanner.take("de ");  // 1 de marzo de 2024
  return any;
}

/// The time behind a date, if there is one; nothing if something else follows.
std::optional<DateParts> with_time(DateParts parts, Scanner& scanner) {
  if (scanner.at_end()) return parts;
  const bool any =
      scanner.take('T') || scanner.take(' ') || scanner.take(',') || scanner.take(':');  // SAS: 1MAR2024:9:30
  if (!any) return std::nullopt;
  scanner.skip_blanks();
  if (scanner.take('@')) scanner.skip_blanks();  // Kibana
  const auto time = take_time(scanner);
  if (!time) return std::nullopt;
  parts.day_share = *time;
  return parts;
}

/// A date with the name of its month: "12 Mar 2024", "12-Mar-24", "Mar 12, 2024", "Tue, 12 Mar 2024 10:00:00 GMT",
/// "2024-Mar-12", "March 2024".
std::optional<DateParts> take_named_date(std::string_view text) {
  constexpr std::string_view kWeekdays =
      "|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|";
  Scanner scanner(text);
  const auto day_number = [&scanner](int& digits) {
    const auto number = scanner.number(1, 4, &digits);
    if (!number || digits > 2) return number;
    if (scanner.take('.')) return number;
    for (const std::string_view end : {"st", "nd", "rd", "th"}) {
      if (scanner.take(end)) break;
    }
    return number;
  };
  DateParts parts{.year_first = true};  // as of dates that are read in one way
  std::string name = scanner.word();
  if (has_word(kWeekdays, name)) {
    if (!take_mark(scanner)) return std::nullopt;
    name = scanner.word();
  }
  int digits = 0;
  std::optional<int> begin;
  if (name.empty()) {
    begin = day_number(digits);
    if (!begin || digits == 3) return std::nullopt;
    take_mark(scanner);
    name = scanner.word();
  }
  parts.first = month_of(name);
  if (parts.first == 0 || (!take_mark(scanner) && !begin)) return std::nullopt;  // 31DEC2024
  const int begin_digits = begin ? digits : 0;
  const auto next = day_number(digits);
  if (!next || digits == 3) return std::nullopt;
  if (begin_digits == 4) {  // the year, and now the day
    parts.year = *begin;
    parts.second = *next;
    return digits <= 2 ? with_time(parts, scanner) : std::nullopt;
  }
  if (begin) {
    parts.second = *begin;
  } else if (digits == 4) {  // a month
    parts.year = *next;
    parts.second = 1;
    return scanner.at_end() ? std::optional(parts) : std::nullopt;
  } else {
    parts.second = *next;
  }
  const auto year = begin ? next : take_mark(scanner) ? scanner.number(4, 4, &digits) : std::nullopt;
  if (!year || (digits != 4 && !(begin && digits == 2))) return std::nullopt;
  parts.year = digits == 4 ? *year : full_year(*year);
  return with_time(parts, scanner);
}

/// The first day of a quarter, a month or a week of ISO 8601: 2024Q1, 2024-Q1, Q1 2024, 1990m1, 2024-W05.
std::optional<DateParts> take_period(std::string_view text) {
  constexpr std::size_t kShortest = 6, kLongest = 8;
  if (text.size() < kShortest || text.size() > kLongest) return std::nullopt;
  const std::string lower = lower_case(text);
  Scanner scanner(lower);
  const bool is_first = scanner.take('q');
  int year = is_first ? 0 : scanner.number(4, 4).value_or(0);
  if (!is_first && !scanner.take('-')) scanner.take(' ');
  const char kind = is_first ? 'q' : scanner.next();
  if (!is_first && !scanner.take(kind)) return std::nullopt;
  const auto part = scanner.number(1, 2);
  if (is_first && (scanner.take(' ') || scanner.take('-'))) year = scanner.number(4, 4).value_or(0);
  const int most = kind == 'q' ? 4 : kind == 'm' ? 12 : kind == 'w' ? 53 : 0;
  if (!part || *part < 1 || *part > most || !is_usual_year(year) || !scanner.at_end()) return std::nullopt;
  DateParts parts{.year = year, .first = 1, .second = 1, .year_first = true};
  if (kind != 'w') {
    parts.first = kind == 'q' ? 3 * *part - 2 : *part;
    return parts;
  }
  const std::chrono::sys_days first{std::chrono::year{year} / 1 / 1}, fourth = first + std::chrono::days{3};
  const auto monday = fourth - (std::chrono::weekday{fourth} - std::chrono::Monday);  // of the week with 4 January
  parts.day_share = static_cast<double>((monday - first).count()) + 7.0 * (*part - 1);
  return parts;
}

std::optional<DateParts> take_date(std::string_view text) {
  const std::size_t digits_end = text.find_first_not_of("0123456789");
  if (text.find_first_of("0123456789") == text.npos) return std::nullopt;
  // 2024123118, 202412311830 and 20241231183015, with the time
  if (digits_end == text.npos && text.size() > 8 && text.size() <= 14 && text.size() % 2 == 0) {
    const std::string time(text.substr(8));
    auto parts = take_date(text.substr(0, 8));
    if (!parts || !is_usual_year(parts->year)) return std::nullopt;
    const std::string clock = time.substr(0, 2) + ":" + (time.size() > 2 ? time.substr(2, 2) : "00") +
                              (time.size() > 4 ? ":" + time.substr(4) : "");
    Scanner scanner(clock);
    const auto share = take_time(scanner);
    if (share) parts->day_share = *share;
    return share ? parts : std::nullopt;
  }
  if (const auto parts = take_period(text)) return parts;
  const bool is_month =
      digits_end == text.npos && text.size() == 6 && (text.starts_with("19") || text.starts_with("20"));
  if (is_month) return take_date(std::string(text) + "01");  // 202403
  if (std::any_of(text.begin(), text.begin() + std::min<std::ptrdiff_t>(std::ssize(text), 8),
                  [](char c) { return (is_letter(c) && c != 'T') || !is_ascii(c); })) {
    if (auto parts = take_named_date(text)) return parts;
  }
  Scanner scanner(text);
  DateParts parts;
  int digits = 0;
  const auto begin = scanner.number(1, 8, &digits);
  if (!begin || (digits > 2 && digits != 4 && digits != 8)) return std::nullopt;
  parts.year_first = digits >= 4;
  if (digits == 8) {
    parts.year = *begin / 10000;
    parts.first = *begin / 100 % 100;
    parts.second = *begin % 100;
  } else {
    parts.mark = scanner.next();
    const int begin_digits = digits;
    const bool is_mark = parts.mark == '-' || parts.mark == '/' || parts.mark == '.' ||
                         (parts.mark == ':' && parts.year_first && is_usual_year(*begin));  // cameras
    const auto take_next = [&] {                                                            // 2024. 3. 1.
      const bool any = scanner.take(parts.mark);
      if (parts.mark == '.') scanner.skip_blanks();
      return any;
    };
    if (!is_mark || !take_next()) return std::nullopt;
    const auto middle = scanner.number(1, 4, &digits);
    const bool may_be_month = parts.mark == '/' || (parts.mark == '.' && begin_digits == 2);  // 03/2024, 03.2024
    if (middle && digits == 4 && may_be_month && !parts.year_first && is_usual_year(*middle) && scanner.at_end())
      return DateParts{.year = *middle, .first = *begin, .second = 1, .year_first = true};
    if (!middle || digits > 2) return std::nullopt;
    const int middle_digits = digits;
    parts.first = *middle;
    if (parts.year_first && parts.mark == '-' && digits == 2 && scanner.at_end()) {  // a month
      parts.year = *begin;
      parts.second = 1;
      return parts;
    }
    const int end = take_next() ? scanner.number(1, 4, &digits).value_or(-1) : -1;
    if (parts.year_first && parts.mark == '.') scanner.take('.');
    // "1.2.10" may be the number of a version.
    const bool is_short = !parts.year_first && digits == 2 &&
                          (parts.mark == '/' || (parts.mark == '.' && begin_digits == 2 && middle_digits == 2));
    if (end < 0 || (parts.year_first ? digits > 2 : digits != 4 && !is_short)) return std::nullopt;
    if (parts.year_first) {
      parts.year = *begin;
      parts.second = end;
    } else {
      parts.year = is_short ? full_year(end) : end;
      parts.second = parts.first;
      parts.first = *begin;
    }
  }
  return with_time(parts, scanner);
}

std::optional<double> days_of(const DateParts& parts, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year{parts.year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count()) + parts.day_share;
}

/// The same date in a common form, where it has one of ctime, "Fri Mar  1 10:00:00 2024", or of East Asia,
/// "2024年3月1日".
std::string common_date(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kSigns[] = {{"年", "-"}, {"月", "-"}, {"日", ""}};
  if (text.ends_with(']')) text = text.substr(0, text.rfind('['));  // [Europe/Berlin] behind the zone, Java
  std::string date(text);
  for (const auto& [sign, mark] : kSigns) {
    const std::size_t at = date.find(sign);
    if (at == date.npos) break;
    date.replace(at, sign.size(), mark);
  }
  const std::vector<std::string> words = fields_of(text, {.delimiter = kBlanks, .quotes = false});
  if ((words.size() != 5 && words.size() != 6) || words[3].find(':') == words[3].npos) return date;
  const bool has_zone_before = words[4].find_first_not_of("0123456789") != words[4].npos;
  const std::string& year = words[has_zone_before ? words.size() - 1 : 4];
  date = words[1] + " " + words[2] + " " + year + " " + words[3];
  return words.size() == 5 ? date : date + " " + words[has_zone_before ? 4 : 5];
}

}  // namespace

DateReadings date_readings(std::string_view text) {
  auto parts = take_date(text);
  constexpr std::size_t kShortest = 10, kLongest = 60;
  const bool may_be_other = !parts && text.size() >= kShortest && text.size() <= kLongest &&
                            (text[3] == ' ' || !is_ascii(text[4]) || text.ends_with(']'));
  if (may_be_other) parts = take_date(common_date(text));
  if (!parts) return {};
  if (parts->year_first) {
    const auto days = days_of(*parts, parts->first, parts->second);
    return {days, days, false};
  }
  return {days_of(*parts, parts->second, parts->first), days_of(*parts, parts->first, parts->second),
          parts->mark == '.'};
}

std::optional<double> parse_date(std::string_view text, DateOrder order) {
  const DateReadings found = date_readings(text);
  if (order == DateOrder::day_first) return found.day_first;
  if (order == DateOrder::month_first) return found.month_first;
  if (!found.day_first) return found.month_first;
  const bool is_one = !found.are_different() || found.has_points;
  return is_one ? found.day_first : std::nullopt;
}

namespace {

/// How many hours the unit of a duration is, in English, German, French, Spanish and Italian; 0: it is none.
double hours_of(std::string_view unit) {
  constexpr double kMinute = 1.0 / 60.0, kSecond = kMinute / 60.0;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"|weeks|week|w|", 168},
      {"|days|day|d|tage|tag|jours|jour|j|", 24},
      {"|hours|hour|hrs|hr|h|stunden|stunde|std|heures|heure|horas|ore|", 1},
      {"|min|minutes|minute|mins|minuten|m|minutos|minuti|", kMinute},
      {"|sec|seconds|second|secs|s|sek|sekunden|", kSecond},
      {"|ms|", kSecond / 1e3},
      {"|us|\u00b5s|\u03bcs|", kSecond / 1e6},
      {"|ns|", kSecond / 1e9}};
  const auto* found = std::ranges::find_if(kUnits, [unit](const auto& entry) { return has_word(entry.first, unit); });
  return found == std::end(kUnits) ? 0.0 : found->second;
}

/// The part of a time of day or of a duration behind its first number and a colon; nothing if it is none.
std::optional<TimeText> take_clock(Scanner& scanner, int first) {
  const auto second = scanner.number(2, 2);
  if (!second || *second > 59) return std::nullopt;
  TimeText time{first + *second / 60.0, false};
  if (scanner.take(':')) {
    const auto third = scanner.number(2, 2);
    if (!third || *third > 60) return std::nullopt;
    time = {time.hours + (*third + scanner.fraction()) / 3600.0, true};
  } else if (scanner.next() == '.' || scanner.next() == ',') {
    time = {(time.hours + scanner.fraction() / 60.0) / 60.0, true};
  }
  scanner.skip_blanks();
  if (const auto half = scanner.half_of_day()) {
    if (first < 1 || first > 12) return std::nullopt;
    time = {time.hours + *half - (first == 12 ? 12 : 0), true};
  }
  if (scanner.take("uhr")) time.is_clear = true;
  return scanner.at_end() ? std::optional(time) : std::nullopt;
}

}  // namespace

std::string with_colons(std::string_view text) {
  std::string time(text);
  constexpr std::string_view kForm = "00.00.000";
  const auto fits = [](char c, char form) { return form == '0' ? is_decimal_digit(c) : c == form; };
  if (text.size() + 1 < kForm.size() ||
      !std::equal(text.begin(), text.end(), kForm.begin(), kForm.begin() + text.size(), fits))
    return time;
  time[2] = ':';
  if (text.size() < kForm.size()) time[5] = ':';
  return time;
}

bool is_behind_time(std::string_view word) {
  const std::string lower = lower_case(word);
  return lower == "am" || lower == "pm" || lower == "a.m." || lower == "p.m." || lower == "uhr";
}

bool is_time_with_point(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == 0 || point > 2 || text.size() != point + 3) return false;
  const auto digits = [&text](std::size_t at, std::size_t count) {
    return std::ranges::all_of(text.substr(at, count), is_decimal_digit);
  };
  const bool is_hour = point == 1 || text[0] < '2' || (text[0] == '2' && text[1] < '4');
  return digits(0, point) && digits(point + 1, 2) && is_hour && text[point + 1] < '6';
}

bool is_month_with_point(std::string_view text) {
  return text.size() == 7 && text[2] == '.' && date_readings(text).any();
}

std::optional<TimeText> parse_time(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() > kLongest || text.find_first_of("0123456789") == text.npos) return std::nullopt;
  text = without_blanks(text);
  // 7M is a size, a million or months: minutes are written small, or behind hours.
  const bool has_capital = text.size() > 1 && text.ends_with('M') && !is_letter(text[text.size() - 2]);
  if (has_capital && text.find_first_of("hHpP") == text.npos) return std::nullopt;
  std::string lower = lower_case(text);
  const std::size_t point = std::min(lower.find('.'), lower.size()), behind = std::min(point + 3, lower.size());
  const std::string_view word = without_blanks(std::string_view(lower).substr(behind));
  const bool has_point =
      is_time_with_point(std::string_view(lower).substr(0, behind)) && (word.empty() || is_behind_time(word));
  if (has_point) lower[point] = ':';
  Scanner scanner(lower);
  double sign = scanner.take('-') ? -1.0 : 1.0, last = 0.0;
  const bool is_iso = scanner.take('p');
  bool has_time = !is_iso;  // behind the T
  TimeText time;
  for (int parts = 0; !scanner.at_end(); ++parts) {
    if (is_iso && scanner.take('t')) has_time = true;
    const bool is_plus = scanner.take('+'), is_signed = is_plus || (parts > 0 && scanner.take('-'));
    const auto number = scanner.number(1, 6);
    if (!number) return std::nullopt;
    if (scanner.take(':')) {  // behind days, it has a sign of its own: Python writes -1 day, 23:59:00
      const auto clock = is_iso || (parts > 0 && last != 24.0) ? std::nullopt : take_clock(scanner, *number);
      if (!clock) return std::nullopt;
      return TimeText{time.hours + (parts > 0 ? is_signed && !is_plus ? -1.0 : 1.0 : sign) * clock->hours,
                      parts > 0 || clock->is_clear};
    }
    const double value = *number + scanner.fraction();
    scanner.skip_blanks();
    if (const auto half = parts == 0 && !is_iso ? scanner.half_of_day() : std::nullopt) {  // 8 pm
      if (value < 1 || value > 12 || !scanner.at_end()) return std::nullopt;
      return TimeText{value + *half - (value == 12 ? 12 : 0)};
    }
    const std::string unit = is_iso ? scanner.letter() : scanner.word();
    double hours = hours_of(unit);
    if (unit.empty() && last == 1.0 && scanner.at_end()) hours = 1.0 / 60.0;  // 8h30
    if (hours == 0.0 || (last > 0.0 && hours >= last) || (has_time && is_iso && hours >= 24) ||
        (!has_time && hours < 24)) {
      return std::nullopt;
    }
    time.hours += sign * value * hours;
    last = hours;
    scanner.skip_blanks();
    if (scanner.take(',')) scanner.skip_blanks();
  }
  return last > 0.0 ? std::optional(time) : std::nullopt;
}

std::optional<double> parse_yes_no(std::string_view text) {
  constexpr std::string_view kYes =
      "|yes|true|y|t|ja|oui|wahr|si|s\u00ed|s\u00ec|verdadero|vero|vrai|on|1|1.0|da|tak|verdadeiro|sim|waar|evet|igen|"
      "ano|.t.|.true.|да|kyll\u00e4|是|はい|";
  constexpr std::string_view kNo =
      "|no|false|n|f|nein|non|falsch|falso|faux|off|0|0.0|ne|nie|n\u00e3o|onwaar|hay\u0131r|nem|nej|nee|.f.|.false.|"
      "нет|ei|否|いいえ|";
  constexpr std::size_t kLongest = 10;
  if (text.size() > kLongest) return std::nullopt;
  const std::string word = lower_case(text);
  if (has_word(kYes, word)) return 1.0;
  if (has_word(kNo, word)) return 0.0;
  return std::nullopt;
}

bool stands_for_no_date(std::string_view text) {
  const bool zeros = std::ranges::count(text, '0') >= 8 && text.find_first_not_of("0-./: T") == text.npos;
  if (zeros) return text.find_first_of("-./") != text.npos;
  if (text.find("9999") == text.npos) return false;
  const std::optional<double> days = parse_date(text, DateOrder::day_first);
  const std::optional<double> other = days ? days : parse_date(text, DateOrder::month_first);
  return other && std::floor(*other) == kOpenEnd;
}

}  // namespace kith::data
