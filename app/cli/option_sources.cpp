// Values of options from the command line and the environment.
//
// CLI11 splits the command line into words and finds the option of each. Its own environment variables, needs() and
// excludes() are not used: they do not know the nearest name, and check before values of the environment are known.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "app/cli/common_options.h"
#include "app/cli/option_state.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "data/io/file_kind.h"
#include "data/io/location.h"
#include "data/io/nearest_name.h"

namespace kith::app {

std::string short_name_of(const std::string& names) { return names.find(',') == names.npos ? "" : names.substr(0, 2); }

std::string variable_of(const std::string& long_name) {
  std::string name = "KITH_" + long_name.substr(2);
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

bool OptionSet::parse(const std::vector<std::string>& arguments) {
  flag({.names = "-h,--help", .help = "Print this help.", .section = Section::messages}, state_->help);
  if (!state_->parse_flags(arguments)) {
    const auto asks = [](const std::string& word) { return asked_help(word).has_value(); };
    const auto word = std::find_if(arguments.begin(), arguments.end(), asks);
    print_out(state_->help_text(word == arguments.end() ? HelpForm::text : *asked_help(*word)));
    return false;
  }
  state_->read_environment();
  state_->check();
  return true;
}

bool OptionSet::State::parse_flags(const std::vector<std::string>& arguments) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    for (std::size_t i = 0; i < reversed.size(); ++i) {  // CLI11 takes the name of a file [x] for a list
      const bool is_value = i + 1 < reversed.size() && reversed[i + 1].starts_with('-');
      if (!is_value && reversed[i].starts_with('[') && reversed[i].ends_with(']')) reversed[i].insert(0, "./");
    }
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& problem) {
    const std::string what = problem.what();  // "--clusters: 1 required TEXT missing"
    const auto named = [&](const OptionEntry& entry) { return entry.is_named(what.substr(0, what.find(':'))); };
    const auto entry = std::find_if(entries.begin(), entries.end(), named);
    const std::string name = entry == entries.end() ? what.substr(0, what.find(':')) : entry->shown_name();
    refuse_usage(fmt::format("{}: expected one value; {}", name, hint()));
  } catch (const CLI::ParseError& problem) {
    refuse_usage(fmt::format("{}; {}", problem.what(), hint()));
  }
  for (OptionEntry& entry : entries) {
    if (entry.handle->count() > 0 && entry.long_name == "--help") return false;
  }
  const auto is_option = [this](const std::string& word) {
    return std::any_of(entries.begin(), entries.end(), [&word](const OptionEntry& entry) {
      return !entry.positional && !word.empty() &&
             (word == entry.long_name || word == short_name_of(entry.option.names));
    });
  };
  for (const OptionEntry& entry : entries) {  // CLI11 takes the next option for the value that is missing
    if (entry.positional || !is_option(entry.word)) continue;
    refuse_usage(
        fmt::format("{}: expected one value, found the option {}; {}", entry.shown_name(), entry.word, hint()));
  }
  refuse_rest(app.remaining(), arguments);
  for (const OptionEntry& entry : entries) {  // a word that is left over, and no further file, is a slip
    if (!entry.is_set || entry.words.size() < 2) continue;
    for (const std::string& word : entry.words) {
      const bool looks_like_file = word.find_first_of("./*?[@") != word.npos || word == "-";
      const bool is_file = looks_like_file || data::file_exists(data::parse_location(word).file);
      if (!is_file) refuse_rest({"--", word}, arguments);
    }
  }
  for (OptionEntry& entry : entries) {
    if (entry.handle->count() == 0) continue;
    entry.source = Source::command_line;
    if (entry.flag) {
      entry.set(entry.handle->results().empty() ? "true" : entry.handle->results().back(), entry.shown_name());
    } else if (!entry.words.empty()) {
      for (const std::string& value : entry.words) entry.set(value, entry.shown_name());
    } else {
      entry.set(entry.word, entry.shown_name());
    }
  }
  return true;
}

