// What the pages promise about the tree: files that they name exist, and links between pages lead somewhere.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = KITH_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Paths of all sources, relative to the root.
std::set<std::string> source_files() {
  std::set<std::string> found;
  for (const char* folder : {"app", "bench", "core", "data", "examples", "extras", "kernels", "library", "pictures",
                             "python", "samples", "tests"}) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file()) found.insert(fs::relative(entry.path(), kRoot).generic_string());
    }
  }
  return found;
}

/// The pages about the tree as it is. docs/history tells of the past.
std::vector<fs::path> pages() {
  std::vector<fs::path> found{kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "SECURITY.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), {}};
}

/// The heading of a page as links name it: lower case, with hyphens for blanks, without other signs.
std::set<std::string> anchors(const std::string& page) {
  std::set<std::string> found;
  static const std::regex kHeading(R"((^|\n)#+ ([^\n]+))"), kNamed(R"#(<a id="([^"]+)">)#");
  for (const std::smatch& match : matches(page, kHeading)) {
    std::string anchor;
    for (const char c : match[2].str()) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    found.insert(anchor);
  }
  for (const std::smatch& match : matches(page, kNamed)) found.insert(match[1].str());
  return found;
}

}  // namespace

TEST_CASE("every source file that a page names exists") {
  const std::set<std::string> files = source_files();
  const std::regex named(R"((^|[\s`(,;:])((?:[a-z0-9_]+/)*[a-z0-9_]+\.(?:h|cpp|cu|cuh))(?![a-z0-9]))");
  int count = 0;
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (const std::smatch& match : matches(text, named)) {
      const std::string name = match[2].str();
      const bool exists = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
        return file == name || file.ends_with("/" + name);
      });
      INFO(page.filename() << " names " << name);
      CHECK((exists || name.starts_with("kith/")));  // kith/: as the C++ interface is installed
      ++count;
    }
  }
  CHECK(count > 50);  // the pattern still finds names
}

TEST_CASE("every link between pages leads to a page and a heading") {
  const std::regex link(R"(\]\(([^)\s#]*)(#[^)\s]+)?\))");
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (const std::smatch& match : matches(text, link)) {
      const std::string target = match[1].str(), anchor = match[2].str();
      if (target.find(':') != std::string::npos) continue;  // the web
      const fs::path path = target.empty() ? page : page.parent_path() / target;
      INFO(page.filename() << " links to " << target << anchor);
      CHECK(fs::exists(path));
      if (!anchor.empty() && path.extension() == ".md") CHECK(anchors(text_of(path)).contains(anchor.substr(1)));
    }
  }
}
