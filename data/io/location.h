// The names of inputs that users write: FILE or FILE:DATASET.
#pragma once

#include <string>

namespace kith::data {

/// "points.h5:/train", split into its parts.
struct Location {
  std::string file;
  std::string dataset;  // empty: the format chooses the dataset
};

bool file_exists(const std::string& file);

/// Splits at the last colon that follows the name of an existing file; a file whose name contains the colon wins.
Location parse_location(const std::string& text);

}  // namespace kith::data
