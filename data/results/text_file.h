// Writing text that is not a table: pages and pictures.
#pragma once

#include <string>

#include "data/results/result.h"

namespace kith::data {

/// Writes a file that appears when it is whole, synced to the disk. Throws Error(output).
void write_text_file(const std::string& path, const OutputOptions& options, const std::string& text);

}  // namespace kith::data
