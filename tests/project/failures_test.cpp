// docs/failures.md names tests that exist, and has every case once.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/catch.h"

namespace {

const std::string kSources = KITH_SOURCE_DIR;

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The sources with string literals that continue on the next line joined.
std::string joined(const std::string& source) { return std::regex_replace(source, std::regex(R"("\s*\n\s*")"), ""); }

/// The tests, as "FILE: NAME", that a page names as `folder/topic_test: "name"` and that do not exist.
std::set<std::string> missing_tests(std::string page) {
  page = std::regex_replace(page, std::regex(R"(\\\|)"), "|");
  std::set<std::string> missing;
  const std::regex mention(R"(((?:core|data|kernels|program|project)/\w+_test): "([^"]+)\")");
  for (std::sregex_iterator found(page.begin(), page.end(), mention), end; found != end; ++found) {
    const std::string file = (*found)[1], name = (*found)[2];
    const std::string source = joined(text_of(kSources + "/tests/" + file + ".cpp"));
    if (source.find("TEST_CASE(\"" + name + "\"") == source.npos) missing.insert(file + ": " + name);
  }
  return missing;
}

}  // namespace

TEST_CASE("every test that docs/failures.md names exists, and every case is there once") {
  const std::string page = text_of(kSources + "/docs/failures.md");
  CHECK(missing_tests(page).empty());
  int cases = 0;
  const std::regex row(R"(\n\| (\d+) \| )");
  for (std::sregex_iterator found(page.begin(), page.end(), row), end; found != end; ++found) {
    CHECK(std::stoi((*found)[1]) == ++cases);
  }
  CHECK(cases == 105);
}

TEST_CASE("a named test that does not exist is found") {
  CHECK(missing_tests("| project/failures_test: \"a test that nobody wrote\" |").size() == 1);
  CHECK(missing_tests("| project/failures_test: \"a named test that does not exist is found\" |").empty());
}
