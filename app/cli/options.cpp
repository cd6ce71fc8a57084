// The options of a command: declarations, their help page, and what follows from them: conflicts, warnings, inputs,
// stored and shown commands.
#include "app/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/option_state.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "core/points/backend.h"
#include "data/file_names.h"
#include "data/source.h"

namespace kith::app {
namespace {

/// The sections of the help and their headings, in the order of the enumeration.
constexpr std::pair<Section, const char*> kSections[] = {
    {Section::command, "Options"},         {Section::points, "Points"}, {Section::text, "Points in text files"},
    {Section::preparation, "Preparation"}, {Section::output, "Output"}, {Section::machine, "Machine"},
    {Section::messages, "Messages"},
};

std::string first_of(const std::vector<Reason>& reasons) {
  for (const Reason& reason : reasons) {
    if (std::string text = reason(); !text.empty()) return text;
  }
  return "";
}

bool is_repeated(const OptionEntry& entry, bool shown) {
  const Stored stored = entry.option.stored.when;
  if (stored == Stored::never || (entry.flag && entry.values() != std::vector<std::string>{"true"})) return false;
  const bool changed_only = shown || stored == Stored::if_changed || stored == Stored::if_changed_and_used;
  const bool used_only = shown || stored == Stored::if_used || stored == Stored::if_changed_and_used;
  return (!changed_only || entry.is_changed()) && (!used_only || first_of(entry.option.no_effect).empty());
}

std::string words_of(const OptionEntry& entry, bool shown) {
  if (!is_repeated(entry, shown)) return "";
  if (entry.flag) return entry.long_name;
  const std::string value = entry.values().front();
  const std::string word = shown ? shell_names(value) : entry.option.input == Input::none ? value : stored_name(value);
  return entry.positional ? word : fmt::format("{} {}", entry.long_name, word);
}

}  // namespace

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
  // The items of repeated lists are joined; CLI11 puts a line end between them.
  const bool is_list = is_list_option(entry.long_name);
  if (!entry.positional) {
    entry.handle->multi_option_policy(is_list ? CLI::MultiOptionPolicy::Join : CLI::MultiOptionPolicy::TakeLast);
  }
  return entry;
}

