// What a container says about its numbers besides their type: which stand for a missing value, and how they are scaled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "data/format/element.h"

namespace kith::data {

/// A value of x in the file means x * scale + offset, computed in float64, unless it is missing.
struct ValueMarks {
  /// The name of a mark, and the bytes of the element that stands for a missing value, in the order of the file.
  std::vector<std::pair<std::string, std::string>> missing;
  double low = -std::numeric_limits<double>::infinity();  // values outside are missing
  double high = std::numeric_limits<double>::infinity();
  bool limits_scaled = false;  // the limits apply to scaled values
  double scale = 1.0;
  double offset = 0.0;
  bool narrow = false;  // scaled values are float32

  bool has_limits() const;
  bool is_scaled() const { return scale != 1.0 || offset != 0.0; }
  bool any() const { return !missing.empty() || has_limits() || is_scaled(); }
  /// What a reader of the result should know; empty if values are as stored.
  std::string remark() const;
};
template <class Archive>
void each_field(Archive& archive, ValueMarks& marks) {
  archive(marks.missing, marks.low, marks.high, marks.limits_scaled, marks.scale, marks.offset, marks.narrow);
}

/// The class of the values that the marks give.
ValueClass class_of(ElementType type, const ValueMarks& marks);

/// As convert() of elements without marks. Missing values are NaN where `missing` keeps them, else refused. Overwrites
/// `raw`, which must not be `out`.
template <class T>
Conversion convert_marked(ElementType type, const ValueMarks& marks, std::byte* raw, std::int64_t count, T* out,
                          Missing missing);

}  // namespace kith::data
