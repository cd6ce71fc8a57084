// Lays out help: examples first, then options or commands in groups, with texts wrapped beside their names.
#pragma once

#include <string>
#include <vector>

namespace kith::app {

struct HelpLine {
  std::string names;  // "-k, --clusters K"
  std::string text;
};

struct HelpGroup {
  std::string title;
  std::vector<HelpLine> lines;
};

struct HelpPage {
  std::string title;
  std::vector<std::string> examples;  // command lines, with a comment after " #" or without
  std::string usage;
  std::vector<HelpGroup> groups;  // groups without lines are not printed
  std::string closing;
};

/// Both in lines of at most `width` columns, as far as single words allow.
std::string lay_out(const HelpPage& page, std::size_t width);
std::string lay_out(const HelpGroup& group, std::size_t width);

}  // namespace kith::app
