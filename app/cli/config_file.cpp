// Reads the configuration file: `name = value` lines, in sections named after commands.
#include "app/cli/config_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "data/io/file_kind.h"
#include "data/io/quoted.h"

namespace kith::app {
namespace {

constexpr const char* kSpace = " \t\r";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // that some editors put before UTF-8

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

[[noreturn]] void refuse(const std::string& where, const std::string& expected, const std::string& found) {
  throw Error(ExitCode::usage, fmt::format("{}: expected {}, found '{}'", where, expected, quoted(found, 80)));
}

bool only_comment(const std::string& text) { return text.empty() || text.front() == '#'; }

/// The value at the start of `text`; what follows it may only be a comment.
std::string value_of(const std::string& text, const std::string& where) {
  const char quote = text.empty() ? '\0' : text.front();
  if (quote != '"' && quote != '\'') {
    std::string bare = trimmed(text.substr(0, text.find('#')));
    const bool is_plain = !bare.empty() && bare.find_first_of(" \t[]{},\"'=") == std::string::npos;
    if (!is_plain) refuse(where, "name = value with one number, true, false or \"text\"", text);
    return bare;
  }
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != quote; ++i) {
    const bool escape = quote == '"' && text[i] == '\\';
    if (escape) ++i;
    if (escape && (i == text.size() || (text[i] != '"' && text[i] != '\\'))) refuse(where, "\\\" or \\\\", text);
    value += text[i];
  }
  if (i >= text.size()) refuse(where, "a closing quote", text);
  if (!only_comment(trimmed(text.substr(i + 1)))) refuse(where, "nothing after the value", text);
  return value;
}

}  // namespace

std::vector<ConfigEntry> read_config_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {  // a pipe would block, a device may be endless
    throw Error(ExitCode::usage, fmt::format("--config {}: expected a file, found {}; give a regular file", path,
                                             data::describe_special(status.st_mode)));
  }
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;
  if (status.st_size > kMostBytes) {
    throw Error(ExitCode::usage,
                fmt::format("--config {}: expected a file of at most {} bytes, found {}; give a file of "
                            "`name = value` lines",
                            path, kMostBytes, status.st_size));
  }
  std::ifstream file(path);
  if (!file)
    throw Error(
        ExitCode::usage,
        fmt::format("{}: expected a configuration file that can be read, found: {}; check the name after --config",
                    path, std::strerror(errno)));
  std::vector<ConfigEntry> entries;
  std::string section;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = fmt::format("{}:{}", path, number);
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    const std::string text = trimmed(line);
    if (only_comment(text)) continue;
    if (text.front() == '[') {
      const auto end = text.find(']');
      if (end == std::string::npos || !only_comment(trimmed(text.substr(end + 1)))) refuse(where, "[command]", text);
      section = trimmed(text.substr(1, end - 1));
      continue;
    }
    const auto equals = text.find('=');
    const std::string name = trimmed(text.substr(0, equals));
    if (equals == std::string::npos || name.empty()) refuse(where, "name = value", text);
    entries.push_back({section, name, value_of(trimmed(text.substr(equals + 1)), where), where});
  }
  if (file.bad()) throw Error(ExitCode::usage, fmt::format("{}: cannot read the configuration", path));
  return entries;
}

}  // namespace kith::app
