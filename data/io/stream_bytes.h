// Bytes that can only be had from beginning to end: standard input and gzip files, read into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"

namespace kith::data {

/// All of standard input, inflated if it is gzip. Throws Error(data) when it is no text, or more than half of the
/// memory of this machine.
InputBytes read_standard_input();

bool is_gzip(const InputBytes& input);

/// What a gzip file inflates to, all members of it. Throws Error(data): damaged, cut off, or more than half of the
/// memory of this machine.
InputBytes inflate_gzip(const InputBytes& input);

/// Is the file text, as it is or behind gzip?
bool holds_text(const std::string& file);

}  // namespace kith::data
