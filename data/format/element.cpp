// Converts the raw bytes of a file with one branch-free loop per pair of types. Values are checked one by one only in
// blocks where that loop detects a NaN, an infinity or an inexact integer.
#include "data/format/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "data/io/input_error.h"

namespace kith::data {
namespace {

struct Fp16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

template <std::size_t size>
using Bits = std::conditional_t<
    size == 1, std::uint8_t,
    std::conditional_t<size == 2, std::uint16_t, std::conditional_t<size == 4, std::uint32_t, std::uint64_t>>>;

std::uint16_t swap_bytes(std::uint16_t v) { return __builtin_bswap16(v); }
std::uint32_t swap_bytes(std::uint32_t v) { return __builtin_bswap32(v); }
std::uint64_t swap_bytes(std::uint64_t v) { return __builtin_bswap64(v); }

/// Element i of the file's bytes, in this machine's order.
template <class In, bool swapped>
In load(const std::byte* raw, std::int64_t i) {
  Bits<sizeof(In)> bits;
  std::memcpy(&bits, raw + i * static_cast<std::int64_t>(sizeof(In)), sizeof(In));
  if constexpr (swapped) bits = swap_bytes(bits);
  return std::bit_cast<In>(bits);
}

/// Exact. Moves the fields of the fp16 to their places in a float32; the exponent is then too small by 127 - 15 = 112,
/// for subnormals as well. Infinity and NaN get their exponent separately.
float widen(Fp16 fp16) {
  const std::uint32_t magnitude = (fp16.bits & 0x7fffu) << 13;
  const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  const std::uint32_t sign = (fp16.bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | special | sign);
}
float widen(Bfloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }
template <class T>
T widen(T value) {
  return value;
}

template <class T>
constexpr bool is_integer = std::is_integral_v<T>;
/// Whether a value of type In may have to be rounded to fit into the significand of Out.
template <class In, class Out>
constexpr bool may_round = is_integer<In> ? std::numeric_limits<In>::digits > std::numeric_limits<Out>::digits
                                          : std::is_same_v<In, double>&& std::is_same_v<Out, float>;

template <class In>
std::uint64_t magnitude(In value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

/// Whether Out holds the value exactly; true for NaN.
template <class In, class Out>
bool holds(In value) {
  if constexpr (is_integer<In>) {
    const std::uint64_t m = magnitude(value);
    return m == 0 || (m >> std::countr_zero(m)) >> std::numeric_limits<Out>::digits == 0;
  } else {
    return static_cast<In>(static_cast<Out>(value)) == value || value != value;
  }
}

/// A word whose top bit is set if the value is NaN or infinite: an exponent of all ones carries into it.
std::uint32_t nonfinite_flag(float v) { return (std::bit_cast<std::uint32_t>(v) & 0x7f800000u) + 0x00800000u; }
std::uint64_t nonfinite_flag(double v) { return (std::bit_cast<std::uint64_t>(v) & (0x7ffull << 52)) + (1ull << 52); }

template <class In>
std::string describe(In value) {
  if constexpr (std::is_same_v<In, Fp16> || std::is_same_v<In, Bfloat16>) {
    return describe(widen(value));
  } else if constexpr (is_integer<In>) {
    return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<In>, std::int64_t, std::uint64_t>>(value));
  } else {
    return std::isnan(value)   ? "NaN"
           : std::isinf(value) ? (value > 0 ? "infinity" : "-infinity")
                               : fmt::format("{}", value);
  }
}

template <class In, bool swapped>
Conversion refuse(const std::byte* raw, std::int64_t i, Missing missing) {
  const In value = load<In, swapped>(raw, i);
  Conversion result;
  result.refused = i;
  result.remedy = "replace the value or remove the row";
  if constexpr (is_integer<In>) {
    result.reason = fmt::format("expected an integer that is exactly a float64, found {}", describe(value));
  } else if (std::isfinite(static_cast<double>(widen(value)))) {
    result.reason = fmt::format("expected a number up to the largest float32, found {}", describe(value));
  } else {
    result.reason = "expected a finite number, found " + describe(value);
    if (missing == Missing::offer) result.remedy += ", or drop all such rows with --nan drop";
  }
  return result;
}

template <class In, bool swapped, class Out>
std::int64_t count_inexact(const std::byte* raw, std::int64_t begin, std::int64_t end) {
  if constexpr (is_integer<In>) {  // small integers, the usual case, need no check of each value
    std::uint64_t all = 0;
    for (std::int64_t i = begin; i < end; ++i) all |= magnitude(load<In, swapped>(raw, i));
    if (all >> std::numeric_limits<Out>::digits == 0) return 0;
  }
  std::int64_t inexact = 0;
  for (std::int64_t i = begin; i < end; ++i) inexact += holds<In, Out>(load<In, swapped>(raw, i)) ? 0 : 1;
  return inexact;
}

/// Values per block; a block is still in the first-level cache when its values are checked again.
constexpr std::int64_t kBlockValues = 2048;

template <class In, bool swapped, class Out>
Conversion convert_as(const std::byte* raw, std::int64_t count, Out* out, Missing missing) {
  constexpr bool exact_only = is_integer<In> && std::is_same_v<Out, double>;
  Conversion result;
  for (std::int64_t begin = 0; begin < count; begin += kBlockValues) {
    const std::int64_t end = std::min(begin + kBlockValues, count);
    if constexpr (may_round<In, Out>) {
      const std::int64_t inexact = count_inexact<In, swapped, Out>(raw, begin, end);
      for (std::int64_t i = begin; exact_only && inexact > 0 && i < end; ++i) {
        if (!holds<In, Out>(load<In, swapped>(raw, i))) return refuse<In, swapped>(raw, i, missing);
      }
      result.changed += inexact;
    }
    // Element i depends only on element i, so `raw` may be `out`; the pragma gives the compiler this guarantee.
    if constexpr (is_integer<In>) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<Out>(load<In, swapped>(raw, i));
    } else {
      // All values are checked before any is overwritten in place, so that the message can show a refused value.
      decltype(nonfinite_flag(Out{})) flags = 0;
      for (std::int64_t i = begin; i < end; ++i)
        flags |= nonfinite_flag(static_cast<Out>(widen(load<In, swapped>(raw, i))));
      if (flags >> (8 * sizeof(flags) - 1) != 0) {
        for (std::int64_t i = begin; i < end; ++i) {
          const auto value = widen(load<In, swapped>(raw, i));
          if (std::isfinite(static_cast<Out>(value))) continue;
          if (missing != Missing::keep || std::isfinite(value)) return refuse<In, swapped>(raw, i, missing);
        }
      }
      if constexpr (!(std::is_same_v<In, Out> && !swapped)) {
#pragma GCC ivdep
        for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<Out>(widen(load<In, swapped>(raw, i)));
      } else if (reinterpret_cast<const std::byte*>(out) != raw) {
        std::memcpy(out + begin, raw + begin * static_cast<std::int64_t>(sizeof(In)),
                    static_cast<std::size_t>(end - begin) * sizeof(In));
      }
    }
  }
  return result;
}

template <class In, class Out>
Conversion convert_from(ElementType type, const std::byte* raw, std::int64_t count, Out* out, Missing missing) {
  return type.swapped && sizeof(In) > 1 ? convert_as<In, (sizeof(In) > 1), Out>(raw, count, out, missing)
                                        : convert_as<In, false, Out>(raw, count, out, missing);
}

template <class Out>
using ConvertFrom = Conversion (*)(ElementType, const std::byte*, std::int64_t, Out*, Missing);

/// The conversions, in the order of Number.
template <class Out>
constexpr ConvertFrom<Out> kConvert[] = {
    convert_from<Fp16>,          convert_from<float>,        convert_from<double>,        convert_from<std::int8_t>,
    convert_from<std::uint8_t>,  convert_from<std::int16_t>, convert_from<std::uint16_t>, convert_from<std::int32_t>,
    convert_from<std::uint32_t>, convert_from<std::int64_t>, convert_from<std::uint64_t>, convert_from<Bfloat16>};

struct NumberProperties {
  const char* name;
  std::int64_t size;
  ValueClass natural_class;
};

/// What each type is called and holds, in the order of Number.
constexpr NumberProperties kProperties[] = {
    {"float16", 2, ValueClass::f32}, {"float32", 4, ValueClass::f32}, {"float64", 8, ValueClass::f64},
    {"int8", 1, ValueClass::f32},    {"uint8", 1, ValueClass::f32},   {"int16", 2, ValueClass::f32},
    {"uint16", 2, ValueClass::f32},  {"int32", 4, ValueClass::f64},   {"uint32", 4, ValueClass::f64},
    {"int64", 8, ValueClass::f64},   {"uint64", 8, ValueClass::f64},  {"bfloat16", 2, ValueClass::f32}};
static_assert(std::size(kProperties) == static_cast<std::size_t>(last_value(Number{})) + 1);

const NumberProperties& properties_of(Number number) { return kProperties[static_cast<std::size_t>(number)]; }

}  // namespace

