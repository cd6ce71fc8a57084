// Reads the attributes by which NetCDF's conventions mark and scale numbers: _FillValue, missing_value, valid_min,
// valid_max, valid_range, scale_factor, add_offset, _Unsigned; and rhdf5-NA.OK, by which R says that the lowest
// integer is its NA. https://docs.unidata.ucar.edu/nug/current/attribute_conventions.html
#include "data/hdf5/hdf5_inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/numbers.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

/// The numbers of an attribute: as float64, and as integers if they are.
struct Numbers {
  std::vector<double> values;
  std::vector<std::int64_t> wholes = {};  // bits; empty for floats
  bool is_float = false;
  std::size_t bytes = 0;  // of one
};

/// Nothing: no such attribute. Sets `problem` for one that is not a few numbers.
std::optional<Numbers> numbers_of(hid_t dataset, const char* name, std::string& problem) {
  if (!has_attribute(dataset, name)) return std::nullopt;
  constexpr hssize_t kMost = 1024;
  const StoredAttribute attribute(dataset, name);
  const auto fail = [&](const std::string& found) {
    if (problem.empty())
      problem = fmt::format(
          "expected a number in its attribute {}, found {}; write the file again, or delete the "
          "attribute",
          name, found);
    return std::nullopt;
  };
  Numbers numbers;
  numbers.bytes = H5Tget_size(attribute.type.get());
  if (attribute.kind == H5T_STRING) {
    const std::string text = text_attribute(dataset, name);
    double value = 0.0;
    if (!read_number(text, value)) return fail(fmt::format("'{}'", quoted(text, 20)));
    numbers.values = {value};
    numbers.is_float = true;
    numbers.bytes = sizeof value;
    return numbers;
  }
  if (!attribute.is_number() || attribute.count < 1 || attribute.count > kMost) return fail("something else");
  numbers.is_float = attribute.kind == H5T_FLOAT;
  numbers.values.resize(static_cast<std::size_t>(attribute.count));
  bool read = attribute.read(H5T_NATIVE_DOUBLE, numbers.values.data());
  if (!numbers.is_float) {
    numbers.wholes.resize(numbers.values.size());
    const bool is_signed = H5Tget_sign(attribute.type.get()) == H5T_SGN_2;
    read = read && attribute.read(is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, numbers.wholes.data());
  }
  return read ? std::optional(std::move(numbers)) : fail("damaged data");
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Number i as an element of the dataset, in the byte order of this machine; empty if no element is that number.
/// either_sign: the bits of an integer may be meant with or without a sign.
std::string element_of(const Numbers& numbers, std::size_t i, Number type, bool either_sign) {
  const double value = numbers.values[i];
  if (std::isnan(value)) return "";  // such values are missing anyway
  if (type == Number::float64) return bytes_of(value);
  if (type == Number::float32) return bytes_of(static_cast<float>(value));
  const std::int64_t bits = 8 * size_of(type);
  if (is_float(type)) return "";
  const double low = either_sign || is_signed(type) ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0.0;
  const double high = std::ldexp(1.0, static_cast<int>(bits) - (is_signed(type) && !either_sign ? 1 : 0));
  if (value != std::rint(value) || value < low || value > high) return "";
  if (value == high && (numbers.is_float || bits < 64)) return "";  // 2^64 - 1 as float64 is 2^64
  const std::int64_t whole = !numbers.is_float ? numbers.wholes[i]
                             : value >= 0x1p63 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value))
                                               : static_cast<std::int64_t>(value);
  return bytes_of(whole).substr(0, static_cast<std::size_t>(size_of(type)));  // machines of kith are little-endian
}

void add_missing(ValueMarks& marks, const std::string& name, std::string element, ElementType type) {
  if (element.empty()) return;
  if (type.swapped) std::reverse(element.begin(), element.end());
  marks.missing.emplace_back(name, std::move(element));
}

void add_missing(ValueMarks& marks, const char* name, const Numbers& numbers, ElementType type, bool either_sign) {
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    add_missing(marks, name, element_of(numbers, i, type.number, either_sign), type);
    if (!is_float(type.number) || numbers.values[i] != 0.0) continue;
    Numbers zero = numbers;  // -0 equals 0
    zero.values[i] = std::signbit(numbers.values[i]) ? 0.0 : -0.0;
    add_missing(marks, name, element_of(zero, i, type.number, either_sign), type);
  }
}

void read_limits(hid_t dataset, ElementType type, const Numbers* scale, const Numbers* offset, bool either_sign,
                 ValueMarks& marks, std::string& problem) {
  const auto range = numbers_of(dataset, "valid_range", problem);
  const auto low = numbers_of(dataset, "valid_min", problem), high = numbers_of(dataset, "valid_max", problem);
  const Numbers* given = range ? &*range : low ? &*low : high ? &*high : nullptr;
  if (given == nullptr) return;
  // Limits of the type of the scaled values apply to these if that type is wider than the stored one.
  const std::size_t scaled_bytes = std::max(scale != nullptr ? scale->bytes : 0, offset != nullptr ? offset->bytes : 0);
  const bool is_wider = !is_float(type.number) || scaled_bytes > static_cast<std::size_t>(size_of(type.number));
  marks.limits_scaled = marks.is_scaled() && given->is_float && given->bytes == scaled_bytes && is_wider;
  const auto limit = [&](double value) {  // of an unsigned integer, written with the stored sign
    const bool is_wrapped = either_sign && !is_signed(type.number) && !marks.limits_scaled && value < 0.0;
    return is_wrapped ? value + std::ldexp(1.0, static_cast<int>(8 * size_of(type.number))) : value;
  };
  if (range && range->values.size() == 2) {
    marks.low = limit(range->values[0]);
    marks.high = limit(range->values[1]);
  } else {
    if (low) marks.low = limit(low->values[0]);
    if (high) marks.high = limit(high->values[0]);
  }
  if (std::isnan(marks.low)) marks.low = -std::numeric_limits<double>::infinity();
  if (std::isnan(marks.high)) marks.high = std::numeric_limits<double>::infinity();
  if ((range && range->values.size() != 2) || marks.low > marks.high) {
    problem = fmt::format(
        "expected a valid range of two ascending numbers in its attributes, found {} to {}; correct "
        "valid_range, or valid_min and valid_max",
        marks.low, marks.high);
  }
}

