// Lays out help: examples first, then options or commands in groups, with texts wrapped beside their names.
#include "app/cli/help_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"

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

/// The exit codes of every command (core/error.h), as docs/commands.md has them.
constexpr std::pair<const char*, const char*> kExitStatus[] = {
    {"0", "done"},
    {"1", "internal error; or lists that differ from --truth, or a result that is not fresh"},
    {"2", "usage: options, numbers, k out of range"},
    {"3", "data: missing, damaged or unsuitable input"},
    {"4", "device: what was named cannot be used, or a GPU was lost"},
    {"5", "output: cannot be written, or must not be"},
    {"6", "memory: the run does not fit in what is free or allowed; the same command can succeed with more"},
    {"124", "stopped by --time-limit"},
    {"128 + n", "ended by signal n"},
};

/// Text, in which only no-break spaces are not ASCII, without meaning for roff.
std::string roff(const std::string& text) {
  std::string out;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) out = "\\&";
  constexpr char kNoBreak = '\xa0', kLead = '\xc2';  // U+00A0 in UTF-8
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == kNoBreak) {
      out += "\\ ";
    } else if (c != kLead) {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The words that a shell completes, a line each with the values of an option: "--metric euclidean cosine", "cluster".
std::string completion_words(const HelpPage& page) {
  std::string out;
  for (const HelpGroup& group : page.groups) {
    for (const HelpLine& line : group.lines) {
      for (std::size_t at = 0; at < line.names.size();) {
        const std::size_t begin = std::min(line.names.find_first_not_of(" ,", at), line.names.size());
        at = std::min(line.names.find_first_of(" ,", begin), line.names.size());
        const std::string name = line.names.substr(begin, at - begin);
        const bool is_word = name.starts_with("-") || (!name.empty() && name.front() >= 'a' && name.front() <= 'z');
        if (is_word) out += fmt::format("{} {}\n", name, fmt::join(line.choices, " "));
      }
    }
  }
  return out;
}

/// A manual page (troff). The title, "kith cluster: what it does", becomes its NAME section.
std::string manual_of(const HelpPage& page) {
  const std::size_t colon = std::min(page.title.find(": "), page.title.size());
  std::string name = page.title.substr(0, colon);
  std::replace(name.begin(), name.end(), ' ', '-');
  const std::string summary = colon < page.title.size() ? page.title.substr(colon + 2) : "";
  std::string out = fmt::format(".TH {} 1 \"\" \"kith {}\" \"User Commands\"\n", upper(roff(name)), KITH_VERSION);
  out += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", roff(name), roff(summary), roff(page.usage));
  for (const HelpGroup& group : page.groups) {
    if (group.lines.empty()) continue;
    out += fmt::format(".SH {}\n", upper(roff(group.title)));
    for (const HelpLine& line : group.lines) {
      const std::string names = line.names.substr(std::min(line.names.find_first_not_of(' '), line.names.size()));
      out += fmt::format(".TP\n{}\n{}\n", roff(names), roff(line.text));
    }
  }
  out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : page.examples) out += roff(example) + "\n";
  out += ".fi\n";
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitStatus) out += fmt::format(".TP\n{}\n{}\n", roff(code), roff(meaning));
  return page.closing.empty() ? out : out + fmt::format(".SH NOTES\n{}\n", roff(page.closing));
}

}  // namespace

std::optional<HelpForm> asked_help(const std::string& word) {
  if (word == "--help" || word == "-h") return HelpForm::text;
  if (word == "--help=manual") return HelpForm::manual;
  if (word == "--help=words") return HelpForm::words;
  return {};
}

std::string in_form(HelpForm form, const HelpPage& page) {
  if (form == HelpForm::text) return lay_out(page, prose_width(Stream::output));
  return form == HelpForm::manual ? manual_of(page) : completion_words(page);
}

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
  return page.closing.empty() ? out : out + "\n" + hang("", wrap(page.closing, width));
}

}  // namespace kith::app
