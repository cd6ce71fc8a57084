// Fills a command's options from the command line, the environment and the configuration file, and describes them.
#include "app/cli/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <deque>

#include "app/cli/command_names.h"
#include "app/cli/common_options.h"
#include "app/cli/config_file.h"
#include "app/cli/help_page.h"
#include "app/cli/suggest.h"
#include "app/cli/terminal.h"
#include "core/error.h"

namespace kith::app {
namespace {

/// One declared option or positional.
struct Entry {
  OptionText text;
  std::string long_name;     // "--clusters", or "POINTS" for a positional
  std::string default_text;  // shown in the help, empty when there is nothing to show
  bool common = false;
  bool positional = false;
  bool flag = false;
  std::function<void(const std::string& value, const std::string& where)> set;
  std::string word;                // as typed
  std::vector<std::string> words;  // as typed, of a list
  CLI::Option* handle = nullptr;
  Source source = Source::none;
};

std::string long_name_of(const std::string& names) { return names.substr(names.rfind(',') + 1); }

/// "-k" of "-k,--clusters", empty where there is none.
std::string short_name_of(const std::string& names) { return names.find(',') == names.npos ? "" : names.substr(0, 2); }

/// KITH_MAX_ITERATIONS for --max-iterations.
std::string variable_of(const std::string& long_name) {
  std::string name = "KITH_" + long_name.substr(2);
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ExitCode::usage, message); }

}  // namespace

struct OptionSet::State {
  Head head;
  CLI::App app;
  std::deque<Entry> entries;  // CLI11 keeps references to the words
  bool declaring_common = false;
  bool help = false;

  Entry& add(const OptionText& text) {
    Entry& entry = entries.emplace_back();
    entry.text = text;
    entry.long_name = long_name_of(text.names);
    entry.positional = text.names[0] != '-';
    entry.common = declaring_common;
    entry.default_text = text.shown_default;
    return entry;
  }

  Entry& add_valued(const OptionText& text, const std::string& default_text) {
    Entry& entry = add(text);
    if (entry.default_text.empty()) entry.default_text = default_text;
    entry.handle = app.add_option(text.names, entry.word);
    // The last of repeated options counts, as elsewhere; a second positional would be a word too many.
    if (!entry.positional) entry.handle->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    return entry;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names{"--help"};
    for (const Entry& entry : entries) {
      if (!entry.positional) names.push_back(entry.long_name);
    }
    return names;
  }

  std::string hint() const { return fmt::format("see kith {} --help", head.command); }

  void parse_flags(const std::vector<std::string>& arguments);
  std::string nearest_option(const std::string& name) const;
  void refuse_rest(const std::vector<std::string>& rest) const;
  void read_environment();
  void warn_of_variables() const;
  void read_config(const std::string& path);
  std::string help_text() const;
};

OptionSet::OptionSet(Head head) : state_(std::make_unique<State>()) {
  state_->head = std::move(head);
  state_->app.set_help_flag("");
  state_->app.allow_extras();
}

OptionSet::~OptionSet() = default;

void OptionSet::positional(const OptionText& text, std::string& target) {
  Entry& entry = state_->add_valued(text, target);
  entry.set = [&target](const std::string& value, const std::string&) { target = value; };
}

void OptionSet::positionals(const OptionText& text, std::vector<std::string>& target) {
  Entry& entry = state_->add(text);
  entry.handle = state_->app.add_option(text.names, entry.words);
  entry.set = [&target](const std::string& value, const std::string&) { target.push_back(value); };
}

void OptionSet::text(const OptionText& text, std::string& target) {
  Entry& entry = state_->add_valued(text, target);
  entry.set = [&target](const std::string& value, const std::string& where) {
    if (value.empty()) refuse(where + ": expected a value, found nothing");
    target = value;
  };
}

void OptionSet::integer(const OptionText& text, Range range, std::int64_t& target) {
  Entry& entry = state_->add_valued(text, std::to_string(target));
  entry.set = [&target, range](const std::string& value, const std::string& where) {
    target = parse_integer(value, where, range);
  };
}

void OptionSet::number(const OptionText& text, double& target) {
  Entry& entry = state_->add_valued(text, fmt::format("{}", target));
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_number(value, where); };
}

