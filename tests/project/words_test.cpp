// Sources and documents use the terms of docs/glossary.md, and no private words for them.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

namespace fs = std::filesystem;

/// A private word, where it is not allowed, and the terms to use instead.
struct Term {
  const char* part;     // of every match, in lower case: other lines need no regular expression, which is slow
  const char* pattern;  // ECMAScript, any case
  const char* instead;
  std::vector<std::string> places = {};  // prefixes of paths; empty: everywhere
};

const std::vector<Term> kTerms{
    {"room", R"(\brooms?\b)", "module, CUDA support, workspace, buffer, capacity or memory"},
    {"look", R"(\blooked rows\b|\b(first|second) looks?\b)", "screened rows, screening pass, refinement pass"},
    {"crowded", R"(\bcrowded\b)", "the low-precision screen is ineffective"},
    {"vouch", R"(\bvouch)", "certify"},
    {"widened", R"(\bwidened\b)", "fallback queries"},
    {"half_norm", R"(half_norm)", "half_sq_norm"},
    {"gap", R"(\bgaps?\b)", "bound (of Hamerly)", {"kernels/", "core/kmeans/bounds.h"}},
    {"undecided", R"(\bundecided\b)", "ambiguous"},
    {"gone on ", R"(\bgone on (with|from)\b)", "resumed, continued"},
    {"handed", R"(\bhanded\b)", "passed"},
    {"card", R"(\bcards?\b)", "GPU; device in code"},
    {"stand", R"(\bstands? once\b)", "is defined in one place"},
    {"halves", R"(\bhalves\b)", "fp16 values; lower and upper part", {"kernels/", "bench/"}},
    {"recheck", R"(\brecheck)", "refinement"},
    {"settled", R"(\bsettled\b)", "converged"},
    {"told", R"(\btold\b)", "reported"},
    {"telling", R"(\btelling\b)", "reporting"},
};

const std::vector<std::string> kScanned{
    "app",    "bench",          "core",    "data",     "kernels", "pictures",  "samples",
    "tests",  "docs",           "dev",     "cmake",    ".ci",     "README.md", "CONTRIBUTING.md",
    "extras", "CMakeLists.txt", "library", "examples", "python",  "containers"};
/// Pages about the words themselves, and about the past.
const std::vector<std::string> kExcluded{"tests/project/words_test.cpp", "docs/glossary.md", "docs/history/"};
const std::vector<std::string> kEndings{".h", ".cpp", ".cu", ".cuh", ".inc", ".md", ".txt", ".cmake", ".py", ".sh", ""};

bool begins_with_any(const std::string& path, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    if (path.starts_with(prefix)) return true;
  }
  return false;
}

/// Paths of the files to scan, relative to `root`.
std::vector<std::string> scanned_files(const fs::path& root) {
  std::vector<std::string> files;
  const auto add = [&](const fs::path& file) {
    const std::string path = fs::relative(file, root).generic_string();
    const std::string ending = file.extension().string();
    if (std::find(kEndings.begin(), kEndings.end(), ending) == kEndings.end()) return;
    if (!begins_with_any(path, kExcluded)) files.push_back(path);
  };
  for (const std::string& name : kScanned) {
    const fs::path top = root / name;
    if (fs::is_regular_file(top)) add(top);
    if (!fs::is_directory(top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Pattern {
  const Term& term;
  std::regex regex;
};

std::vector<Pattern> patterns() {
  std::vector<Pattern> all;
  for (const Term& term : kTerms)
    all.push_back({term, std::regex(term.pattern, std::regex::icase | std::regex::optimize)});
  return all;
}

/// "path:line: 'word': say ..." for each private word, at most once per line.
std::vector<std::string> findings(const std::string& path, std::istream& text, const std::vector<Pattern>& all) {
  std::vector<std::string> found;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::string lower = line;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Pattern& pattern : all) {
      if (lower.find(pattern.term.part) == lower.npos) continue;
      if (!pattern.term.places.empty() && !begins_with_any(path, pattern.term.places)) continue;
      std::smatch match;
      if (!std::regex_search(line, match, pattern.regex)) continue;
      found.push_back(path + ":" + std::to_string(number) + ": '" + match.str() + "': say " + pattern.term.instead);
    }
  }
  return found;
}

std::vector<std::string> findings_in(const std::string& path, const std::string& text) {
  std::istringstream stream(text);
  return findings(path, stream, patterns());
}

}  // namespace

TEST_CASE("sources and documents use the terms of the glossary") {
  const fs::path root = KITH_SOURCE_DIR;
  const std::vector<Pattern> all = patterns();
  const std::vector<std::string> files = scanned_files(root);
  REQUIRE(files.size() > 300);
  for (const std::string& file : files) {
    std::ifstream text(root / file);
    for (const std::string& finding : findings(file, text, all)) FAIL_CHECK(finding);
  }
}

TEST_CASE("private words are found with their lines, at word boundaries, in the places of each term") {
  CHECK(findings_in("app/a.h", "int x;\n// The CUDA Room.\n") ==
        std::vector<std::string>{"app/a.h:2: 'Room': say module, CUDA support, workspace, buffer, capacity or memory"});
  CHECK(findings_in("docs/a.md", "A broom, a mushroom, cardinality, discarded rows and half_sq_norm.").empty());
  CHECK(findings_in("kernels/a.h", "the gap of a row").size() == 1);
  CHECK(findings_in("core/scores/internal_scores.h", "the gap statistic").empty());
  CHECK(findings_in("core/a.h", "two graphics cards, rechecked by hand").size() == 2);
}
