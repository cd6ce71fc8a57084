// Lays out the help of a command: examples first, options in groups, texts wrapped beside their names.
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
  std::vector<std::string> examples;
  std::string usage;
  std::vector<HelpGroup> groups;  // those without lines are left out
  std::string closing;
};

std::string lay_out(const HelpPage& page);

}  // namespace kith::app
