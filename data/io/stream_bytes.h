// Standard input and gzip files, which can only be read from start to end, held in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"

namespace kith::data {

/// All of standard input, inflated if it is gzip. Throws Error(data) if it is not text or exceeds half of the memory.
InputBytes read_standard_input();

bool is_gzip(const InputBytes& input);

/// The inflated content of all members of a gzip file. Throws Error(data) if the file is damaged or cut off, or if the
/// content exceeds half of this machine's memory.
InputBytes inflate_gzip(const InputBytes& input);

/// Whether the file is text, plain or compressed with gzip.
bool holds_text(const std::string& file);

}  // namespace kith::data
