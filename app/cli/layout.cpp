// Wraps text at blanks, lays out tables in as many blocks of columns as the width needs, and help: examples first, then
// options or commands in groups, with texts wrapped beside their names.
#include "app/cli/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/words.h"

namespace kith::app {
namespace {

constexpr std::string_view kNoBreak = "\xc2\xa0";
constexpr std::size_t kSeparation = 2;       // blanks between columns of a table
constexpr std::size_t kLeastWrapped = 16;    // columns for a wrapped cell
constexpr std::size_t kLeastBesideKeys = 8;  // columns beside the key columns that are worth a block

std::string with_blanks(std::string text) {
  for (std::size_t at = text.find(kNoBreak); at != std::string::npos; at = text.find(kNoBreak, at)) {
    text.replace(at, kNoBreak.size(), " ");
  }
  return text;
}

/// Words between blanks; with `quotes`, blanks inside single quotes do not count.
std::vector<std::string> words_of(std::string_view text, bool quotes) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : text) {
    if (quotes && c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty() && words.size() > 1) words.pop_back();
  return words;
}

/// Whether the words are one thing to the eye: a number and what it counts, or an option and its value.
bool belong_together(const std::string& word, const std::string& next) {
  const auto is = [](int (*kind)(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; };
  if (word.empty() || next.empty() || next.front() == '(' || !is(std::isalnum, word.back())) return false;
  if (word.find_first_not_of("0123456789.") == word.npos) return true;
  return word.size() > 1 && word.front() == '-' && (word[1] == '-' || is(std::isalpha, word[1])) && next.front() != '-';
}

/// The words of a text, those that belong together as one.
std::vector<std::string> bound_words(std::string_view text, std::size_t width) {
  std::vector<std::string> words;
  std::string last;  // without what it is bound to
  for (std::string& word : words_of(text, false)) {
    const bool bound = !words.empty() && belong_together(last, word) &&
                       2 * (display_width(words.back()) + display_width(word)) < width;
    last = word;
    if (bound) {
      words.back() += " " + word;
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// `text` in which blanks that follow each other, as in the name of a file, cannot be lost.
std::string with_kept_blanks(std::string text) {
  for (std::size_t at = text.find("  "); at != text.npos; at = text.find("  ", at)) {
    const std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
    std::string kept;
    for (std::size_t i = at; i < end; ++i) kept += kNoBreak;
    text.replace(at, end - at, kept);
  }
  return text;
}

/// Where the command begins with which a message ends, behind ": "; its size if there is none.
std::size_t command_in(const std::string& message) {
  std::size_t begin = message.size();
  for (const char* program :
       {": kith ", ": python3 -c ", ": iconv ", ": mv ", ": tr ", ": awk ", ": head ", ": sed ", ": jq "}) {
    if (const std::size_t at = message.find(program); at != message.npos) begin = std::min(begin, at + 2);
  }
  // What stands behind a semicolon outside quotes is another sentence.
  char quote = '\0';
  for (std::size_t i = begin; i < message.size(); ++i) {
    const char c = message[i];
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && message.compare(i, 2, "; ") == 0) {
      return message.size();
    }
  }
  return begin;
}

std::vector<std::string> fill(const std::vector<std::string>& words, std::size_t width, std::string_view line_end) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t needed = display_width(words[i]) + 1 + (i + 1 < words.size() ? line_end.size() : 0);
    if (lines.empty()) {
      lines.push_back(words[i]);
    } else if (display_width(lines.back()) + needed <= width) {
      lines.back() += " " + words[i];
    } else {
      lines.back() += line_end;
      lines.push_back(words[i]);
    }
  }
  return lines;
}

struct Column {
  std::size_t index;
  std::size_t width;
};

void pad(std::string& line, std::size_t width) {
  line.resize(line.size() + width - std::min(width, display_width(line)), ' ');
}

std::string lay_out_row(const TextTable& table, const std::vector<std::string>& row, const std::vector<Column>& block) {
  std::vector<std::string> lines(1);
  std::size_t begin = table.indent;
  for (const Column& column : block) {
    const Align align = table.columns[column.index];
    const std::string& cell = row[column.index];
    const std::vector<std::string> parts =
        align == Align::wrapped ? wrap(cell, column.width) : std::vector<std::string>{cell};
    lines.resize(std::max(lines.size(), parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t used = display_width(parts[i]);
      pad(lines[i], begin + (align == Align::right ? column.width - used : 0));
      lines[i] += parts[i];
    }
    begin += column.width + kSeparation;
  }
  std::string out;
  for (const std::string& line : lines) out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return out;
}

/// How wide the columns of a table are, and at least, if the cells of wrapped ones are broken wherever they may be.
struct ColumnWidths {
  std::vector<std::size_t> most, least;

  explicit ColumnWidths(const TextTable& table) : most(table.columns.size()), least(table.columns.size()) {
    for (const auto& row : table.rows) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        const std::size_t width = display_width(row[j]);
        most[j] = std::max(most[j], width);
        if (table.columns[j] != Align::wrapped) {
          least[j] = most[j];
          continue;
        }
        least[j] = std::max(least[j], std::min(width, kLeastWrapped));
        for (const std::string& word : wrap(row[j], 1)) least[j] = std::max(least[j], display_width(word));
      }
    }
  }
  /// The width of the table if its wrapped columns are as narrow as `widest`, where they can be.
  std::size_t total(const TextTable& table, std::size_t widest) const {
    std::size_t sum = table.indent + kSeparation * (most.size() - 1);
    for (std::size_t j = 0; j < most.size(); ++j) sum += std::min(most[j], std::max(least[j], widest));
    return sum;
  }
};

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string unbreakable(std::string text) {
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at)) text.replace(at, 1, kNoBreak);
  return text;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines = fill(bound_words(text, width), width, "");
  for (std::string& line : lines) line = with_blanks(std::move(line));
  return lines;
}

