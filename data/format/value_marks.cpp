// Applies the marks of a container to the values of a block.
#include "data/format/value_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kith::data {
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
