// Quotes words for a shell, and divides command lines as it does.
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

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c == '\\' && quote != '\'' && i + 1 < line.size() ? line[++i] : c;
    }
  }
  return words;
}

}  // namespace kith::app