namespace {

/// A list option that takes more than a line, as several of it: a shell joins no words that are broken.
std::vector<std::string> divided(const std::string& option, const std::string& word, std::size_t width) {
  const std::vector<std::string> values = split_words(word);
  if (values.size() != 1) return {option + " " + word};
  std::vector<std::string> pieces;
  std::string value, item;
  bool is_quoted = false;
  const auto shown = [&option](const std::string& list) { return option + " " + shell_word(list); };
  const auto take_item = [&] {
    const std::string longer = value.empty() ? item : value + "," + item;
    if (!value.empty() && display_width(shown(longer)) + 2 > width) {
      pieces.push_back(shown(value));
      value = item;
    } else {
      value = longer;
    }
    item.clear();
  };
  for (const char c : values.front()) {
    is_quoted = is_quoted != (c == '"');
    if (c == ',' && !is_quoted) {
      take_item();
    } else {
      item += c;
    }
  }
  take_item();
  pieces.push_back(shown(value));
  return pieces;
}

}  // namespace

std::vector<std::string> wrap_command(std::string_view command, std::size_t width) {
  std::vector<std::string> pieces;
  bool is_option = false;
  for (std::string& word : words_of(command, true)) {
    const bool is_value = is_option && !word.starts_with('-');
    is_option = word.starts_with('-');
    if (is_value && display_width(pieces.back()) + display_width(word) + 3 > width && is_list_option(pieces.back())) {
      const std::string option = pieces.back();
      pieces.pop_back();
      for (std::string& piece : divided(option, word, width)) pieces.push_back(std::move(piece));
    } else if (is_value) {
      pieces.back() += " " + word;
    } else {
      pieces.push_back(std::move(word));
    }
  }
  return fill(pieces, width, " \\");
}

std::string lay_out_command(std::string_view command, std::size_t width) {
  if (display_width(command) + 2 <= width) return fmt::format("  {}\n", command);
  std::string out;
  for (const std::string& line : wrap_command(command, width - 4)) {
    out += fmt::format("{}{}\n", out.empty() ? "  " : "    ", line);
  }
  return out;
}

std::string hang(std::string_view lead, const std::vector<std::string>& lines) {
  std::string out(lead);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += std::string(display_width(lead), ' ');
    out += lines[i] + "\n";
  }
  return out;
}

std::string named_text(const std::string& name, std::string_view text, std::size_t width) {
  return hang(fmt::format("{:<{}}", name, kNameWidth), wrap(text, width - kNameWidth));
}

std::string lay_out_message(std::string_view lead, const std::string& message, std::size_t width) {
  const std::string_view program = "kith: ";  // the further lines are indented by its width
  const auto narrower = [width](std::size_t by) { return width == std::string::npos ? width : width - by; };
  const std::size_t command = command_in(message);
  const std::string before = message.substr(0, command == message.size() ? command : command - 1);
  std::string out;
  if (display_width(lead) + display_width(before) <= width) {
    out = fmt::format("{}{}\n", lead, before);
  } else {
    std::string prose(lead.substr(std::min(program.size(), lead.size())));
    prose += with_kept_blanks(before);
    out = hang(lead.substr(0, program.size()), wrap(prose, narrower(program.size())));
  }
  if (command == message.size()) return out;
  return out + lay_out_command(message.substr(command), width);
}

