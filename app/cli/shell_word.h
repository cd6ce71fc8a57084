// Words of the command lines that are shown to go on with.
#pragma once

#include <string>

namespace kith::app {

/// A word as a shell reads it: between quotes where the shell would make something else of it.
std::string shell_word(const std::string& word);

}  // namespace kith::app
