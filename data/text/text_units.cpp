// Takes numbers out of texts with units, of which it knows those that have a common one, and with notes.
#include "data/text/text_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "data/io/utf8.h"
#include "data/text/text_values.h"

namespace kith::data {

bool is_currency(std::string_view unit) {
  // The units that stand before a number; other letters there may be a part of a name, K1000.
  constexpr std::string_view kCurrencies[] = {"$",   "\xc2\xa3", "\xc2\xa5", "\xe0\xb8\xbf", "US$", "A$",  "C$",  "R$",
                                              "NZ$", "HK$",      "S$",       "EUR",          "USD", "GBP", "CHF", "JPY",
                                              "CNY", "INR",      "SEK",      "NOK",          "DKK", "PLN", "CZK", "HUF",
                                              "BRL", "AUD",      "CAD",      "NZD",          "MXN", "ZAR", "TRY", "KRW",
                                              "SGD", "Fr.",      "SFr",      "Rs",           "Rs.", "kr",  "RM",  "Rp"};
  const bool is_sign =
      unit.size() == 3 && unit >= "\u20a0" && unit <= "\u20cf";  // the block of such signs, with the euro
  return is_sign || std::find(std::begin(kCurrencies), std::end(kCurrencies), unit) != std::end(kCurrencies);
}

namespace {

constexpr std::string_view kDigits = "0123456789";

/// Units of one kind, with how many of the common one each of them is.
struct UnitKind {
  std::string_view common, factors;
};
constexpr std::string_view kCount = "1";
constexpr UnitKind kKinds[] = {
    {kCount,
     " =1 k=1e3 K=1e3 thousand=1e3 Tsd.=1e3 lakh=1e5 M=1e6 mn=1e6 million=1e6 Mio.=1e6 crore=1e7 B=1e9 bn=1e9 "
     "billion=1e9 Mrd.=1e9 T=1e12 trillion=1e12 千=1e3 万=1e4 萬=1e4 만=1e4 亿=1e8 億=1e8 억=1e8 "},
    {kNorth, " N=1 S=-1 \u00b0N=1 \u00b0S=-1 "},
    {kEast, " E=1 W=-1 \u00b0E=1 \u00b0W=-1 "},
    {"CR", " CR=1 DR=-1 Cr=1 Dr=-1 "},  // credit and debit of accounts
    {"H", " H=1 S=-1 "},                // Haben and Soll
    {"B", " B=1 kB=1e3 KB=1e3 MB=1e6 GB=1e9 TB=1e12 KiB=1024 MiB=1048576 GiB=1073741824 TiB=1099511627776 bytes=1 "},
    {"byte", " =1 K=1024 M=1048576 G=1073741824 T=1099511627776 "},  // with G, no count: du -h
    {"m", " mm=1e-3 cm=1e-2 m=1 km=1e3 "},
    {"g", " \u00b5g=1e-6 \u03bcg=1e-6 mg=1e-3 g=1 kg=1e3 t=1e6 "},
    {"l", " ml=1e-3 mL=1e-3 cl=1e-2 l=1 L=1 "},
    {"Hz", " Hz=1 kHz=1e3 MHz=1e6 GHz=1e9 "},
    {"W", " W=1 kW=1e3 MW=1e6 "}};

/// "$ " of "$ M", and of "$".
std::string currency_in(std::string_view unit) {
  const std::string_view begin = unit.substr(0, unit.find(' '));
  return is_currency(begin) ? std::string(begin) + " " : "";
}

std::string_view behind_currency(std::string_view unit) {
  return unit.substr(std::min(unit.size(), currency_in(unit).size()));
}

}  // namespace

std::optional<double> factor_of(std::string_view unit, std::string_view common) {
  if (unit == common || (!unit.empty() && std::string(unit) == std::string(common) + "s")) return 1.0;
  if (currency_in(unit) != currency_in(common)) return std::nullopt;
  const std::string_view one = behind_currency(unit), base = behind_currency(common);
  const auto* kind = std::ranges::find(kKinds, base, &UnitKind::common);
  const std::string key = fmt::format(" {}=", one);
  const std::size_t at = kind == std::end(kKinds) ? one.npos : kind->factors.find(key);
  if (at == one.npos) return std::nullopt;
  return value_of(kind->factors.substr(at + key.size()));
}

std::string common_unit(const std::set<std::string>& units, bool are_places) {
  if (units.empty()) return "";
  const std::string& first = *units.begin();
  const auto are_all_of = [&units](const std::string& common) {
    return std::ranges::all_of(units,
                               [&common](const std::string& unit) { return factor_of(unit, common).has_value(); });
  };
  for (const std::string_view place : {kNorth, kEast}) {
    if (are_places && are_all_of(std::string(place))) return std::string(place);
  }
  if (units.size() == 1 || (units.size() == 2 && first.size() > 1 && are_all_of(first))) return first;
  for (const UnitKind& kind : kKinds) {
    std::string common = currency_in(first) + std::string(kind.common);
    if (!are_all_of(common)) continue;
    // 12B beside 7K, without an M, are seats or lots.
    std::set<double> factors;
    for (const std::string& unit : units) {
      if (!behind_currency(unit).empty()) factors.insert(*factor_of(unit, common));
    }
    const auto is_far = [](double a, double b) { return b > 1e4 * a; };
    const bool has_gap = std::ranges::adjacent_find(factors, is_far) != factors.end();
    return kind.common == kCount && has_gap ? "" : common;
  }
  return "";
}

std::optional<double> number_in(std::string_view text, std::string_view common, const NumberStyle& style) {
  if (common == kFirstNumber) return first_number(text, style);
  UnitText parts = split_unit(text);
  if (parts.unit.empty()) parts.number = text;
  const std::optional<double> factor = factor_of(parts.unit, common);
  const std::string number = factor ? plain_number(parts.number, style) : "";
  return number.empty() ? std::nullopt : std::optional(value_of(number) * *factor);
}

std::optional<double> first_number(std::string_view text, const NumberStyle& style) {
  constexpr std::string_view kBefore[] = {"~",      "\u2248", "<=",  ">=", "<",      ">",      "\u2264",
                                          "\u2265", "ca.",    "ca ", "c.", "about ", "approx."};
  constexpr std::size_t kLongest = 24;
  text = without_blanks(text);
  for (const std::string_view before : kBefore) {
    if (lower_case(text.substr(0, before.size())) == before) text = without_blanks(text.substr(before.size()));
  }
  const auto take_number = [&]() -> std::optional<double> {
    for (std::size_t end = std::min(text.size(), kLongest); end > 0; --end) {
      if (kDigits.find(text[end - 1]) == kDigits.npos) continue;
      const std::string number = plain_number(text.substr(0, end), style);
      if (number.empty()) continue;
      text.remove_prefix(end);
      return value_of(number);
    }
    return std::nullopt;
  };
  const auto take_quotient = [&]() -> std::optional<double> {  // the 2 of 1/2
    const std::string_view rest = without_blanks(text);
    if (!rest.starts_with('/')) return std::nullopt;
    text = without_blanks(rest.substr(1));
    const auto divisor = take_number();
    return divisor && *divisor > 0 && text.empty() ? divisor : std::nullopt;
  };
  const auto value = take_number();
  if (!value || text.empty()) return value;
  std::string_view rest = without_blanks(text);
  if (rest.starts_with('/')) {
    const bool is_year = *value >= 1900 && *value <= 2100;  // 2023/24
    const auto divisor = is_year ? std::nullopt : take_quotient();
    return divisor ? std::optional(*value / *divisor) : std::nullopt;
  }
  if (rest != text && kDigits.find(rest[0]) != kDigits.npos) {  // 1 1/2
    text = rest;
    const auto more = take_number(), divisor = more ? take_quotient() : std::nullopt;
    return divisor ? std::optional(*value + *more / *divisor) : std::nullopt;
  }
  constexpr std::string_view kPowers[] = {"%",   "\u2030", "x 10", "x10", "\u00d7", "\u00b7",
                                          "*10", "* 10",   "^",    ":",   "="};
  constexpr std::string_view kPlaces[] = {"st", "nd", "rd", "th", "\u00ba", "\u00aa"};
  const bool is_power =
      std::ranges::any_of(kPowers, [rest](std::string_view power) { return rest.starts_with(power); });
  const bool is_total = rest.starts_with("out of ") || rest.starts_with("of ");
  const bool is_beside = rest[0] == '(' || rest[0] == '[' || rest.starts_with("\u00b1");
  if (!is_total && !is_beside && rest.find_first_of(kDigits) != rest.npos) return std::nullopt;  // 5 ft 11 in
  const bool is_note = rest != text || std::string_view("*([+#!?").find(rest[0]) != std::string_view::npos ||
                       !is_ascii(rest[0]) || std::ranges::find(kPlaces, rest) != std::end(kPlaces);
  return is_note && !is_power ? value : std::nullopt;
}

UnitText split_unit(std::string_view text) {
  constexpr std::size_t kLongest = 12;  // bytes of a unit
  text = without_blanks(text);
  std::string sign;
  const auto take_sign = [&](std::string_view& from) {
    constexpr std::string_view kMinus = "\u2212";
    const std::size_t bytes = from.starts_with(kMinus) ? kMinus.size() : 1;
    if (bytes == 1 && !from.starts_with('-') && !from.starts_with('+')) return;
    sign = from.front() == '+' ? "" : "-";
    from = without_blanks(from.substr(bytes));
  };
  bool in_parentheses = text.starts_with('(') && text.ends_with(')');  // ($12.50) of accounts is negative
  if (in_parentheses) text = without_blanks(text.substr(1, text.size() - 2));
  take_sign(text);
  const std::size_t first = text.find_first_of(kDigits);
  if (first == text.npos) {  // "$ -" of accounts is zero
    const std::string_view currency = without_blanks(text.substr(0, text.size() - (text.ends_with('-') ? 1 : 0)));
    return text.ends_with('-') && is_currency(currency) ? UnitText{"0", std::string(currency)} : UnitText{};
  }
  std::size_t last = text.find_last_of(kDigits);
  for (std::size_t end = text.size(); end > last + 2; --end) {  // 10.- CHF
    if (dashes_of_price(text.substr(0, end)) == end - last - 2) last = end - 1;
  }
  std::string_view before = without_blanks(text.substr(0, first));
  if (sign.empty() && (before.ends_with('-') || before.ends_with('+'))) {
    sign = before.back() == '-' ? "-" : "";
    before = without_blanks(before.substr(0, before.size() - 1));
  }
  std::string_view behind = without_blanks(text.substr(last + 1));
  if (before.ends_with('(') && behind.starts_with(')')) {  // $ (12.50)
    in_parentheses = true;
    before = without_blanks(before.substr(0, before.size() - 1));
    behind = without_blanks(behind.substr(1));
  }
  const std::size_t blank = behind.rfind(' ');
  if (before.empty() && blank != behind.npos && is_currency(behind.substr(blank + 1))) {  // 1.2 Mio. EUR
    before = behind.substr(blank + 1);
    behind = without_blanks(behind.substr(0, blank));
  }
  if (!before.empty() && !behind.empty() && is_currency(before) && factor_of(behind, kCount) && !in_parentheses)
    return {sign + std::string(text.substr(first, last + 1 - first)), fmt::format("{} {}", before, behind)};
  if (before.empty() == behind.empty()) return {};
  const std::string_view unit = before.empty() ? behind : before;
  const bool is_unit = before.empty() ? !is_behind_time(unit) && unit.size() <= kLongest &&
                                            unit.find_first_of(" \t,;\"'()=") == unit.npos &&
                                            std::string_view(".:-/+#*&?!<>[]{}|_~").find(unit.front()) == unit.npos
                                      : is_currency(unit);
  if (!is_unit || (in_parentheses && (!sign.empty() || !(is_currency(unit) || unit == "%")))) return {};
  if (in_parentheses) sign = "-";
  return {sign + std::string(text.substr(first, last + 1 - first)), std::string(unit)};
}

}  // namespace kith::data
