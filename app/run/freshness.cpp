// Compares the inputs and the command that a result names with those that there are.
#include "app/run/freshness.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/cli/words.h"
#include "core/error.h"
#include "data/file_names.h"
#include "data/io/checksum.h"
#include "data/io/location.h"
#include "data/io/utf8.h"
#include "data/labels.h"

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

/// The folder of a file, without links.
std::filesystem::path folder_of(const std::filesystem::path& file) {
  std::error_code failure;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(file), failure).parent_path();
}

/// The file of this name in a folder, or the place itself, if that is a file.
std::filesystem::path in_place(const std::filesystem::path& place, const std::filesystem::path& name) {
  std::error_code failure;
  return std::filesystem::is_directory(place, failure) ? place / name : place;
}

/// The files that may be the input `name` of a result: beside it, unless that is a link to another folder, and in or
/// among `places`.
std::vector<std::string> files_named(const std::string& name, const std::string& result,
                                     const std::vector<std::string>& places) {
  std::vector<std::string> files;
  const std::filesystem::path beside = std::filesystem::absolute(result).parent_path() / name;
  const std::filesystem::path home = std::filesystem::weakly_canonical(beside.parent_path());
  if (!is_missing(beside.string()) && folder_of(beside) == home) files.push_back(beside.string());
  for (const std::filesystem::path place : places) {
    const std::filesystem::path file = in_place(place, name);
    if (file.filename() == name && !is_missing(file.string())) files.push_back(file.string());
  }
  return files;
}

/// The files of a set as a result stores them, in /files or /query_files.
struct StoredSet {
  std::vector<std::string> names;  // without the folder that all share
  std::vector<std::string> marks;  // as those of marks_of()
};

std::optional<StoredSet> stored_set(const data::StoredResult& result, const std::string& mark) {
  for (const std::string group : {"files", "query_files"}) {
    if (!result.has(group)) continue;
    const data::Labels names = data::read_labels(fmt::format("{}:/{}/name", result.file(), group), {});
    const std::vector<double> bytes = result.vector(group + "/bytes"), checksums = result.vector(group + "/checksum");
    StoredSet set;
    data::Checksum all;
    for (std::size_t i = 0; i < names.codes.size(); ++i) {
      set.names.push_back(names.values[static_cast<std::size_t>(names.codes[i])]);
      set.marks.push_back(fmt::format("{:08x} {} {}", static_cast<std::uint32_t>(checksums[i]),
                                      static_cast<std::int64_t>(bytes[i]), set.names.back()));
      const std::string line = set.marks.back() + "\n";
      all.add(line.data(), line.size());
    }
    if (mark.starts_with(fmt::format("{:08x} ", all.value()))) return set;
  }
  return std::nullopt;
}

/// The same as why_stale() for the files of a set that was named by a pattern or by several words.
std::string why_set_is_stale(const StoredSet& set, const std::string& result, std::vector<std::string> places) {
  places.push_back(std::filesystem::absolute(result).parent_path().string());
  for (std::size_t i = 0; i < set.names.size(); ++i) {
    const std::filesystem::path name = data::parse_location(set.names[i]).file;
    bool any = false, same = false;
    for (const std::filesystem::path place : places) {
      const std::filesystem::path file = in_place(place, name);
      // No link, and no "..", leads out of the place.
      const bool is_within = file == place || folder_of(file) == (folder_of(place / "x") / name).parent_path();
      if (is_missing(file.string()) || !is_within || file.filename() != name.filename()) continue;
      any = true;
      data::InputMark mark = data::mark_of(file.string());
      same = same || set.marks[i] == fmt::format("{:08x} {} {}", mark.checksum, mark.bytes, set.names[i]);
    }
    if (!any) {
      return fmt::format(
          "its input {} is not in its folder, and kith opens files elsewhere only if they are named; name "
          "the folder: kith info --fresh {} --inputs FOLDER",
          name.string(), shell_word(result));
    }
    if (!same) return fmt::format("the input {} has changed", name.string());
  }
  return "";
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
    const bool is_set = data::named_set(input) != nullptr;
    const std::string file = is_set ? input : data::parse_location(input).file;
    std::error_code failure;
    if (!is_set && (file == "-" || !std::filesystem::is_regular_file(file, failure))) continue;
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

std::vector<std::string> named_inputs(const std::string& option) {
  if (option.empty()) return {};
  if (!is_missing(option)) return {option};  // commas may be part of the name
  std::vector<std::string> places = split_text(option, ',');
  for (const std::string& place : places) {
    if (!place.empty() && !is_missing(place)) continue;
    throw Error(ExitCode::usage, fmt::format("--inputs: expected files and folders that exist, found '{}'; give their "
                                             "names with commas between them",
                                             place));
  }
  return places;
}

std::string why_stale(const std::string& result, const std::vector<std::string>& places) {
  if (is_missing(result)) return kMissing;
  const data::StoredResult stored(result);
  const std::vector<std::string> before = stored.lines("inputs");
  if (before.empty()) return kUnmarked;
  for (const std::string& mark : before) {
    const std::string name = name_in(mark);
    if (name.find('/') != name.npos) {
      return fmt::format("it names the input {} with its folder, as no result of kith does", name);
    }
    const std::vector<std::string> files = files_named(name, result, places);
    if (const auto set = files.empty() ? stored_set(stored, mark) : std::nullopt) {
      if (const std::string reason = why_set_is_stale(*set, result, places); !reason.empty()) return reason;
      continue;
    }
    if (files.empty()) {
      return fmt::format(
          "its input {} is not in its folder, and kith opens files elsewhere only if they are named; name "
          "the file or its folder: kith info --fresh {} --inputs {}",
          name, shell_word(result), is_missing(name) ? "FOLDER" : shell_word(name));
    }
    const bool same = std::ranges::any_of(
        files, [&](const auto& file) { return std::ranges::count(marks_of({file}, data::mark_of_input), mark) > 0; });
    if (!same) return fmt::format("the input {} has changed", name);
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