void OptionSet::size(const OptionText& text, std::int64_t& target) {
  Entry& entry = state_->add_valued(text, show_bytes(target));
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_size(value, where); };
}

void OptionSet::choice(const OptionText& text, const std::vector<std::string>& choices, std::string& target) {
  Entry& entry = state_->add_valued(text, target);
  entry.set = [&target, choices](const std::string& value, const std::string& where) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      refuse(fmt::format("{}: expected {}, found '{}'; the nearest is {}", where, fmt::join(choices, ", "), value,
                         nearest_name(value, choices)));
    }
    target = value;
  };
}

void OptionSet::flag(const OptionText& text, bool& target) {
  Entry& entry = state_->add(text);
  entry.flag = true;
  entry.handle = state_->app.add_flag(text.names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_switch(value, where); };
}

void OptionSet::begin_common() { state_->declaring_common = true; }

bool OptionSet::parse(const std::vector<std::string>& arguments) {
  state_->add({.names = "-h,--help", .help = "Print this help."}).flag = true;
  state_->entries.back().handle = state_->app.add_flag("-h,--help");
  state_->entries.back().set = [this](const std::string&, const std::string&) { state_->help = true; };
  state_->parse_flags(arguments);
  if (state_->help) {
    print_out(state_->help_text());
    return false;
  }
  state_->read_environment();
  for (const Entry& entry : state_->entries) {
    if (entry.long_name != "--config") continue;
    const char* variable = std::getenv(variable_of(entry.long_name).c_str());
    if (!entry.word.empty()) {
      state_->read_config(entry.word);
    } else if (variable != nullptr && *variable != '\0') {
      state_->read_config(variable);
    }
  }
  return true;
}

void OptionSet::State::parse_flags(const std::vector<std::string>& arguments) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& problem) {
    const std::string what = problem.what();  // "--clusters: 1 required TEXT missing"
    refuse(fmt::format("{}: expected one value; {}", what.substr(0, what.find(':')), hint()));
  } catch (const CLI::ParseError& problem) {
    refuse(fmt::format("{}; {}", problem.what(), hint()));
  }
  for (Entry& entry : entries) {
    if (entry.handle->count() == 0 || entry.long_name != "--help") continue;
    help = true;
    return;
  }
  const auto is_option = [this](const std::string& word) {
    return std::any_of(entries.begin(), entries.end(), [&word](const Entry& entry) {
      return !entry.positional && !word.empty() && (word == entry.long_name || word == short_name_of(entry.text.names));
    });
  };
  for (const Entry& entry : entries) {  // CLI11 takes the next option for the value that is missing
    if (entry.positional || !is_option(entry.word)) continue;
    refuse(fmt::format("{}: expected one value, found the option {}; {}", entry.long_name, entry.word, hint()));
  }
  refuse_rest(app.remaining());
  for (Entry& entry : entries) {
    if (entry.handle->count() == 0) continue;
    entry.source = Source::command_line;
    if (entry.flag) {
      entry.set(entry.handle->results().empty() ? "true" : entry.handle->results().back(), entry.long_name);
    } else if (!entry.words.empty()) {
      for (const std::string& value : entry.words) entry.set(value, entry.long_name);
    } else {
      entry.set(entry.word, entry.long_name);
    }
  }
}

/// For -K and --k the option of that letter, if there is one; empty: there is none that is similar.
std::string OptionSet::State::nearest_option(const std::string& name) const {
  const bool one_dash = name[1] != '-';
  if (one_dash || name.size() == 3) {
    const int letter = std::tolower(static_cast<unsigned char>(name[one_dash ? 1 : 2]));
    for (const Entry& entry : entries) {
      const char* names = entry.text.names;
      if (names[0] == '-' && names[1] != '-' && names[1] == letter) return {'-', names[1]};
    }
  }
  return similar_name(name, names());
}

