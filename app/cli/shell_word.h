// Words of command lines, as a shell reads them.
#pragma once

#include <string>
#include <vector>

namespace kith::app {

/// A word as a shell reads it: between quotes where the shell would make something else of it.
std::string shell_word(const std::string& word);

/// The words of a command line, as a shell divides it by blanks, quotes and backslashes; nothing else is special.
std::vector<std::string> split_words(const std::string& line);

}  // namespace kith::app
