// What a command line may hold: a command declares its options, and they are filled from flags, environment and file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/units.h"

namespace kith::app {

/// How an option is named and explained.
struct OptionText {
  const char* names;       // "-k,--clusters"
  const char* value = "";  // what stands for its value in the help: "K"
  const char* help;
  const char* shown_default = "";  // where the value itself says too little: "all this process may use"
  bool hidden = false;             // not on the help page: for those who work on kith
};

/// Where a value came from; a later one outweighs an earlier one.
enum class Source { none, config_file, environment, command_line };

/// The options of one command. The targets must outlive the set; the values they hold at declaration are the defaults.
class OptionSet {
 public:
  /// `usage` is what follows the command in the help: "POINTS -k K [options]"; `examples` one command line each.
  struct Head {
    std::string command;
    std::string summary;
    std::string usage;
    std::vector<std::string> examples;
  };

  explicit OptionSet(Head head);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  void positional(const OptionText& text, std::string& target);
  void positionals(const OptionText& text, std::vector<std::string>& target);
  void text(const OptionText& text, std::string& target);
  void integer(const OptionText& text, Range range, std::int64_t& target);
  void number(const OptionText& text, double& target);
  void size(const OptionText& text, std::int64_t& target);
  void choice(const OptionText& text, const std::vector<std::string>& choices, std::string& target);
  void flag(const OptionText& text, bool& target);
  /// Options declared from here on are those that several commands share: they may stand before the first section of a
  /// configuration file.
  void begin_common();

  /// Fills the targets: flags outweigh the environment (KITH_MAX_ITERATIONS), which outweighs --config FILE. Returns
  /// false when help was asked for and printed. Throws Error(usage).
  bool parse(const std::vector<std::string>& arguments);

  std::vector<std::string> names() const;  // "--help", "--clusters", ...
  /// Where the value of "--seed" came from.
  Source source(const std::string& name) const;
  bool on_command_line(const std::string& name) const { return source(name) == Source::command_line; }
  /// Throws Error(usage) with the first example when `target` of this positional or option stayed without a value.
  [[noreturn]] void refuse_missing(const std::string& what) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::app