bool is_number(const std::string& name) {
  return std::ranges::any_of(kProperties, [&name](const NumberProperties& number) { return name == number.name; });
}

const char* name_of(Number number) { return properties_of(number).name; }
std::int64_t size_of(Number number) { return properties_of(number).size; }
ValueClass natural_class_of(Number number) { return properties_of(number).natural_class; }

bool is_float(Number number) { return number <= Number::float64 || number == Number::bfloat16; }

Number with_sign(Number number, bool is_signed) {
  constexpr std::pair<Number, Number> kPairs[] = {{Number::int8, Number::uint8},
                                                  {Number::int16, Number::uint16},
                                                  {Number::int32, Number::uint32},
                                                  {Number::int64, Number::uint64}};
  for (const auto& [with, without] : kPairs) {
    if (number == with || number == without) return is_signed ? with : without;
  }
  return number;
}

Conversion convert(ElementType type, const std::byte* raw, std::int64_t count, float* out, Missing missing) {
  return kConvert<float>[static_cast<std::size_t>(type.number)](type, raw, count, out, missing);
}
Conversion convert(ElementType type, const std::byte* raw, std::int64_t count, double* out, Missing missing) {
  return kConvert<double>[static_cast<std::size_t>(type.number)](type, raw, count, out, missing);
}

