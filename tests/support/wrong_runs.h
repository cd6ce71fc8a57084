// Tables of runs that must be refused, with their messages. None may change or add files.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <sstream>

#include "tests/support/program.h"

namespace kith::testing {

/// A run that must be refused.
struct Wrong {
  int code;
  const char* command;  // words between blanks; NAME=value before the first is a variable
  /// Parts of the message: file or option | position | expected | found | remedy. Messages about options may lack a
  /// position, what was found, or a remedy.
  const char* said;
};

/// The parts between the bars, trimmed.
inline Words parts_of(const std::string& said) {
  Words parts;
  std::istringstream stream(said + " ");  // the last part may be empty
  for (std::string part; std::getline(stream, part, '|');) {
    const std::size_t first = part.find_first_not_of(' ');
    parts.push_back(first == part.npos ? "" : part.substr(first, part.find_last_not_of(' ') - first + 1));
  }
  return parts;
}

/// Names and bytes of all files in a folder.
inline std::map<std::string, std::string> contents_of(const Scratch& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    contents[entry.path().string()] = entry.is_regular_file() ? bytes_of(entry.path().string()) : "";
  }
  return contents;
}

/// Runs all commands in the folder, with an output file if the command has such an option and does not name one.
inline void refuse_all(const Scratch& folder, std::span<const Wrong> all) {
  const auto before = contents_of(folder);
  for (const Wrong& wrong : all) {
    Setting setting{.folder = folder / ""};
    Words words;
    std::istringstream stream(wrong.command);
    for (std::string word; stream >> word;) {
      const bool is_variable = words.empty() && word.find('=') != word.npos;
      (is_variable ? setting.environment : words).push_back(word);
    }
    const auto has = [&words](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    const bool writes = !has("info") && !has("generate") && !has("devices") && !has("bench");
    if (writes && !has("-o")) words.insert(words.end(), {"-o", "out.h5"});
    const Outcome outcome = run_kith(words, setting);
    INFO("kith " << wrong.command << "\n" << outcome.err);
    CHECK(outcome.code == wrong.code);
    CHECK(outcome.out.empty());
    const Words parts = parts_of(wrong.said);
    REQUIRE(parts.size() == 5);
    for (const std::size_t part : {0, 1, 2, 3, 4}) {
      const bool may_lack = part == 1 || (part > 2 && wrong.code == 2);
      CHECK((may_lack || !parts[part].empty()));
      INFO("expected: " << parts[part]);
      CHECK(outcome.says(parts[part]));
    }
    const std::size_t message = outcome.err.find("kith: ");  // one line, the last but for commands that it proposes
    CHECK(message != std::string::npos);
    for (std::size_t end = outcome.err.find('\n', message); end + 1 < outcome.err.size();) {
      CHECK(outcome.err.compare(end + 1, 7, "  kith ") == 0);
      end = outcome.err.find('\n', end + 1);
    }
    CHECK(contents_of(folder) == before);
  }
}

}  // namespace kith::testing
