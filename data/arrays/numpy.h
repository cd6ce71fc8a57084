// The parts of NumPy arrays and archives: headers, texts, and the arrays of sparse matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/element.h"
#include "data/format/point_source.h"
#include "data/format/records.h"

namespace kith::data {

struct NumpyHeader {
  std::vector<std::int64_t> shape;
  std::string type;                    // "float32", or a description of a type that is not a number
  std::optional<ElementType> element;  // if kith can read the type
  Records records;                     // of a structured array
  std::string obstacle;                // else why not, with a remedy
  std::int64_t text_bytes = 0;         // of a text, in an array of texts; 0: it is none
  bool wide = false,
       swapped = false;  // texts of 4 bytes for each character, which are not in the order of this machine
  bool fortran_order = false;
  std::int64_t bytes = 0;  // size of the header; the values follow
};

constexpr std::int64_t kMaxNumpyHeaderBytes = std::int64_t{1} << 20;

/// Reads versions 1 to 3. `begin` holds the first bytes of the file, kMaxNumpyHeaderBytes or all of them; `name` is for
/// messages. Throws Error(data) if the header is damaged.
NumpyHeader read_numpy_header(std::string_view begin, const std::string& name);

/// What shows that an array with this header and `stored` bytes of values is damaged; empty if nothing does.
std::string damage(const NumpyHeader& header, std::int64_t stored);

/// Why an array with this header and `stored` bytes of values cannot be read as points; empty if it can.
std::string refusal(const NumpyHeader& header, std::int64_t stored, bool vector_as_column);

/// The words of a vector of texts; nothing if FILE or FILE:NAME holds anything else.
std::optional<std::vector<std::string>> read_numpy_texts(const Location& location);

}  // namespace kith::data
