// What a message proposes: options to add or to leave out, and whole commands. Running them shows whether they work.
#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace kith::testing {

/// Options that take no value.
inline bool is_flag(const std::string& option) {
  static const Words flags{"--transpose", "--force", "--append", "--include-self"};
  return std::find(flags.begin(), flags.end(), option) != flags.end();
}

/// Options that belong together, "--na-values - --nan drop".
struct Proposal {
  Words options;
  bool leaves_out = false;  // "leave out --precision f32"
};

/// The words of a text as a shell divides them, without commas and periods behind them.
inline std::vector<std::pair<std::string, bool>> words_of(const std::string& text) {
  std::vector<std::pair<std::string, bool>> words;  // and whether punctuation follows
  static const std::regex word(R"(('[^']*'|"[^"]*"|[^\s'"])+)");
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
    std::string raw = it->str(), plain;
    while (raw.starts_with("(")) raw.erase(0, 1);
    const std::size_t length = raw.find_last_not_of(",;.:)") + 1;
    const bool ends = length < raw.size();
    raw.resize(length);
    for (char quote = 0; const char c : raw) {
      if (quote == 0 ? c == '\'' || c == '"' : c == quote) {
        quote = quote == 0 ? c : 0;
      } else {
        plain += c;
      }
    }
    words.emplace_back(plain, ends);
  }
  return words;
}

/// The commands of a message, each on a line of its own, without their first word.
inline std::vector<Words> commands_of(const std::string& message) {
  std::vector<Words> commands;
  static const std::regex command(R"(\n +kith ([^\n]*))");
  for (std::sregex_iterator it(message.begin(), message.end(), command), end; it != end; ++it) {
    Words& words = commands.emplace_back();
    for (const auto& [word, ends] : words_of((*it)[1])) words.push_back(word);
  }
  return commands;
}

/// The proposals behind the first semicolon or question mark of a message, where its remedies are.
inline std::vector<Proposal> proposals_of(const std::string& message) {
  const std::string text = unwrapped(std::regex_replace(message, std::regex(R"(\n +kith [^\n]*)"), ""));
  std::vector<Proposal> proposals;
  bool continues = false;
  const auto words = words_of(text.substr(std::min({text.find("; "), text.find("? "), text.size()})));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& option = words[i].first;
    if (!option.starts_with("--") || option.size() < 4) {
      continues = false;
      continue;
    }
    const bool has_value = !is_flag(option) && !words[i].second && i + 1 < words.size() &&
                           !words[i + 1].first.starts_with("--") && words[i + 1].first != "or" &&
                           words[i + 1].first.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 0;
    if (!continues) {
      proposals.emplace_back().leaves_out = i > 1 && words[i - 2].first == "leave" && words[i - 1].first == "out";
    }
    Words& options = proposals.back().options;
    options.push_back(option);
    continues = !words[i].second;
    if (!has_value) continue;
    options.push_back(words[++i].first);
    continues = !words[i].second;
  }
  // "name the delimiter with --delimiter" leaves the value to the reader.
  std::erase_if(proposals, [](const Proposal& proposal) {
    return proposal.options.size() == 1 && !is_flag(proposal.options.front());
  });
  return proposals;
}

/// A command line with the options of a proposal in the place of its own.
inline Words with(const Proposal& proposal, Words words) {
  for (const std::string& option : proposal.options) {
    const auto own = std::find(words.begin(), words.end(), option);
    if (!option.starts_with("--") || own == words.end()) continue;
    words.erase(own, own + (is_flag(option) ? 1 : 2));
  }
  if (!proposal.leaves_out) words.insert(words.end(), proposal.options.begin(), proposal.options.end());
  return words;
}

/// Runs a command that must be refused, and then what its message proposes, each of which must succeed. `expected`: how
/// many proposals there are at least.
inline void proposes_what_works(const Words& words, std::size_t expected, const Setting& setting = {}) {
  const Outcome refused = run_kith(words, setting);
  INFO("kith " << nlohmann::json(words).dump() << "\n" << refused.err);
  CHECK((refused.code == 2 || refused.code == 3));
  const std::vector<Proposal> proposals = proposals_of(refused.err);
  CHECK(proposals.size() >= expected);
  for (const Proposal& proposal : proposals) {
    const Words again = with(proposal, words);
    const Outcome outcome = run_kith(again, setting);
    INFO("proposed: " << nlohmann::json(again).dump() << "\n" << outcome.err);
    CHECK(outcome.code == 0);
  }
  for (const Words& command : commands_of(refused.err)) {
    const Outcome outcome = run_kith(command, setting);
    INFO("proposed: " << nlohmann::json(command).dump() << "\n" << outcome.err);
    CHECK(outcome.code == 0);
  }
}

}  // namespace kith::testing
