// Writing a text file that appears under its name only when it is whole.
#pragma once

#include <string>
#include <string_view>

#include "data/result.h"

namespace kith::data {

/// Throws Error(output) when it cannot be written; nothing is left behind then.
void write_text(const std::string& path, const OutputOptions& options, std::string_view text);

}  // namespace kith::data
