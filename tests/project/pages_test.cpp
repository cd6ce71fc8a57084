// What the pages promise about the tree: files that they name exist, and links between pages lead somewhere.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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

TEST_CASE("all pages name the same worst kinds of data, which are the worst of the tables") {
  const auto joined = [](const std::string& text) { return std::regex_replace(text, std::regex(R"(\s+)"), " "); };
  const std::string measured = text_of(kRoot / "docs/structured-data.md"), one_line = joined(measured);
  const std::regex worst(
      R"(Beside noise, the worst known kinds of data take on the CPU [^;]*; on a GPU [^;]*neighbours\.)");
  const std::vector<std::smatch> sentences = matches(one_line, worst);
  REQUIRE(sentences.size() == 1);
  const std::string sentence = sentences[0].str();
  for (const char* page : {"README.md", "CHANGELOG.md", "docs/performance.md"}) {
    INFO(page);
    CHECK(joined(text_of(kRoot / page)).find(sentence) != std::string::npos);
  }
  std::vector<std::string> stated;
  for (const std::smatch& number : matches(sentence, std::regex(R"(\d+\.\d)"))) stated.push_back(number.str());

  // Rows of the tables: | work | shape | noise | worst kinds with their times | ...; an empty work is that of the row
  // above.
  std::map<std::string, double> most;
  std::istringstream lines(measured.substr(measured.find("## Other types and numbers of columns")));
  std::string machine = "CPU", work;
  const std::regex cells(R"(^\| ?([^|]*?) ?\| ([^|]*) \| ([0-9.]+) \| ([^|]*) \|.*)");
  for (std::string line; std::getline(lines, line) && !line.starts_with("## Beside");) {
    if (line.starts_with("The same on a GPU")) machine = "GPU";
    std::smatch row;
    if (!std::regex_match(line, row, cells)) continue;
    if (row[1].length() > 0) work = row[1].str().find("neighbours") != std::string::npos ? "neighbours" : row[1].str();
    const std::string kinds = row[4].str();
    for (const std::smatch& time : matches(kinds, std::regex(R"(\d+\.\d)"))) {
      double& largest = most[machine + ", " + work];
      largest = std::max(largest, std::stod(time.str()));
    }
  }
  std::vector<std::string> found;
  for (const char* name :
       {"CPU, first iteration", "CPU, later iterations", "CPU, after the last", "CPU, neighbours", "CPU, radius",
        "GPU, first iteration", "GPU, later iterations", "GPU, after the last", "GPU, neighbours"}) {
    std::ostringstream number;
    number.precision(1);
    number << std::fixed << most[name];
    found.push_back(number.str());
  }
  CHECK(found == stated);
}

TEST_CASE("README.md has at most 80 columns") {
  std::istringstream lines(text_of(kRoot / "README.md"));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK((line.size() <= 80 || line.starts_with("![")));
  }
}
