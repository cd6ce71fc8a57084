// kith man: pages of all commands from their help.
#include <algorithm>
#include <regex>
#include <sstream>

#include "app/cli/words.h"
#include "tests/support/program.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// Lines whose first word is an option, as the words of a command list them.
Words options_of(const std::string& command) {
  Words options;
  std::istringstream lines(done({"completion", "words", command}).out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--")) options.push_back(line.substr(0, line.find(' ')));
  }
  return options;
}

}  // namespace

TEST_CASE("every command has a manual page with all of its options") {
  CHECK(done({"man"}).out.starts_with(".TH KITH 1 "));
  std::size_t found = 0;
  for (const std::string_view name : app::kCommandNames) {
    const std::string command(name), page = done({"man", command}).out, help = done({command, "--help"}).out;
    INFO(command);
    CHECK(page.find(".SH NAME\nkith\\-" + command + " \\- ") != std::string::npos);
    CHECK(page.find(".SH EXIT STATUS\n") != std::string::npos);
    CHECK(page.find("\n6\nmemory: ") != std::string::npos);
    for (const std::string& option : options_of(command)) {
      std::string escaped;
      for (const char c : option) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      CHECK(page.find(escaped) != std::string::npos);
      CHECK(help.find(option) != std::string::npos);
      ++found;
    }
    // Only requests of the page itself begin with a point.
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(".")) continue;
      const std::string request = line.substr(0, 3);
      CHECK((request == ".TH" || request == ".SH" || request == ".TP" || request == ".nf" || request == ".fi"));
    }
  }
  CHECK(found > 200);
  refuses(2, {"man", "clutser"}, {"unknown command 'clutser'", "cluster"});
}

TEST_CASE("a help speaks only of options and properties that its command has") {
  const std::regex blanks("\\s+"), mention("(\\S+) [^\\w\\s]?(--[a-z][a-z-]+)");
  for (const std::string_view name : app::kCommandNames) {
    const std::string command(name), page = std::regex_replace(done({command, "--help"}).out, blanks, " ");
    const std::size_t usage = page.find("Usage: "), footer = page.find(" Defaults are in brackets.");
    const std::string help = page.substr(usage, footer - usage);
    const Words listed = options_of(command);
    const auto has = [&listed](const std::string& option) { return std::ranges::find(listed, option) != listed.end(); };
    const auto says = [&help](const char* text) { return help.find(text) != help.npos; };
    for (std::sregex_iterator at(help.begin(), help.end(), mention), end; at != end; ++at) {
      if (std::ranges::find(app::kCommandNames, at->str(1)) != std::end(app::kCommandNames)) continue;  // of that one
      INFO(command << " names " << at->str(2));
      CHECK((has(at->str(2)) || at->str(2) == "--help"));
    }
    INFO(command);
    CHECK((footer != page.npos) == has("--config"));
    CHECK(says("is then 124, or 0") == has("--keep-best"));
    CHECK(says("block of queries") == (command == "knn"));
    CHECK((!says("with weights") || has("--weights")));
    const Words unplanned{"info", "generate", "report", "bench", "image"};
    if (std::ranges::find(unplanned, command) != unplanned.end()) CHECK(!says("(kith plan)"));
  }
}
