// Writes text files that are not tables: pages and pictures.
#pragma once

#include <string>

#include "data/io/output_file.h"

namespace kith::data {

/// The file appears when it is complete and synced to the disk. Throws Error(output).
void write_text_file(const std::string& path, const OutputOptions& options, const std::string& text);

}  // namespace kith::data
