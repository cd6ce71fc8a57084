// The header of a NumPy array: type, shape, order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/element.h"

namespace kith::data {

struct NumpyHeader {
  std::vector<std::int64_t> shape;
  std::string type;                    // "float32", or what it is instead of a number
  std::optional<ElementType> element;  // if it is one of the numbers that kith reads
  std::string obstacle;                // why not, with a remedy
  bool fortran_order = false;
  std::int64_t bytes = 0;  // of the header, up to the values
};

constexpr std::int64_t kLongestNumpyHeader = std::int64_t{1} << 20;

/// `begin`: the file's first bytes, as many as there are up to kLongestNumpyHeader; `name` is for messages. Versions 1
/// to
/// 3. Throws Error(data) when it is damaged.
NumpyHeader read_numpy_header(std::string_view begin, const std::string& name);

/// Why points cannot be read from such an array of which `stored` bytes of values are there, or empty.
std::string refusal(const NumpyHeader& header, std::int64_t stored, bool vector_as_column);

}  // namespace kith::data
