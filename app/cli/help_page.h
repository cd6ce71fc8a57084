// Lays out help: examples first, then options or commands in groups, with texts wrapped beside their names.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kith::app {

struct HelpLine {
  std::string names;  // "-k, --clusters K"
  std::string text;
  std::vector<std::string> choices = {};  // of the value, if these are all
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
  std::string closing;            // empty: none
};

/// As what the help is written: text for the terminal, as wide as it is (--help, -h); the source of a manual page, man
/// 7 groff_man (--help=manual); or for a shell that completes words, a line for each name with its choices behind it
/// (--help=words).
enum class HelpForm { text, manual, words };
/// The form for which a word of the command line asks, if it asks for help.
std::optional<HelpForm> asked_help(const std::string& word);
std::string in_form(HelpForm form, const HelpPage& page);

/// Both in lines of at most `width` columns, as far as single words allow.
std::string lay_out(const HelpPage& page, std::size_t width);
std::string lay_out(const HelpGroup& group, std::size_t width);

}  // namespace kith::app
