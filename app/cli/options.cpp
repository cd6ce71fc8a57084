// Declares the options of a command, and describes them on its help page.
#include "app/cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/help_page.h"
#include "app/cli/option_state.h"
#include "app/cli/suggest.h"
#include "app/cli/terminal.h"

namespace kith::app {

bool OptionEntry::is_named(const std::string& name) const {
  return name == long_name || (!positional && name == short_name_of(option.names));
}

std::string OptionEntry::shown_name() const {
  const std::string letter = positional ? "" : short_name_of(option.names);
  return letter.empty() ? long_name : letter + "/" + long_name;
}

OptionEntry& OptionSet::State::add(const Option& option, const std::function<std::vector<std::string>()>& values) {
  OptionEntry& entry = entries.emplace_back();
  const std::string names = option.names;
  entry.option = option;
  entry.long_name = names.substr(names.rfind(',') + 1);
  entry.positional = names[0] != '-';
  entry.common = declaring_common;
  entry.default_text = option.shown_default;
  entry.values = values;
  entry.defaults = values();
  return entry;
}

OptionEntry& OptionSet::State::add_valued(const Option& option, const std::string& default_text,
                                          const std::function<std::string()>& value) {
  OptionEntry& entry = add(option, [value] { return std::vector{value()}; });
  if (entry.default_text.empty()) entry.default_text = default_text;
  entry.handle = app.add_option(option.names, entry.word);
  // The last of repeated options counts, as elsewhere; a second positional is an unexpected argument.
  if (!entry.positional) entry.handle->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return entry;
}

OptionEntry* OptionSet::State::find(const std::string& name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const OptionEntry& entry) { return entry.long_name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<std::string> OptionSet::State::names() const {
  std::vector<std::string> names{"--help"};
  for (const OptionEntry& entry : entries) {
    if (!entry.positional) names.push_back(entry.long_name);
  }
  return names;
}

std::string OptionSet::State::hint() const { return fmt::format("see kith {} --help", head.command); }

OptionSet::OptionSet(Head head) : state_(std::make_unique<State>()) {
  state_->head = std::move(head);
  state_->app.set_help_flag("");
  state_->app.allow_extras();
}

OptionSet::~OptionSet() = default;

void OptionSet::positional(const Option& option, std::string& target) {
  OptionEntry& entry = state_->add_valued(option, target, [&target] { return target; });
  entry.set = [&target](const std::string& value, const std::string&) { target = value; };
}

void OptionSet::positionals(const Option& option, std::vector<std::string>& target) {
  OptionEntry& entry = state_->add(option, [&target] { return target; });
  entry.handle = state_->app.add_option(option.names, entry.words);
  entry.set = [&target](const std::string& value, const std::string&) { target.push_back(value); };
}

void OptionSet::text(const Option& option, std::string& target) {
  OptionEntry& entry = state_->add_valued(option, target, [&target] { return target; });
  entry.set = [&target](const std::string& value, const std::string& where) {
    if (value.empty()) refuse_usage(where + ": expected a value, found nothing");
    target = value;
  };
}

void OptionSet::integer(const Option& option, Range range, std::int64_t& target) {
  OptionEntry& entry = state_->add_valued(option, std::to_string(target), [&target] { return std::to_string(target); });
  entry.set = [&target, range](const std::string& value, const std::string& where) {
    target = parse_integer(value, where, range);
  };
}

void OptionSet::seed(const Option& option, std::uint64_t& target) {
  OptionEntry& entry = state_->add_valued(option, std::to_string(target), [&target] { return std::to_string(target); });
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_seed(value, where); };
}

void OptionSet::number(const Option& option, double& target) {
  OptionEntry& entry =
      state_->add_valued(option, fmt::format("{}", target), [&target] { return fmt::format("{}", target); });
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_number(value, where); };
}

void OptionSet::size(const Option& option, std::int64_t& target) {
  OptionEntry& entry = state_->add_valued(option, show_bytes(target), [&target] { return std::to_string(target); });
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_size(value, where); };
}

void OptionSet::seconds(const Option& option, double& target) {
  OptionEntry& entry =
      state_->add_valued(option, fmt::format("{:g} s", target), [&target] { return fmt::format("{}", target); });
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_seconds(value, where); };
}

void OptionSet::choice(const Option& option, const std::vector<std::string>& choices, std::string& target) {
  OptionEntry& entry = state_->add_valued(option, target, [&target] { return target; });
  entry.choices = choices;
  entry.set = [&target, choices](const std::string& value, const std::string& where) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      refuse_usage(fmt::format("{}: expected {}, found '{}'{}", where, fmt::join(choices, ", "), value,
                               suggestion(value, choices)));
    }
    target = value;
  };
}

void OptionSet::flag(const Option& option, bool& target) {
  OptionEntry& entry = state_->add(option, [&target] { return std::vector<std::string>{target ? "true" : "false"}; });
  entry.flag = true;
  entry.handle = state_->app.add_flag(option.names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  entry.set = [&target](const std::string& value, const std::string& where) { target = parse_switch(value, where); };
}

void OptionSet::begin_common() { state_->declaring_common = true; }

Option& OptionSet::operator[](const std::string& name) {
  OptionEntry* entry = state_->find(name);
  if (entry == nullptr) throw Error(ExitCode::internal, "no option " + name + " is declared");
  return entry->option;
}

const std::string& OptionSet::command() const { return state_->head.command; }

std::vector<std::string> OptionSet::names() const { return state_->names(); }

Source OptionSet::source(const std::string& name) const {
  const OptionEntry* entry = state_->find(name);
  return entry == nullptr ? Source::none : entry->source;
}

void OptionSet::refuse_missing(const std::string& what) const {
  refuse_usage(fmt::format("{} is missing; for example: {}", what, state_->head.examples.front()));
}

std::string OptionSet::State::help_text(HelpForm form) const {
  const bool takes_config = std::any_of(entries.begin(), entries.end(),
                                        [](const OptionEntry& entry) { return entry.long_name == "--config"; });
  HelpPage page{fmt::format("kith {}: {}", head.command, head.summary),
                head.examples,
                fmt::format("kith {} {}", head.command, head.usage),
                {{"Arguments", {}}, {"Options", {}}, {"Common options", {}}, head.list},
                !takes_config
                    ? ""
                    : "Defaults are in brackets. Options can also be set by environment variables (KITH_THREADS for "
                      "--threads) and in the file of --config. Options on the command line override the environment, "
                      "which overrides the file."};
  for (const OptionEntry& entry : entries) {
    std::string names = entry.option.names;
    if (const auto comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
    if (names.rfind("--", 0) == 0) names.insert(0, 4, ' ');
    if (*entry.option.value != '\0') names += fmt::format(" {}", entry.option.value);
    const std::string shown = entry.default_text.empty() ? "" : fmt::format(" [{}]", entry.default_text);
    page.groups[entry.positional ? 0
                : entry.common   ? 2
                                 : 1]
        .lines.push_back({names, entry.option.help + shown, entry.choices});
  }
  return in_form(form, page);
}

}  // namespace kith::app
