// Standard input and gzip files, which can only be read from start to end, held in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"

namespace kith::data {

/// All of standard input, inflated if it is gzip. Throws Error(data) if it is not text, and as
/// require_memory() does.
InputBytes read_standard_input();

bool is_gzip(const InputBytes& input);

/// The inflated content of all members of a gzip file. Throws Error(data) if the file is damaged or cut off, and as
/// require_memory() does if the content does not fit.
InputBytes inflate_gzip(const InputBytes& input);

/// Whether the file is text, plain or compressed with gzip.
bool holds_text(const std::string& file);

}  // namespace kith::data
