// The element types that points may have in a file, and their exact conversion to float32 and float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/matrix.h"

namespace kith::data {

enum class Number { float16, float32, float64, int8, uint8, int16, uint16, int32, uint32, int64, uint64 };

/// A number as it lies in a file.
struct ElementType {
  Number number = Number::float32;
  bool swapped = false;  // bytes in the order that is not this machine's

  bool operator==(const ElementType&) const = default;
};

const char* name_of(Number number);          // "uint8"
bool is_number(const std::string& name);     // is it one of those names?
std::int64_t size_of(Number number);         // bytes
ValueClass natural_class_of(Number number);  // f32 when every value is exactly a float32

/// What becomes of NaN and infinity: refused, refused with --nan drop as a remedy, or kept.
enum class Missing { refuse, offer, keep };

/// What became of a run of values.
struct Conversion {
  std::int64_t changed = 0;   // values that the target cannot hold exactly and that were rounded
  std::int64_t refused = -1;  // index of the first value that is refused, -1 if none
  std::string reason;         // why, and the value
  std::string remedy;
};

/// Converts `count` values. NaN and infinity are refused unless they are to be kept, and values that overflow. float64
/// takes 64-bit integers only if exact; float32 rounds and counts. `raw` may be `out` itself when both have elements of
/// one size.
Conversion convert(ElementType type, const std::byte* raw, std::int64_t count, float* out,
                   Missing missing = Missing::refuse);
Conversion convert(ElementType type, const std::byte* raw, std::int64_t count, double* out,
                   Missing missing = Missing::refuse);

/// Throws Error(data) with the place of a refused value: rows of `columns` values were converted, the first of them row
/// `first` of `name`. Returns how many values changed.
std::int64_t require_converted(const Conversion& done, const std::string& name, std::int64_t first,
                               std::int64_t columns);

}  // namespace kith::data
