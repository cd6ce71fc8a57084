// Values of options from the command line, the environment and the configuration file.
//
// CLI11 splits the command line into words and finds the option of each. Its own environment variables, configuration
// files, needs() and excludes() are not used: they know neither the line of a wrong value nor the nearest name, and
// check before values of the environment and the file are known.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "app/cli/common_options.h"
#include "app/cli/option_state.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/cli/words.h"
#include "data/io/file_kind.h"
#include "data/io/location.h"
#include "data/io/nearest_name.h"
#include "data/io/utf8.h"

namespace kith::app {
namespace {

constexpr const char* kSpace = " \t\r";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool only_comment(const std::string& text) { return text.empty() || text.front() == '#'; }

/// The value at the start of `text`; what follows it may only be a comment.
std::string value_of(const std::string& text, const std::string& where) {
  const char quote = text.empty() ? '\0' : text.front();
  if (quote != '"' && quote != '\'') {
    std::string bare = trimmed(text.substr(0, text.find('#')));
    const bool is_plain = !bare.empty() && bare.find_first_of(" \t[]{},\"'=") == std::string::npos;
    if (!is_plain) refuse_value(where, "name = value with one number, true, false or \"text\"", text);
    return bare;
  }
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != quote; ++i) {
    const bool escape = quote == '"' && text[i] == '\\';
    if (escape) ++i;
    if (escape && (i == text.size() || (text[i] != '"' && text[i] != '\\'))) refuse_value(where, "\\\" or \\\\", text);
    value += text[i];
  }
  if (i >= text.size()) refuse_value(where, "a closing quote", text);
  if (!only_comment(trimmed(text.substr(i + 1)))) refuse_value(where, "nothing after the value", text);
  return value;
}

}  // namespace

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
  for (const OptionEntry& entry : state_->entries) {
    if (entry.long_name != "--config") continue;
    const char* variable = std::getenv(variable_of(entry.long_name).c_str());
    if (!entry.word.empty()) {
      state_->read_config(entry.word);
    } else if (variable != nullptr && *variable != '\0') {
      state_->read_config(variable);
    }
  }
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

std::vector<ConfigEntry> read_config_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {  // a pipe would block, a device may be endless
    throw Error(ExitCode::usage, fmt::format("--config {}: expected a file, found {}; give a regular file", path,
                                             data::describe_special(status.st_mode)));
  }
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;
  if (status.st_size > kMostBytes) {
    throw Error(ExitCode::usage,
                fmt::format("--config {}: expected a file of at most {} bytes, found {}; give a file of "
                            "`name = value` lines",
                            path, kMostBytes, status.st_size));
  }
  std::ifstream file(path);
  if (!file)
    throw Error(
        ExitCode::usage,
        fmt::format("{}: expected a configuration file that can be read, found: {}; check the name after --config",
                    path, std::strerror(errno)));
  std::vector<ConfigEntry> entries;
  std::string section;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = fmt::format("{}:{}", path, number);
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    const std::string text = trimmed(line);
    if (only_comment(text)) continue;
    if (text.front() == '[') {
      const auto end = text.find(']');
      if (end == std::string::npos || !only_comment(trimmed(text.substr(end + 1))))
        refuse_value(where, "[command]", text);
      section = trimmed(text.substr(1, end - 1));
      continue;
    }
    const auto equals = text.find('=');
    const std::string name = trimmed(text.substr(0, equals));
    if (equals == std::string::npos || name.empty()) refuse_value(where, "name = value", text);
    entries.push_back({section, name, value_of(trimmed(text.substr(equals + 1)), where), where});
  }
  if (file.bad()) throw Error(ExitCode::usage, fmt::format("{}: cannot read the configuration", path));
  return entries;
}

void OptionSet::State::read_config(const std::string& path) {
  for (const ConfigEntry& line : read_config_file(path)) {
    const std::vector<std::string> commands = command_names();
    if (!line.section.empty() && std::find(commands.begin(), commands.end(), line.section) == commands.end()) {
      const std::string similar = known_name(line.section, commands);
      refuse_usage(fmt::format("{}: [{}] is not a command; {}", line.where, line.section,
                               similar.empty() ? fmt::format("expected one of {}", fmt::join(commands, ", "))
                                               : fmt::format("the nearest is [{}]", similar)));
    }
    if (!line.section.empty() && line.section != head.command) continue;
    if (line.name == "help" || line.name == "config") {
      refuse_usage(fmt::format("{}: '{}' cannot be set in a file; remove the line", line.where, line.name));
    }
    const bool shared = line.section.empty();
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const OptionEntry& e) {
      return !e.positional && e.long_name == "--" + line.name && (!shared || e.common);
    });
    if (entry == entries.end()) {
      // Before the first section stand options that several commands share; this command need not have them all.
      const std::vector<std::string> known = shared ? common_option_names() : names();
      if (shared && std::find(known.begin(), known.end(), "--" + line.name) != known.end()) continue;
      const std::string similar = known_name("--" + line.name, known);
      refuse_usage(fmt::format("{}: unknown option '{}'{}; {}", line.where, line.name,
                               shared ? " before the first [command]" : "",
                               similar.empty() ? fmt::format("expected a long name, without dashes; {}", hint())
                                               : fmt::format("the nearest is '{}'", similar.substr(2))));
    }
    if (entry->source == Source::environment || entry->source == Source::command_line) continue;
    entry->set(line.value, fmt::format("{}: {}", line.where, line.name));
    entry->source = Source::config_file;
  }
}

}  // namespace kith::app
