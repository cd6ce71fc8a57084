// The names of inputs that users write: FILE or FILE:DATASET.
#pragma once

#include <filesystem>
#include <string>

namespace kith::data {

/// "points.h5:/train", split into its parts.
struct Location {
  std::string file;
  std::string dataset;  // empty: the format chooses the dataset
};

bool file_exists(const std::string& file);
/// Whether two names stand for one file, which need not exist yet.
bool same_place(const std::filesystem::path& a, const std::filesystem::path& b);

/// Splits at the last colon that follows the name of an existing file; a file whose name contains the colon wins.
Location parse_location(const std::string& text);

}  // namespace kith::data