/// The value that NetCDF writes where nobody wrote one; nothing for bytes, all of whose values are used.
std::optional<Numbers> default_fill_of(Number number) {
  constexpr std::pair<Number, std::int64_t> kWhole[] = {{Number::int16, -32767},
                                                        {Number::uint16, 65535},
                                                        {Number::int32, -2147483647},
                                                        {Number::uint32, 4294967295},
                                                        {Number::int64, -9223372036854775806}};
  for (const auto& [type, value] : kWhole) {
    if (type == number) return Numbers{{static_cast<double>(value)}, {value}, false, sizeof value};
  }
  const bool is_wide = number == Number::float32 || number == Number::float64;
  return is_wide ? std::optional(Numbers{{0x1.ep+122}, {}, true, sizeof(double)}) : std::nullopt;
}

/// Whether the library of NetCDF made the file. Others write its attributes of dimensions, but not its fill values.
bool is_netcdf(hid_t dataset) {
  const Handle root(H5Oopen(dataset, "/", H5P_DEFAULT));
  return root && (has_attribute(root.get(), "_NCProperties") || has_attribute(root.get(), "_nc3_strict") ||
                  has_attribute(dataset, "DIMENSION_LIST") || has_attribute(dataset, "_Netcdf4Dimid"));
}

/// The default fill value is missing where the dataset has it as its own: as netCDF4-python masks it, unless the file
/// was written without filling.
void add_default_fill(hid_t dataset, ElementType type, ValueMarks& marks) {
  const auto fill = default_fill_of(type.number);
  if (!fill || !is_netcdf(dataset)) return;
  const Handle creation(H5Dget_create_plist(dataset));
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  double value = 0.0;
  if (H5Pfill_value_defined(creation.get(), &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED ||
      H5Pget_fill_value(creation.get(), H5T_NATIVE_DOUBLE, &value) < 0 || value != fill->values[0])
    return;
  add_missing(marks, "NetCDF's default fill value", *fill, type, false);
}

}  // namespace

ValueMarks marks_of(hid_t dataset, ElementType& type, std::string& problem) {
  ValueMarks marks;
  const bool either_sign = !is_float(type.number) && has_attribute(dataset, "_Unsigned");
  if (either_sign) type.number = with_sign(type.number, lower_case(text_attribute(dataset, "_Unsigned")) != "true");
  std::string ignored;  // a text that is no number marks no number
  for (const char* name : {"_FillValue", "missing_value"}) {
    if (const auto numbers = numbers_of(dataset, name, ignored)) add_missing(marks, name, *numbers, type, either_sign);
  }
  if (!has_attribute(dataset, "_FillValue")) add_default_fill(dataset, type, marks);
  const Handle stored(H5Dget_type(dataset));
  if (H5Tget_class(stored.get()) == H5T_ENUM && H5Tget_nmembers(stored.get()) == 3)
    add_missing(marks, "R (NA)", bytes_of(kNoneOfBooleans), type);
  if (has_attribute(dataset, "rhdf5-NA.OK")) {
    if (type.number == Number::int8 && text_attribute(dataset, "storage.mode") == "logical")
      add_missing(marks, "R (NA)", bytes_of(std::numeric_limits<std::int8_t>::min()), type);
    if (type.number == Number::int32)
      add_missing(marks, "R (NA)", bytes_of(std::numeric_limits<std::int32_t>::min()), type);
    if (type.number == Number::int64)
      add_missing(marks, "R (NA)", bytes_of(std::numeric_limits<std::int64_t>::min()), type);
  }
  const auto scale = numbers_of(dataset, "scale_factor", problem), offset = numbers_of(dataset, "add_offset", problem);
  for (const auto* numbers : {&scale, &offset}) {
    if (!*numbers || ((*numbers)->values.size() == 1 && std::isfinite((*numbers)->values[0]))) continue;
    problem = "expected one finite number in its attributes scale_factor and add_offset, found others; correct them";
  }
  if (!problem.empty()) return marks;
  if (scale) marks.scale = scale->values[0];
  if (offset) marks.offset = offset->values[0];
  const auto is_narrow = [](const auto& numbers) { return !numbers || (numbers->is_float && numbers->bytes <= 4); };
  marks.narrow = is_narrow(scale) && is_narrow(offset);
  read_limits(dataset, type, scale ? &*scale : nullptr, offset ? &*offset : nullptr, either_sign, marks, problem);
  return marks;
}

}  // namespace kith::data
