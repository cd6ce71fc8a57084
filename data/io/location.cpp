// Splits FILE:DATASET by checking which files exist.
#include "data/io/location.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "data/io/input_error.h"

namespace kith::data {

bool file_exists(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0;
}

FileStamp stamp_of(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    refuse_input(file, fmt::format("cannot be examined: {}; keep the file until kith has ended", std::strerror(errno)));
  }
  return {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino), status.st_size,
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

bool same_place(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code failure;
  if (std::filesystem::equivalent(a, b, failure)) return true;
  const auto folder = [](const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  };
  return a.filename() == b.filename() && std::filesystem::equivalent(folder(a), folder(b), failure);
}

Location parse_location(const std::string& text) {
  if (file_exists(text) || text.find(kBetweenNames) != text.npos) return {text, ""};
  // From the right, so that "a:b.h5:/train" finds "a:b.h5" and "points.h5:/a:b" still finds "points.h5".
  for (auto colon = text.rfind(':'); colon != text.npos && colon > 0; colon = text.rfind(':', colon - 1)) {
    if (file_exists(text.substr(0, colon))) return {text.substr(0, colon), text.substr(colon + 1)};
  }
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace kith::data
