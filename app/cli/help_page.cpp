// Lays out the help of a command: examples first, options in groups, texts wrapped beside their names.
#include "app/cli/help_page.h"

#include <fmt/format.h>

#include <sstream>

namespace kith::app {
namespace {

constexpr std::size_t kTextColumn = 32;
constexpr std::size_t kWidth = 100;

/// `text` from kTextColumn on, the first line behind `names`.
std::string lay_out(const HelpLine& line) {
  std::string out, row = fmt::format("  {:<{}}", line.names, kTextColumn - 2);
  if (row.size() > kTextColumn) {
    out = row + "\n";
    row.assign(kTextColumn, ' ');
  }
  std::istringstream words(line.text);
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && row.size() + 1 + word.size() > kWidth) {
      out += row + "\n";
      row.assign(kTextColumn, ' ');
      first = true;
    }
    row += (first ? "" : " ") + word;
    first = false;
  }
  return out + row + "\n";
}

}  // namespace

std::string lay_out(const HelpPage& page) {
  std::string out = fmt::format("{}\n\nExamples:\n", page.title);
  for (const std::string& example : page.examples) out += fmt::format("  {}\n", example);
  out += fmt::format("\nUsage: {}\n", page.usage);
  for (const HelpGroup& group : page.groups) {
    if (group.lines.empty()) continue;
    out += fmt::format("\n{}:\n", group.title);
    for (const HelpLine& line : group.lines) out += lay_out(line);
  }
  return out + "\n" + page.closing;
}

}  // namespace kith::app
