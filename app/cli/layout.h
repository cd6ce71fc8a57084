// Text in a limited width: wrapped paragraphs, command lines and tables; and help, in its forms.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kith::app {

/// Columns of a terminal that UTF-8 text takes: one for each code point.
std::size_t display_width(std::string_view text);

/// `text` with no-break spaces (U+00A0) in place of blanks: wrap() keeps it on one line.
std::string unbreakable(std::string text);

/// Lines of at most `width` columns, broken at blanks, but neither between a number and the word behind it nor between
/// an option and its value. A longer word gets a line of its own and is not broken. No-break spaces become blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// The same for a shell command: a line that continues ends in " \", and quoted words and an option and its value stay
/// on one line.
std::vector<std::string> wrap_command(std::string_view command, std::size_t width);

/// A command to copy, in lines of its own that are indented, each ended by a line feed.
std::string lay_out_command(std::string_view command, std::size_t width);

/// `lead` followed by `lines`, each ended by a line feed; the lines after the first are indented to the end of `lead`.
std::string hang(std::string_view lead, const std::vector<std::string>& lines);
/// What a run says of one of its facts: its name, and behind it the text in lines of `width`.
inline constexpr std::size_t kNameWidth = 11;
std::string named_text(const std::string& name, std::string_view text, std::size_t width);

/// A message behind `lead` ("kith: "), ended by a line feed. A command at its end, as in "...; continue with: kith
/// resume run.kith", has lines of its own, to be copied.
std::string lay_out_message(std::string_view lead, const std::string& message, std::size_t width);

/// A line of a summary or of other messages that may be too long: what continues it is indented to the value behind its
/// name ("points     "), else by two columns. Ended by a line feed.
std::string lay_out_line(const std::string& line, std::size_t width);

/// How cells stand in their column; those of a wrapped column may take several lines.
enum class Align { left, right, wrapped };

struct TextTable {
  std::vector<Align> columns;
  std::vector<std::vector<std::string>> rows;  // the head first
  std::size_t keys = 1;                        // leading columns that say what a row is
  std::size_t indent = 0;
};

/// The width from which on lay_out() makes one table of it.
std::size_t least_width(const TextTable& table);

/// Columns two blanks apart, each as wide as its widest cell, or wrapped ones as narrow as `width` asks for. A table
/// wider than `width` is printed as several tables of fewer columns, an empty line between, each of which begins with
/// the key columns.
std::string lay_out(const TextTable& table, std::size_t width);

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
  bool takes_config = false;      // options also come from the environment and from the file of --config
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
