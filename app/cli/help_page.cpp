// Lays out help: examples first, then options or commands in groups, with texts wrapped beside their names.
#include "app/cli/help_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/layout.h"

namespace kith::app {
namespace {

constexpr std::size_t kWidestNames = 26;  // longer names stand on a line of their own
constexpr std::size_t kLeastText = 30;    // columns for texts beside names; with fewer, texts stand below them
constexpr std::size_t kIndent = 2;

/// The column at which the texts of a group begin.
std::size_t text_column(const HelpGroup& group, std::size_t width) {
  std::size_t widest = 0;
  for (const HelpLine& line : group.lines) widest = std::max(widest, line.names.size());
  const std::size_t column = kIndent + std::min(widest, kWidestNames - kIndent) + 2;
  return width >= column + kLeastText ? column : 4 * kIndent;
}

std::string lay_out(const HelpLine& line, std::size_t column, std::size_t width) {
  std::string lead = fmt::format("{:{}}{}", "", kIndent, line.names), out;
  if (lead.size() + 2 > column) out = std::exchange(lead, "") + "\n";
  lead.resize(column, ' ');
  return out + hang(lead, wrap(line.text, width - column));
}

/// A comment that does not fit beside its command stands above it.
std::string lay_out_example(std::string example, std::size_t width) {
  std::string out;
  const std::size_t comment = example.find(" # ");
  if (comment != std::string::npos && kIndent + example.size() > width) {
    out = hang("  # ", wrap(example.substr(comment + 3), width - 4));
    example.resize(example.find_last_not_of(' ', comment) + 1);
  }
  if (kIndent + example.size() <= width) return fmt::format("{}  {}\n", out, example);
  for (const std::string& line : wrap_command(example, width - 4)) {
    out += fmt::format("{}{}\n", line.starts_with("kith ") ? "  " : "    ", line);
  }
  return out;
}

}  // namespace

std::string lay_out(const HelpGroup& group, std::size_t width) {
  std::string out = fmt::format("{}:\n", group.title);
  const std::size_t column = text_column(group, width);
  for (const HelpLine& line : group.lines) out += lay_out(line, column, width);
  return out;
}

std::string lay_out(const HelpPage& page, std::size_t width) {
  std::string out = hang("", wrap(page.title, width)) + "\nExamples:\n";
  for (const std::string& example : page.examples) out += lay_out_example(example, width);
  out += "\n" + hang("Usage: ", wrap(page.usage, width - 7));
  for (const HelpGroup& group : page.groups) {
    if (!group.lines.empty()) out += "\n" + lay_out(group, width);
  }
  return out + "\n" + hang("", wrap(page.closing, width));
}

}  // namespace kith::app
