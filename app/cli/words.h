// Words of command lines: the names of the commands, what a user may have meant by another name, and how a shell
// divides and quotes words.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace kith::app {

/// The names of the commands, which configuration files use for their sections, in the order of the help. The build
/// reads these lines, too.
inline constexpr std::array<std::string_view, 18> kCommandNames{
    "cluster", "sweep", "dbscan",  "assign",   "knn",  "distances", "evaluate", "report",     "image",
    "info",    "table", "devices", "generate", "plan", "resume",    "man",      "completion", "bench"};

inline std::vector<std::string> command_names() { return {kCommandNames.begin(), kCommandNames.end()}; }

/// The known name that means the same in other programs (gpu: cuda, --random-state: --seed), else the one that is
/// similar in its letters; else empty.
std::string known_name(const std::string& typed, const std::vector<std::string>& known);

/// "; the nearest is NAME" if there is one; else empty. For the end of a message.
std::string suggestion(const std::string& typed, const std::vector<std::string>& known);

/// A word as a shell reads it: between quotes where the shell would make something else of it.
std::string shell_word(const std::string& word);
/// The same for a set of points (data/file_set.h), a word for each of its lines; of many, the first ones.
std::string shell_names(const std::string& set);

/// Whether the value of the option is a list whose items may be divided among several of it: --encode a=date --encode
/// b=yesno.
bool is_list_option(std::string_view name);

/// The words of a command line, as a shell divides it by blanks, quotes and backslashes; nothing else is special.
std::vector<std::string> split_words(const std::string& line);

}  // namespace kith::app
