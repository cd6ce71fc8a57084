// Words of the command lines that are shown to go on with.
#include "app/cli/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace kith::app {

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string("-_./:=,+@%").find(static_cast<char>(c)) != std::string::npos;
  });
  if (plain) return word;
  std::string inner;
  for (const char c : word) inner += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", inner);
}

}  // namespace kith::app