void OptionSet::State::refuse_rest(const std::vector<std::string>& rest) const {
  const auto end = std::find(rest.begin(), rest.end(), "--");  // CLI11 keeps it; no option comes after it
  for (auto word = rest.begin(); word != end; ++word) {
    if (word->size() < 2 || word->front() != '-') continue;
    const std::string name = word->substr(0, word->find('='));
    const std::string nearest = nearest_option(name);
    refuse(fmt::format("unknown option {}{}; {}", name, nearest.empty() ? "" : "; the nearest is " + nearest, hint()));
  }
  for (auto word = rest.begin(); word != rest.end(); ++word) {
    if (word == end) continue;
    refuse(fmt::format("unexpected argument '{}'; usage: kith {} {}", *word, head.command, head.usage));
  }
}

void OptionSet::State::read_environment() {
  for (Entry& entry : entries) {
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
    if (!name.starts_with("KITH_") || name == "KITH_CPU") continue;
    const auto is_name = [&](const std::string& option) { return variable_of(option) == name; };
    if (std::any_of(common.begin(), common.end(), is_name)) continue;
    const std::string nearest = nearest_name(name, known);
    if (nearest == name || !is_misspelt(name, nearest)) continue;
    Terminal::instance().warn(fmt::format("the variable {} has no effect; the nearest is {}", name, nearest));
  }
}

void OptionSet::State::read_config(const std::string& path) {
  for (const ConfigEntry& line : read_config_file(path)) {
    const std::vector<std::string> commands = command_names();
    if (!line.section.empty() && std::find(commands.begin(), commands.end(), line.section) == commands.end()) {
      refuse(fmt::format("{}: [{}] is not a command; the nearest is [{}]", line.where, line.section,
                         nearest_name(line.section, commands)));
    }
    if (!line.section.empty() && line.section != head.command) continue;
    if (line.name == "help" || line.name == "config") {
      refuse(fmt::format("{}: '{}' cannot be set in a file; remove the line", line.where, line.name));
    }
    const bool shared = line.section.empty();
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
      return !e.positional && e.long_name == "--" + line.name && (!shared || e.common);
    });
    if (entry == entries.end()) {
      // Before the first section stand options that several commands share; this command need not have them all.
      const std::vector<std::string> known = shared ? common_option_names() : names();
      if (shared && std::find(known.begin(), known.end(), "--" + line.name) != known.end()) continue;
      const std::string similar = similar_name("--" + line.name, known);
      refuse(fmt::format("{}: unknown option '{}'{}; {}", line.where, line.name,
                         shared ? " before the first [command]" : "",
                         similar.empty() ? fmt::format("expected a long name, without dashes; {}", hint())
                                         : fmt::format("the nearest is '{}'", similar.substr(2))));
    }
    if (entry->source == Source::environment || entry->source == Source::command_line) continue;
    entry->set(line.value, fmt::format("{}: {}", line.where, line.name));
    entry->source = Source::config_file;
  }
}

std::string OptionSet::State::help_text() const {
  HelpPage page{fmt::format("kith {}: {}", head.command, head.summary),
                head.examples,
                fmt::format("kith {} {}", head.command, head.usage),
                {{"Arguments", {}}, {"Options", {}}, {"Common options", {}}},
                "Defaults are in brackets. Options can also be set by environment variables (KITH_THREADS for "
                "--threads) and in the file of --config. Flags override the environment, which overrides the file."};
  for (const Entry& entry : entries) {
    if (entry.text.hidden) continue;
    std::string names = entry.text.names;
    if (const auto comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
    if (names.rfind("--", 0) == 0) names.insert(0, 4, ' ');
    if (*entry.text.value != '\0') names += fmt::format(" {}", entry.text.value);
    const std::string shown = entry.default_text.empty() ? "" : fmt::format(" [{}]", entry.default_text);
    page.groups[entry.positional ? 0 : entry.common ? 2 : 1].lines.push_back({names, entry.text.help + shown});
  }
  return lay_out(page, prose_width(Stream::output));
}

std::vector<std::string> OptionSet::names() const { return state_->names(); }

Source OptionSet::source(const std::string& name) const {
  for (const Entry& entry : state_->entries) {
    if (entry.long_name == name) return entry.source;
  }
  return Source::none;
}

void OptionSet::refuse_missing(const std::string& what) const {
  refuse(fmt::format("{} is missing; for example: {}", what, state_->head.examples.front()));
}

}  // namespace kith::app