bool copy_integers(ElementType type, const std::byte* raw, std::int64_t count, std::int64_t* out) {
  if (type.number != Number::int64 && type.number != Number::uint64) return false;
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = type.swapped ? load<std::int64_t, true>(raw, i) : load<std::int64_t, false>(raw, i);
  return true;
}

std::int64_t require_converted(const Conversion& conversion, const std::string& name, std::int64_t first,
                               std::int64_t columns) {
  const std::int64_t refused = conversion.refused;
  if (refused < 0) return conversion.changed;
  refuse_value(
      fmt::format("{}: row {}, column {} (counted from 1)", name, first + refused / columns + 1, refused % columns + 1),
      fmt::format("{}; {}", conversion.reason, conversion.remedy));
}

template <class T>
void require_finite(MatrixView<T> values, Missing missing, const std::string& name, std::int64_t first,
                    const std::vector<std::int64_t>& in_file) {
  if (missing == Missing::keep) return;
  constexpr ElementType kType{sizeof(T) == sizeof(float) ? Number::float32 : Number::float64, false};
  Conversion checked =
      convert(kType, reinterpret_cast<const std::byte*>(values.data), values.size(), values.data, missing);
  std::int64_t columns = values.columns;
  if (checked.refused >= 0 && !in_file.empty()) {
    const std::int64_t row = checked.refused / columns,
                       j = in_file[static_cast<std::size_t>(checked.refused % columns)];
    columns = std::max(columns, *std::ranges::max_element(in_file) + 1);
    checked.refused = row * columns + j;
  }
  require_converted(checked, name, first, columns);
}
template void require_finite(MatrixView<float>, Missing, const std::string&, std::int64_t,
                             const std::vector<std::int64_t>&);
template void require_finite(MatrixView<double>, Missing, const std::string&, std::int64_t,
                             const std::vector<std::int64_t>&);

