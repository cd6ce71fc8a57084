// Where the built programs search for shared libraries: nowhere that depends on the current folder.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

const std::filesystem::path kBuild = std::filesystem::path(KITH_BINARY).parent_path();

template <class T>
T at(std::istream& file, std::uint64_t offset) {
  T value{};
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return value;  // zeros where the file is shorter
}

/// The search paths (DT_RPATH and DT_RUNPATH) of a program or shared library of 64 bits; nothing for other files. Only
/// what is needed is read: all that is built has gigabytes.
std::optional<std::vector<std::string>> search_paths(const std::filesystem::path& name) {
  std::ifstream file(name, std::ios::binary);
  const auto header = at<Elf64_Ehdr>(file, 0);
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!is_elf || (header.e_type != ET_EXEC && header.e_type != ET_DYN)) return {};
  std::vector<std::string> paths;
  for (std::size_t s = 0; s < header.e_shnum; ++s) {
    const auto section = at<Elf64_Shdr>(file, header.e_shoff + s * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNAMIC) continue;
    const auto strings = at<Elf64_Shdr>(file, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(file, section.sh_offset + i * sizeof(Elf64_Dyn));
      if (entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
      file.seekg(static_cast<std::streamoff>(strings.sh_offset + entry.d_un.d_val));
      std::getline(file, paths.emplace_back(), '\0');
    }
  }
  REQUIRE(file);
  return paths;
}

/// Whether every element is a folder that does not depend on where the program is started.
bool is_fixed(const std::string& path) {
  if (path.empty() || path.back() == ':') return false;
  std::istringstream elements(path);
  for (std::string element; std::getline(elements, element, ':');) {
    if (!element.starts_with('/') && !element.starts_with("$ORIGIN")) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a search path with an empty or a relative element is noticed") {
  for (const char* path : {"", ":", "/usr/lib:", ":/usr/lib", "/usr/lib::/opt/lib", "lib", "/usr/lib:./lib"}) {
    INFO(path);
    CHECK_FALSE(is_fixed(path));
  }
  for (const char* path : {"/usr/lib", "/usr/lib:/opt/lib", "$ORIGIN/../lib"}) CHECK(is_fixed(path));
}

TEST_CASE("no built program loads libraries from the current folder") {
  std::vector<std::string> seen;
  for (auto file = std::filesystem::recursive_directory_iterator(kBuild); file != end(file); ++file) {
    // What ./dev package-test and the tests of Python have installed is not ours.
    if (file->is_symlink() || file->path() == kBuild / "packages" || file->path() == kBuild / "venv") {
      file.disable_recursion_pending();
    }
    const auto any_x = std::filesystem::perms::owner_exec;
    if (file->is_symlink() || !file->is_regular_file() || (file->status().permissions() & any_x) != any_x) continue;
    const auto paths = search_paths(file->path());
    if (!paths) continue;
    seen.push_back(file->path().filename().string());
    for (const std::string& path : *paths) {
      INFO(file->path() << ": " << path);
      CHECK(is_fixed(path));
    }
  }
  CHECK(std::count(seen.begin(), seen.end(), "kith") > 0);
  CHECK(std::count(seen.begin(), seen.end(), "search_path_test") > 0);
}
