// The configuration file: `name = value` lines, in sections named after commands.
#pragma once

#include <string>
#include <vector>

namespace kith::app {

/// One line of the file that sets an option.
struct ConfigEntry {
  std::string section;  // command name, empty before the first section
  std::string name;     // option name without dashes
  std::string value;    // without quotes
  std::string where;    // "kith.toml:3"
};

/// The part of TOML that options need: comments, [section], strings in either quotes, numbers, true and false.
/// Throws Error(usage) with file and line.
std::vector<ConfigEntry> read_config_file(const std::string& path);

}  // namespace kith::app