namespace {

Conversion refuse(std::int64_t index, const std::string& found, Missing missing) {
  return {.changed = 0,
          .refused = index,
          .reason = fmt::format("expected a value, found {}", found),
          .remedy = fmt::format("replace the value or remove the row{}",
                                missing == Missing::offer ? ", or drop all such rows with --nan drop" : "")};
}

/// An element as text, for messages.
std::string show(ElementType type, const std::byte* raw) {
  double value = 0.0;
  const Conversion shown = convert(type, raw, 1, &value, Missing::keep);
  return shown.refused < 0 ? fmt::format("{}", value) : "a number";
}

}  // namespace

bool ValueMarks::has_limits() const { return !(std::isinf(low) && std::isinf(high)); }

std::string ValueMarks::remark() const {
  if (!is_scaled()) return "";
  const std::string added = offset < 0.0 ? fmt::format(" - {}", -offset) : fmt::format(" + {}", offset);
  return fmt::format("each value is the stored number{}{}, as scale_factor and add_offset say",
                     scale != 1.0 ? fmt::format(" x {}", scale) : "", offset != 0.0 ? added : "");
}

ValueClass class_of(ElementType type, const ValueMarks& marks) {
  const ValueClass natural = natural_class_of(type.number);
  return marks.is_scaled() && !marks.narrow ? ValueClass::f64 : natural;
}

template <class T>
Conversion convert_marked(ElementType type, const ValueMarks& marks, std::byte* raw, std::int64_t count, T* out,
                          Missing missing) {
  const auto size = static_cast<std::size_t>(size_of(type.number));
  std::vector<std::int64_t> absent;  // indices of missing values, ascending
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* element = raw + i * static_cast<std::int64_t>(size);
    for (const auto& [name, bytes] : marks.missing) {
      if (std::memcmp(element, bytes.data(), size) != 0) continue;
      if (missing != Missing::keep) {  // a value before it may be refused for another reason
        Conversion before = convert_marked(type, marks, raw, i, out, missing);
        return before.refused >= 0
                   ? before
                   : refuse(i, fmt::format("{}, which {} marks as missing", show(type, element), name), missing);
      }
      absent.push_back(i);
      std::memset(element, 0, size);
      break;
    }
  }
  Conversion result;
  if (!marks.is_scaled() && !marks.has_limits()) {
    result = convert(type, raw, count, out, missing);
  } else {
    constexpr std::int64_t kBlock = 1024;
    double block[kBlock];
    const bool is_rounded = sizeof(T) == sizeof(float) && class_of(type, marks) == ValueClass::f64;
    for (std::int64_t begin = 0; begin < count && result.refused < 0; begin += kBlock) {
      const std::int64_t here = std::min(kBlock, count - begin);
      Conversion stored = convert(type, raw + begin * static_cast<std::int64_t>(size), here, block, missing);
      if (stored.refused >= 0) {
        stored.refused += begin;
        return stored;
      }
      for (std::int64_t i = 0; i < here; ++i) {
        const double scaled = block[i] * marks.scale + marks.offset, limited = marks.limits_scaled ? scaled : block[i];
        const bool outside = limited < marks.low || limited > marks.high;
        const bool is_absent = std::binary_search(absent.begin(), absent.end(), begin + i);
        if (outside && !is_absent && missing != Missing::keep) {
          return refuse(
              begin + i,
              fmt::format("{}, which is missing: outside the valid range, {} to {}", limited, marks.low, marks.high),
              missing);
        }
        if (std::isfinite(scaled) && !std::isfinite(static_cast<T>(scaled)))
          return {0, begin + i, fmt::format("expected a number up to the largest float32, found {}", scaled),
                  "replace the value or remove the row"};
        if (is_rounded && static_cast<double>(static_cast<T>(scaled)) != scaled) ++result.changed;
        out[begin + i] = outside ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(scaled);
      }
    }
  }
  for (const std::int64_t i : absent) out[i] = std::numeric_limits<T>::quiet_NaN();
  return result;
}

template Conversion convert_marked<float>(ElementType, const ValueMarks&, std::byte*, std::int64_t, float*, Missing);
template Conversion convert_marked<double>(ElementType, const ValueMarks&, std::byte*, std::int64_t, double*, Missing);

}  // namespace kith::data
