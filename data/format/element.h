// The element types that points may have in a file, and their exact conversion to float32 and float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/points/matrix.h"

namespace kith::data {

enum class Number { float16, float32, float64, int8, uint8, int16, uint16, int32, uint32, int64, uint64, bfloat16 };

/// The type of a number in a file.
struct ElementType {
  Number number = Number::float32;
  bool swapped = false;  // not in the byte order of this machine

  bool operator==(const ElementType&) const = default;
};

// For data/io/packed.h.
constexpr Number last_value(Number) { return Number::bfloat16; }
template <class Archive>
void each_field(Archive& archive, ElementType& type) {
  archive(type.number, type.swapped);
}

const char* name_of(Number number);          // "uint8"
bool is_number(const std::string& name);     // whether it is one of those names
std::int64_t size_of(Number number);         // bytes
ValueClass natural_class_of(Number number);  // f32 when every value is exactly a float32
bool is_float(Number number);
Number with_sign(Number number, bool is_signed);  // of an integer: the one of its size with or without a sign
inline bool is_signed(Number number) { return !is_float(number) && with_sign(number, true) == number; }

/// The type of numbers in memory.
template <class T>
inline constexpr Number kNumberOf = std::is_same_v<T, float>          ? Number::float32
                                    : std::is_same_v<T, double>       ? Number::float64
                                    : std::is_same_v<T, std::uint8_t> ? Number::uint8
                                    : std::is_same_v<T, std::int32_t> ? Number::int32
                                    : std::is_same_v<T, std::int64_t> ? Number::int64
                                                                      : Number::int8;

/// How a reader treats NaN and infinity: refuse them, refuse them and offer --nan drop in the message, or keep them.
enum class Missing { refuse, offer, keep };

/// The outcome of a conversion.
struct Conversion {
  std::int64_t changed = 0;   // number of values that were rounded because the target cannot hold them
  std::int64_t refused = -1;  // index of the first refused value, -1 if none
  std::string reason;         // why it was refused, with the value
  std::string remedy;
};

/// Converts `count` values. Refuses values that overflow, and NaN and infinity unless `missing` keeps them. Conversion
/// to float64 refuses 64-bit integers that are not exact; conversion to float32 rounds and counts. `raw` may be `out`
/// itself if the elements of both have the same size.
Conversion convert(ElementType type, const std::byte* raw, std::int64_t count, float* out,
                   Missing missing = Missing::refuse);
Conversion convert(ElementType type, const std::byte* raw, std::int64_t count, double* out,
                   Missing missing = Missing::refuse);

/// Copies the bits of `count` values of int64 or uint64; returns false for other types. `raw` may be `out` itself.
bool copy_integers(ElementType type, const std::byte* raw, std::int64_t count, std::int64_t* out);

/// Throws Error(data) with the row and column of a refused value. The conversion began with row `first` of `name`, with
/// `columns` values per row. Returns the number of rounded values.
std::int64_t require_converted(const Conversion& conversion, const std::string& name, std::int64_t first,
                               std::int64_t columns);

/// Throws as require_converted() unless all values are finite, or `missing` keeps others. in_file: the columns of the
/// file, from 0; empty: all, in their order.
template <class T>
void require_finite(MatrixView<T> values, Missing missing, const std::string& name, std::int64_t first,
                    const std::vector<std::int64_t>& in_file = {});

// What a container says about its numbers besides their type: which stand for a missing value, and how they are scaled.

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
