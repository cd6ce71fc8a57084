// The options of a command: declared once, filled from flags, environment and file, checked against each other, and
// repeated in the command that a result file stores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/layout.h"
#include "app/cli/units.h"

namespace kith {
struct Device;
}

namespace kith::app {

/// Why an option has no effect, or is refused, with the values that all options have; empty: neither.
using Reason = std::function<std::string()>;
/// `reason` while `holds` returns true.
Reason when(std::function<bool()> holds, std::string reason);

/// Whether the stored command repeats an option. A flag that is off is never repeated.
enum class Stored {
  never,                // the result does not depend on it
  always,               //
  if_used,              // unless it has no effect
  if_changed,           // unless it has its default
  if_changed_and_used,  // unless it has its default or no effect
};

/// Positions in a stored command. Options with the same position keep the order of their declaration.
namespace position {
inline constexpr int kTask = 0, kSeed = 10, kLimits = 20, kPrecision = 30, kInput = 40, kPreparation = 50,
                     kMissing = 60, kWeights = 70, kMetric = 80, kVariant = 90, kExtra = 100;
}  // namespace position

/// How the stored command repeats an option.
struct Repetition {
  constexpr Repetition(Stored when, int position = position::kTask)  // implicit: most options have the usual position
      : when(when), position(position) {}
  Stored when;
  int position;
};

/// The part of a help in which an option stands. Sections without options are not printed.
enum class Section { command, points, text, preparation, output, machine, messages };

/// Whether the value of an option names a file that the command reads. Outputs never replace such files.
enum class Input {
  none,
  file,
  table,  // a file that --delimiter and --header describe if it is text
};

/// The declaration of an option, or of a positional argument.
struct Option {
  const char* names;       // "-k,--clusters"; "POINTS" for a positional
  const char* value = "";  // placeholder of the value in the help: "K"
  const char* help;
  Section section = Section::command;
  const char* shown_default = "";  // replaces a default that says too little: "all this process may use"
  const char* required = "";       // what is missing without it: "the file to cluster"
  Input input = Input::none;
  Repetition stored = Stored::never;
  std::vector<Reason> no_effect = {};      // the first that applies is the text of a warning
  bool Device::*needs = nullptr;           // what the device has if the option has an effect; null: nothing
  std::vector<const char*> excludes = {};  // options that cannot be combined with it: "-k", "--queries"
  std::vector<Reason> refused = {};        // the first that applies is the message of an Error(usage)
};

/// Where a value came from; a later one outweighs an earlier one.
enum class Source { none, config_file, environment, command_line };

/// The options of one command. The targets must outlive the set; the values they hold at declaration are the defaults.
class OptionSet {
 public:
  /// `usage` is what follows the command in the help: "POINTS -k K [options]"; `examples` one command line each;
  /// `list` what the values of an option mean; `first` the options that matter most, which stand before the others:
  /// "-k", "--columns".
  struct Head {
    std::string command;
    std::string summary;
    std::string usage;
    std::vector<std::string> examples;
    HelpGroup list = {};
    std::vector<const char*> first = {};
  };

  explicit OptionSet(Head head);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  void positional(const Option& option, std::string& target);
  void positionals(const Option& option, std::vector<std::string>& target);
  /// Several words that name one set of points (data/file_set.h), a line each in the target.
  void positional_set(const Option& option, std::string& target);
  void text(const Option& option, std::string& target);
  void integer(const Option& option, Range range, std::int64_t& target);
  void seed(const Option& option, std::uint64_t& target);
  void number(const Option& option, double& target);
  void size(const Option& option, std::int64_t& target);
  void seconds(const Option& option, double& target);
  void choice(const Option& option, const std::vector<std::string>& choices, std::string& target);
  void flag(const Option& option, bool& target);
  /// Options declared from here on are shared by several commands: they may come before the first section of a
  /// configuration file.
  void begin_common();
  /// A declared option, by its long name, for what only this command knows about a shared option.
  Option& operator[](const std::string& name);

  /// Fills the targets: flags outweigh the environment (KITH_MAX_ITERATIONS), which outweighs --config FILE. Returns
  /// false when help was asked for and printed. Throws Error(usage), also for options that are missing or refused.
  bool parse(const std::vector<std::string>& arguments);

  const std::string& command() const;
  std::vector<std::string> names() const;  // "--help", "--clusters", ...
  /// Where the value of "--seed" came from.
  Source source(const std::string& name) const;
  /// Whether the option, which was not given, could have been beside those that were.
  bool could_be_given(const std::string& name) const;
  bool on_command_line(const std::string& name) const { return source(name) == Source::command_line; }
  /// Throws Error(usage) with the first example: `what` is missing.
  [[noreturn]] void refuse_missing(const std::string& what) const;

  /// Why the value of an option is refused; empty: it is not.
  std::string refusal(const std::string& name) const;
  /// One warning for each option on the command line that has no effect, with the device of this backend, once it is
  /// known.
  std::vector<std::string> warnings(const std::string& backend = "", const Device* device = nullptr) const;
  /// The values of all options of these kinds of input, without empty ones.
  std::vector<std::string> inputs(const std::vector<Input>& kinds = {Input::file, Input::table}) const;

  /// Words that replace those of an option: {"--init", "--init first --n-init 2"}. Empty words leave it out.
  using Replacements = std::map<std::string, std::string>;
  /// The command of a result file: what determines the result, with files named as by stored_name().
  std::string stored_command(const Replacements& replacements) const;
  /// A command line of another command with these options, for people: without those that have their default or no
  /// effect, quoted for a shell.
  std::string shown_command(const std::string& command, const Replacements& replacements) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "points.h5:/train" without folders: equal input under equal names gives equal result files, wherever it lies.
std::string stored_name(const std::string& location);

}  // namespace kith::app