std::string lay_out_line(const std::string& line, std::size_t width) {
  if (display_width(line) <= width) return line + "\n";
  std::size_t begin = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", begin);
  constexpr std::size_t kWidestName = 12;
  if (gap != line.npos && gap < kWidestName) begin = line.find_first_not_of(' ', gap);
  const bool has_name = begin > 0 && gap != line.npos && gap < begin;
  const std::string lead = line.substr(0, has_name ? begin : 0);
  const std::size_t indent = has_name ? begin : 2 + begin;
  const std::vector<std::string> lines = wrap(with_kept_blanks(line.substr(begin)), width - indent);
  std::string out;
  for (const std::string& part : lines) {
    out += out.empty() && !has_name ? std::string(begin, ' ') : out.empty() ? lead : std::string(indent, ' ');
    out += part + "\n";
  }
  return out;
}

std::size_t least_width(const TextTable& table) { return ColumnWidths(table).total(table, 0); }

std::string lay_out(const TextTable& table, std::size_t width) {
  const ColumnWidths found(table);
  std::vector<std::size_t> widths = found.most;
  if (found.total(table, 0) <= width) {  // one block: wrapped columns share what the others leave
    std::size_t widest = *std::ranges::max_element(widths);
    while (found.total(table, widest) > width) --widest;
    for (std::size_t j = 0; j < widths.size(); ++j) widths[j] = std::min(widths[j], std::max(found.least[j], widest));
  }
  std::vector<Column> keys;
  std::size_t beside_keys = table.indent;
  for (std::size_t j = 0; j < table.keys; ++j) {
    keys.push_back({j, widths[j]});
    beside_keys += widths[j] + kSeparation;
  }
  if (beside_keys + kLeastBesideKeys > width) width = std::string::npos;  // no block of columns could fit
  // Each block repeats the key columns, and takes the next columns as long as they fit.
  std::vector<std::vector<Column>> blocks{keys};
  std::size_t used = beside_keys;
  for (std::size_t j = table.keys; j < widths.size(); ++j) {
    const bool can_wrap = table.columns[j] == Align::wrapped;
    const auto fits = [&] { return used + (can_wrap ? std::min(widths[j], kLeastWrapped) : widths[j]) <= width; };
    if (!fits() && used > beside_keys) {
      blocks.push_back(keys);
      used = beside_keys;
    }
    const std::size_t taken = can_wrap ? std::min(widths[j], width - std::min(used, width - kLeastWrapped)) : widths[j];
    blocks.back().push_back({j, taken});
    used += taken + kSeparation;
  }
  std::string out;
  for (const auto& block : blocks) {
    if (!out.empty()) out += "\n";
    for (const auto& row : table.rows) out += lay_out_row(table, row, block);
  }
  return out;
}

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
  return out + lay_out_command(example, width);
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

/// The variables that every command reads.
constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"COLUMNS", "Width of tables, messages and help. Without it, that of the terminal, else 80."},
    {"NO_COLOR", "If it is set, messages have no colours."},
    {"KITH_CPU",
     "Instruction set to compute with: one of those that kith devices prints. Results do not depend on it."},
    {"KITH_HDF5", "inside: the HDF5 library runs in kith itself, not in a process with limits. For debugging."},
};
constexpr std::pair<const char*, const char*> kOptionVariable = {
    "KITH_OPTION",
    "Value of an option, as KITH_THREADS is that of --threads. Options on the command line override it, and it "
    "overrides "
    "the file of --config."};
constexpr std::pair<const char*, const char*> kConfigFile = {
    "kith.toml",
    "Options, if --config names the file: lines such as threads = 4. Those behind [cluster] are for that command "
    "alone."};
constexpr std::pair<const char*, const char*> kOutputFile = {
    ".NAME.PROCESS-RANDOM.part",
    "The output NAME until it is complete: it is written in the same folder, checked, and then renamed. Another run of "
    "kith removes what remains of it after kill -9."};

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
  const auto section = [&out](const char* title, const auto& entries) {
    if (title != nullptr) out += fmt::format(".SH {}\n", title);
    for (const auto& [name, text] : entries) out += fmt::format(".TP\n{}\n{}\n", roff(name), roff(text));
  };
  section("EXIT STATUS", kExitStatus);
  section("ENVIRONMENT", kEnvironment);
  if (page.takes_config) {
    section(nullptr, std::array{kOptionVariable});
    section("FILES", std::array{kConfigFile, kOutputFile});
  }
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
