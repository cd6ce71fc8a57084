// The declared options of a set, shared by the files that implement it.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>

#include "app/cli/options.h"
#include "core/error.h"

namespace kith::app {

/// One declared option or positional.
struct OptionEntry {
  Option option;
  std::string long_name;     // "--clusters", or "POINTS" for a positional
  std::string default_text;  // shown in the help, empty when there is nothing to show
  bool common = false;
  bool positional = false;
  bool flag = false;
  bool is_set = false;               // of points: several words, each the name of files
  std::vector<std::string> choices;  // all values that it may have; empty: others too
  std::function<void(const std::string& value, const std::string& where)> set;
  std::function<std::vector<std::string>()> values;  // of the target: one, or those of a list
  std::vector<std::string> defaults;                 // values() at declaration
  std::string word;                                  // as typed
  std::vector<std::string> words;                    // as typed, of a list
  CLI::Option* handle = nullptr;
  Source source = Source::none;

  bool is_changed() const { return values() != defaults; }
  bool is_named(const std::string& name) const;
  std::string shown_name() const;  // "-k/--clusters", for messages
};

struct OptionSet::State {
  Head head;
  CLI::App app;
  std::deque<OptionEntry> entries;  // CLI11 keeps references to the words
  bool declaring_common = false;
  bool help = false;  // of --help, which is asked for its value after parsing too

  OptionEntry& add(const Option& option, const std::function<std::vector<std::string>()>& values);
  OptionEntry& add_valued(const Option& option, const std::string& default_text,
                          const std::function<std::string()>& value);
  OptionEntry* find(const std::string& name);
  std::vector<std::string> names() const;
  std::string hint() const;
  std::string help_text(HelpForm form) const;

  // In option_sources.cpp.
  /// Returns false, with the flag of --help, if help was asked for.
  bool parse_flags(const std::vector<std::string>& arguments);
  std::string nearest_option(const std::string& name) const;
  std::string attached_value(const std::vector<std::string>& arguments, const std::string& word) const;
  void refuse_rest(const std::vector<std::string>& rest, const std::vector<std::string>& arguments) const;
  void read_environment();
  void warn_of_variables() const;
  void read_config(const std::string& path);

  void check() const;
  std::string command_line(std::string line, const Replacements& replacements, bool shown) const;
};

[[noreturn]] inline void refuse_usage(const std::string& message) { throw Error(ExitCode::usage, message); }

/// "-k" of "-k,--clusters", empty where there is none.
std::string short_name_of(const std::string& names);
/// KITH_MAX_ITERATIONS for --max-iterations.
std::string variable_of(const std::string& long_name);

/// One line of the file that sets an option.
struct ConfigEntry {
  std::string section;  // command name, empty before the first section
  std::string name;     // option name without dashes
  std::string value;    // without quotes
  std::string where;    // "kith.toml:3"
};

/// The part of TOML that options need: comments, [section], strings in either quotes, numbers, true and false.
/// Throws Error(usage) with file and line.
std::vector<ConfigEntry> read_config_file(const std::string& path);

}  // namespace kith::app
