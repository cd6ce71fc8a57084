// Compares the inputs and the command that a result names with those that there are.
#include "app/run/freshness.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "data/io/location.h"

namespace kith::app {
namespace {

constexpr const char* kMissing = "there is no such file";
constexpr const char* kUnmarked = "it does not name its inputs, as results of earlier versions do not";

/// The check in progress, of why_stale() with words.
struct Check {
  const data::StoredResult& result;
  std::optional<std::string> reason = {};
};
Check* current = nullptr;

/// The last field of a line of marks_of().
std::string name_in(const std::string& mark) {
  const std::size_t bytes = mark.find(' ');
  return mark.substr(mark.find(' ', bytes + 1) + 1);
}

/// A file that cannot be reached is none of these.
bool is_missing(const std::string& file) {
  std::error_code failure;
  return !std::filesystem::exists(file, failure) && !failure;
}

std::string differing(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  for (const std::string& mark : before) {
    if (std::ranges::count(now, mark) == 0) return fmt::format("the input {} has changed", name_in(mark));
  }
  return before.size() == now.size() ? "" : "it was made from other inputs";
}

}  // namespace

std::vector<std::string> marks_of(const std::vector<std::string>& inputs, const MarkOf& mark_of) {
  std::vector<std::string> marks;
  for (const std::string& input : inputs) {
    const std::string file = data::parse_location(input).file;
    std::error_code failure;
    if (file == "-" || !std::filesystem::is_regular_file(file, failure)) continue;
    const data::InputMark mark = mark_of(file);
    std::string name = mark.name;
    std::replace(name.begin(), name.end(), '\n', '?');
    marks.push_back(fmt::format("{:08x} {} {}", mark.checksum, mark.bytes, name));
  }
  return marks;
}

std::vector<std::string> marks_in(const std::string& command, const std::vector<std::string>& marks) {
  std::vector<std::string> named;
  for (const std::string& mark : marks) {
    const std::string word = " " + name_in(mark);
    bool found = false;
    for (std::size_t at = command.find(word); at != command.npos && !found; at = command.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      found = end == command.size() || command[end] == ' ' || command[end] == ':';
    }
    if (found && std::ranges::count(named, mark) == 0) named.push_back(mark);
  }
  return named;
}

std::string why_stale(const std::string& result) {
  if (is_missing(result)) return kMissing;
  const data::StoredResult stored(result);
  const std::vector<std::string> before = stored.lines("inputs");
  if (before.empty()) return kUnmarked;
  for (const std::string& mark : before) {
    const std::filesystem::path name(name_in(mark));
    const std::filesystem::path places[] = {name, std::filesystem::path(result).parent_path() / name};
    std::error_code failure;
    const bool exists = std::ranges::any_of(places, [&](const auto& p) { return std::filesystem::exists(p, failure); });
    if (!exists) {
      return fmt::format("there is no input {} in this folder or beside the result; name its place with --command",
                         name.string());
    }
    const bool same = std::ranges::any_of(
        places, [&](const auto& p) { return std::ranges::count(marks_of({p.string()}, data::mark_of), mark) > 0; });
    if (!same) return fmt::format("the input {} has changed", name.string());
  }
  return "";
}

std::string why_stale(const std::string& result, const std::function<void()>& run) {
  if (is_missing(result)) return kMissing;
  const data::StoredResult stored(result);
  Check check{stored};
  current = &check;
  try {
    run();
  } catch (...) {
    current = nullptr;
    throw;
  }
  current = nullptr;
  return check.reason.value_or("");
}

bool is_checking_freshness() { return current != nullptr; }

void check_freshness(const std::string& command, const std::vector<std::string>& marks) {
  const data::StoredResult& result = current->result;
  const std::vector<std::string> before = result.lines("inputs");
  const std::string stored = result.text("command");
  current->reason = stored != command ? fmt::format("its command was `{}`, now it is `{}`", stored, command)
                    : before.empty()  ? kUnmarked
                                      : differing(before, marks_in(command, marks));
}

}  // namespace kith::app
