// The names of inputs that users write: FILE or FILE:DATASET.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kith::data {

/// Stands between the names of several files in one string (data/file_set.h). Names may hold line ends.
inline constexpr char kBetweenNames = '\x1f';

/// "points.h5:/train", split into its parts.
struct Location {
  std::string file;
  std::string dataset;  // empty: the format chooses the dataset
};

/// What shows that a file is another one, or has other content.
struct FileStamp {
  std::int64_t device = 0, inode = 0, size = 0, modified_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
/// Throws Error(data) if the file is gone.
FileStamp stamp_of(const std::string& file);

bool file_exists(const std::string& file);
/// Whether two names stand for one file, which need not exist yet.
bool same_place(const std::filesystem::path& a, const std::filesystem::path& b);

/// Splits at the last colon that follows the name of an existing file; a file whose name contains the colon wins. The
/// name of a set (data/file_set.h) that has several lines has no dataset.
Location parse_location(const std::string& text);

}  // namespace kith::data
