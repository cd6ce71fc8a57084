// What follows from the declarations of options: conflicts, warnings, inputs, stored and shown commands.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/option_state.h"
#include "app/cli/shell_word.h"
#include "core/points/backend.h"
#include "data/source.h"

namespace kith::app {
namespace {

std::string first_of(const std::vector<Reason>& reasons) {
  for (const Reason& reason : reasons) {
    if (std::string text = reason(); !text.empty()) return text;
  }
  return "";
}

bool is_repeated(const OptionEntry& entry, bool shown) {
  const Stored stored = entry.option.stored;
  if (stored == Stored::never || (entry.flag && entry.values() != std::vector<std::string>{"true"})) return false;
  const bool changed_only = shown || stored == Stored::if_changed || stored == Stored::if_changed_and_used;
  const bool used_only = shown || stored == Stored::if_used || stored == Stored::if_changed_and_used;
  return (!changed_only || entry.is_changed()) && (!used_only || first_of(entry.option.no_effect).empty());
}

std::string words_of(const OptionEntry& entry, bool shown) {
  if (!is_repeated(entry, shown)) return "";
  if (entry.flag) return entry.long_name;
  const std::string value = entry.values().front();
  const std::string word = shown ? shell_word(value) : entry.option.input == Input::none ? value : stored_name(value);
  return entry.positional ? word : fmt::format("{} {}", entry.long_name, word);
}

}  // namespace

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
      const auto excluded =
          std::find_if(entries.begin(), entries.end(), [other](const OptionEntry& e) { return e.is_named(other); });
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
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const OptionEntry* a, const OptionEntry* b) { return a->option.position < b->option.position; });
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
  const data::Location parts = data::parse_location(location);
  const std::string file = parts.file.substr(parts.file.rfind('/') + 1);
  return parts.dataset.empty() ? file : fmt::format("{}:{}", file, parts.dataset);
}

}  // namespace kith::app
