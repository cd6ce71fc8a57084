// Where the built programs search for shared libraries: nowhere that depends on the current folder.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"

using namespace kith::testing;

namespace {

const std::filesystem::path kBuild = std::filesystem::path(KITH_BINARY).parent_path();

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The search paths (DT_RPATH and DT_RUNPATH) of a program or shared library of 64 bits; nothing for other files.
std::optional<std::vector<std::string>> search_paths(const std::string& bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr) || !bytes.starts_with(ELFMAG) || bytes[EI_CLASS] != ELFCLASS64) return {};
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return {};
  std::vector<std::string> paths;
  for (std::size_t s = 0; s < header.e_shnum; ++s) {
    const auto section = at<Elf64_Shdr>(bytes, header.e_shoff + s * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNAMIC) continue;
    const auto strings = at<Elf64_Shdr>(bytes, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(bytes, section.sh_offset + i * sizeof(Elf64_Dyn));
      if (entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
      REQUIRE(strings.sh_offset + entry.d_un.d_val < bytes.size());
      paths.emplace_back(bytes.c_str() + strings.sh_offset + entry.d_un.d_val);
    }
  }
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
    const auto paths = search_paths(bytes_of(file->path().string()));
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
