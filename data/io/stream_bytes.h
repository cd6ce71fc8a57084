// Standard input and gzip files, which can only be read from start to end, in memory or in a scratch file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"

namespace kith::data {

/// All of standard input, inflated if it is gzip. scratch: as for ByteStore. Throws Error(data) if it is not text, and
/// as ByteStore does.
InputBytes read_standard_input(const std::string& scratch = {});

bool is_gzip(const InputBytes& input);

/// The inflated content of all members of a gzip file. Throws Error(data) if the file is damaged or cut off, and as
/// ByteStore does if the content does not fit.
InputBytes inflate_gzip(const InputBytes& input, const std::string& scratch = {});

/// Whether the file is text, plain or compressed with gzip.
bool holds_text(const std::string& file);

}  // namespace kith::data
