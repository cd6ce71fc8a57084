// Numbers as people write and read them: strict parsing with the place in every error, and short forms for output.
#include "app/cli/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "core/error.h"
#include "data/io/numbers.h"
#include "data/io/utf8.h"

namespace kith::app {

void refuse_value(const std::string& where, const std::string& expected, const std::string& found) {
  throw Error(ExitCode::usage, fmt::format("{}: expected {}, found '{}'", where, expected, quoted(found, 80)));
}

namespace {

using UnitName = std::pair<const char*, double>;

/// The number before the unit, and what one of that unit is worth. Nothing for a number with an exponent, and for other
/// units.
std::optional<std::pair<double, double>> number_with_unit(const std::string& text, std::span<const UnitName> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string name = text.substr(std::min(text.find_first_not_of(' ', digits), text.size()));
  const auto unit = std::ranges::find_if(units, [&](const UnitName& known) { return name == known.first; });
  double value = 0.0;
  if (unit == units.end() || !data::read_number(text.substr(0, digits), value)) return std::nullopt;
  return std::pair(value, unit->second);
}

}  // namespace

std::int64_t parse_integer(const std::string& text, const std::string& where, Range range) {
  std::int64_t value = 0;
  if (!data::read_number(text, value) || value < range.lowest || value > range.highest) {
    refuse_value(where, fmt::format("a whole number from {} to {}", range.lowest, range.highest), text);
  }
  return value;
}

std::uint64_t parse_seed(const std::string& text, const std::string& where) {
  std::uint64_t value = 0;
  if (!data::read_number(text, value)) {
    refuse_value(where, fmt::format("a whole number from 0 to {}", std::numeric_limits<std::uint64_t>::max()), text);
  }
  return value;
}

double parse_number(const std::string& text, const std::string& where) {
  double value = 0.0;
  if (!data::read_number(text, value) || !std::isfinite(value))
    refuse_value(where, "a number such as 0.5 or 1e-4", text);
  return value;
}

std::int64_t parse_size(const std::string& text, const std::string& where) {
  const std::string expected =
      "a size such as 4GB, 512MiB or 1000000 (bytes): a number without an exponent in B, kB, MB, GB, TB, KiB, MiB, GiB "
      "or TiB, from 1 byte to below 4194304TiB";
  constexpr UnitName kUnits[] = {{"", 1.0},       {"b", 1.0},      {"k", 1e3},      {"kb", 1e3},    {"m", 1e6},
                                 {"mb", 1e6},     {"g", 1e9},      {"gb", 1e9},     {"t", 1e12},    {"tb", 1e12},
                                 {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40}};
  const auto found = number_with_unit(lower_case(text), kUnits);
  const double bytes = found ? std::floor(found->first * found->second) : 0.0;
  if (bytes < 1.0 || bytes >= 0x1p62) refuse_value(where, expected, text);
  return static_cast<std::int64_t>(bytes);
}

double parse_seconds(const std::string& text, const std::string& where) {
  constexpr UnitName kTimes[] = {{"", 1.0},     {"s", 1.0},    {"ms", 1e-3},  {"m", 60.0},
                                 {"min", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
  const auto found = number_with_unit(text, kTimes);
  if (!found || !(found->first < 1e9)) refuse_value(where, "a time such as 2h, 30min or 45s", text);
  return found->first * found->second;
}

bool parse_switch(const std::string& text, const std::string& where) {
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    if (text == no) return false;
  }
  refuse_value(where, "true or false", text);
}

std::string show_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 1 : 0);
  if (seconds < 100.0) return fmt::format("{:.{}f} s", seconds, seconds < 10.0 ? 2 : 1);
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e12));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string show_shape(std::int64_t rows, std::int64_t columns) { return fmt::format("{} x {}", rows, columns); }

}  // namespace kith::app