/// For -K and --k the option of that letter, if there is one; empty: there is none that is similar.
std::string OptionSet::State::nearest_option(const std::string& name) const {
  const bool one_dash = name[1] != '-';
  if (one_dash || name.size() == 3) {
    const int letter = std::tolower(static_cast<unsigned char>(name[one_dash ? 1 : 2]));
    for (const OptionEntry& entry : entries) {
      const char* names = entry.option.names;
      if (names[0] == '-' && names[1] != '-' && names[1] == letter) return {'-', names[1]};
    }
  }
  return known_name(name, names());
}

/// What CLI11 made of the word before an unexpected argument if that is a short option with its value attached, such as
/// -kk in `-kk 2`; else empty.
std::string OptionSet::State::attached_value(const std::vector<std::string>& arguments, const std::string& word) const {
  const auto at = std::find(arguments.begin(), arguments.end(), word);
  if (at == arguments.begin() || at == arguments.end()) return "";
  const std::string& before = at[-1];
  const bool attached = before.size() > 2 && before[0] == '-' && before[1] != '-';
  const auto takes_value = [&](const OptionEntry& entry) {
    return !entry.flag && short_name_of(entry.option.names) == before.substr(0, 2);
  };
  if (!attached || std::none_of(entries.begin(), entries.end(), takes_value)) return "";
  return fmt::format(" after {}, which is {} with the value '{}'; did you mean {} {}?", before, before.substr(0, 2),
                     before.substr(2), before.substr(0, 2), word);
}

void OptionSet::State::refuse_rest(const std::vector<std::string>& rest,
                                   const std::vector<std::string>& arguments) const {
  const auto end = std::find(rest.begin(), rest.end(), "--");  // CLI11 keeps it; no option comes after it
  for (auto word = rest.begin(); word != end; ++word) {
    if (word->size() < 2 || word->front() != '-') continue;
    const std::string name = word->substr(0, word->find('='));
    const bool is_output = name == "-o" || name == "--output";
    const auto names_output = [](const OptionEntry& entry) { return entry.positional && entry.long_name == "OUT"; };
    if (is_output && std::ranges::any_of(entries, names_output)) {
      refuse_usage(fmt::format("unknown option {}; the output, OUT, is named without an option; usage: kith {} {}",
                               name, head.command, head.usage));
    }
    const std::string nearest = nearest_option(name);
    refuse_usage(
        fmt::format("unknown option {}{}; {}", name, nearest.empty() ? "" : "; the nearest is " + nearest, hint()));
  }
  for (auto word = rest.begin(); word != rest.end(); ++word) {
    if (word == end) continue;
    const std::string reason = attached_value(arguments, *word);
    refuse_usage(fmt::format("unexpected argument '{}'{} usage: kith {} {}", *word, reason.empty() ? ";" : reason,
                             head.command, head.usage));
  }
}

void OptionSet::State::read_environment() {
  for (OptionEntry& entry : entries) {
    if (entry.positional || entry.source != Source::none || entry.long_name == "--help") continue;
    const std::string variable = variable_of(entry.long_name);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    entry.set(value, variable);
    entry.source = Source::environment;
  }
  warn_of_variables();
}

/// Names the variables that are nearly an option's; others may be meant for other commands.
void OptionSet::State::warn_of_variables() const {
  std::vector<std::string> known;
  for (const std::string& name : names()) known.push_back(variable_of(name));
  const std::vector<std::string> common = common_option_names();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable, name = text.substr(0, text.find('='));
    if (!name.starts_with("KITH_") || name == "KITH_CPU" || name == "KITH_HDF5") continue;
    const auto is_name = [&](const std::string& option) { return variable_of(option) == name; };
    if (std::any_of(common.begin(), common.end(), is_name)) continue;
    const std::string nearest = nearest_name(name, known);
    if (nearest == name || !is_misspelt(name, nearest)) continue;
    Terminal::instance().warn(fmt::format("the variable {} has no effect; the nearest is {}", name, nearest));
  }
}

}  // namespace kith::app