OptionEntry* OptionSet::State::find(const std::string& name) {
  const auto found = std::ranges::find_if(entries, [&](const OptionEntry& entry) { return entry.long_name == name; });
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

void OptionSet::positional_set(const Option& option, std::string& target) {
  OptionEntry& entry = state_->add(option, [&target] { return std::vector{target}; });
  entry.handle = state_->app.add_option(option.names, entry.words);
  entry.is_set = true;
  entry.set = [&target](const std::string& value, const std::string&) {
    if (!target.empty()) target += data::kBetweenNames;
    target += value;
  };
}

void OptionSet::text(const Option& option, std::string& target) {
  OptionEntry& entry = state_->add_valued(option, target, [&target] { return target; });
  const bool is_list = is_list_option(entry.long_name);
  entry.set = [&target, is_list](const std::string& value, const std::string& where) {
    if (value.empty()) refuse_usage(where + ": expected a value, found nothing");
    target = value;
    if (is_list) std::replace(target.begin(), target.end(), '\n', ',');
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
                {},
                !takes_config
                    ? ""
                    : "Defaults are in brackets. Options can also be set by environment variables (KITH_THREADS for "
                      "--threads) and in the file of --config. Options on the command line override the environment, "
                      "which overrides the file."};
  const auto line_of = [](const OptionEntry& entry) {
    std::string names = entry.option.names;
    if (const auto comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
    if (names.rfind("--", 0) == 0) names.insert(0, 4, ' ');
    if (*entry.option.value != '\0') names += fmt::format(" {}", entry.option.value);
    const std::string shown = entry.default_text.empty() ? "" : fmt::format(" [{}]", entry.default_text);
    return HelpLine{names, entry.option.help + shown, entry.choices};
  };
  HelpGroup arguments{"Arguments", {}}, main{"Main options", {}};
  std::vector<HelpGroup> sections;
  for (const auto& [section, title] : kSections) sections.push_back({title, {}});
  const auto is_first = [this](const OptionEntry& entry) {
    return std::ranges::any_of(head.first, [&entry](const char* name) { return entry.is_named(name); });
  };
  for (const char* name : head.first) {
    const auto entry = std::ranges::find_if(entries, [name](const OptionEntry& e) { return e.is_named(name); });
    if (entry == entries.end()) throw Error(ExitCode::internal, fmt::format("no option {} is declared", name));
    main.lines.push_back(line_of(*entry));
  }
  for (const OptionEntry& entry : entries) {
    if (entry.positional) {
      arguments.lines.push_back(line_of(entry));
    } else if (!is_first(entry)) {
      sections[static_cast<std::size_t>(entry.option.section)].lines.push_back(line_of(entry));
    }
  }
  page.takes_config = takes_config;
  page.groups = {std::move(arguments), std::move(main)};
  page.groups.insert(page.groups.end(), sections.begin(), sections.end());
  page.groups.push_back(head.list);
  return in_form(form, page);
}

Reason when(std::function<bool()> holds, std::string reason) {
  return [holds = std::move(holds), reason = std::move(reason)] { return holds() ? reason : std::string(); };
}

void OptionSet::State::check() const {
  for (const OptionEntry& entry : entries) {
    if (*entry.option.required == '\0' || entry.is_changed()) continue;
    const std::string name = entry.option.names;
    refuse_usage(fmt::format("{}, {}, is missing; for example: {}", name.substr(0, name.find(',')),
                             entry.option.required, head.examples.front()));
  }
  for (const OptionEntry& entry : entries) {
    if (!entry.is_changed()) continue;
    for (const char* other : entry.option.excludes) {
      const auto excluded = std::ranges::find_if(entries, [other](const OptionEntry& e) { return e.is_named(other); });
      if (excluded == entries.end() || !excluded->is_changed()) continue;
      refuse_usage(fmt::format("{} cannot be combined with {}; leave one of them out", entry.long_name, other));
    }
    if (const std::string reason = first_of(entry.option.refused); !reason.empty()) refuse_usage(reason);
  }
}

bool OptionSet::could_be_given(const std::string& name) const {
  const OptionEntry* entry = state_->find(name);
  if (entry == nullptr || entry->is_changed() || !first_of(entry->option.refused).empty()) return false;
  return std::ranges::none_of(state_->entries, [entry](const OptionEntry& other) {
    const auto names = [](const std::vector<const char*>& excluded, const OptionEntry& e) {
      return std::ranges::any_of(excluded, [&e](const char* word) { return e.is_named(word); });
    };
    return other.is_changed() && (names(other.option.excludes, *entry) || names(entry->option.excludes, other));
  });
}

std::string OptionSet::refusal(const std::string& name) const { return first_of(state_->find(name)->option.refused); }

std::vector<std::string> OptionSet::warnings(const std::string& backend, const Device* device) const {
  std::vector<std::string> warnings;
  for (const OptionEntry& entry : state_->entries) {
    if (entry.source != Source::command_line) continue;
    std::string reason = first_of(entry.option.no_effect);
    const bool lacks = device != nullptr && entry.option.needs != nullptr && !(device->*entry.option.needs);
    if (reason.empty() && lacks) reason = "the backend is " + backend;
    if (!reason.empty()) warnings.push_back(fmt::format("{} has no effect: {}", entry.long_name, reason));
  }
  return warnings;
}

std::vector<std::string> OptionSet::inputs(const std::vector<Input>& kinds) const {
  std::vector<std::string> inputs;
  for (const OptionEntry& entry : state_->entries) {
    if (std::find(kinds.begin(), kinds.end(), entry.option.input) == kinds.end()) continue;
    for (const std::string& value : entry.values()) {
      if (!value.empty()) inputs.push_back(value);
    }
  }
  return inputs;
}

std::string OptionSet::State::command_line(std::string line, const Replacements& replacements, bool shown) const {
  std::vector<const OptionEntry*> ordered;
  for (const OptionEntry& entry : entries) ordered.push_back(&entry);
  std::stable_sort(ordered.begin(), ordered.end(), [](const OptionEntry* a, const OptionEntry* b) {
    return a->option.stored.position < b->option.stored.position;
  });
  for (const OptionEntry* entry : ordered) {
    const auto replaced = replacements.find(entry->long_name);
    const std::string words = replaced != replacements.end() ? replaced->second : words_of(*entry, shown);
    if (!words.empty()) line += " " + words;
  }
  return line;
}

std::string OptionSet::stored_command(const Replacements& replacements) const {
  return state_->command_line(state_->head.command, replacements, false);
}

std::string OptionSet::shown_command(const std::string& command, const Replacements& replacements) const {
  return state_->command_line("kith " + command, replacements, true);
}

std::string stored_name(const std::string& location) {
  const data::Location parts = data::parse_location(data::shown_set(location));
  std::string file = parts.file;
  if (file.size() > 1 && file.ends_with('/')) file.pop_back();
  file.erase(0, file.rfind('/') + 1);
  return parts.dataset.empty() ? file : fmt::format("{}:{}", file, parts.dataset);
}

}  // namespace kith::app
