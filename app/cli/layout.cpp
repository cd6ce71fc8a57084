// Wraps text at blanks, and lays out tables in as many blocks of columns as the width needs.
#include "app/cli/layout.h"

#include <algorithm>

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
  std::vector<std::string> lines = fill(words_of(text, false), width, "");
  for (std::string& line : lines) line = with_blanks(std::move(line));
  return lines;
}

std::vector<std::string> wrap_command(std::string_view command, std::size_t width) {
  std::vector<std::string> pieces;
  bool is_option = false;
  for (std::string& word : words_of(command, true)) {
    const bool is_value = is_option && !word.starts_with('-');
    is_option = word.starts_with('-');
    if (is_value) {
      pieces.back() += " " + word;
    } else {
      pieces.push_back(std::move(word));
    }
  }
  return fill(pieces, width, " \\");
}

std::string hang(std::string_view lead, const std::vector<std::string>& lines) {
  std::string out(lead);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += std::string(display_width(lead), ' ');
    out += lines[i] + "\n";
  }
  return out;
}

std::string lay_out(const TextTable& table, std::size_t width) {
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& row : table.rows) {
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], display_width(row[j]));
  }
  std::vector<Column> keys;
  std::size_t beside_keys = table.indent;
  for (std::size_t j = 0; j < table.keys; ++j) {
    keys.push_back({j, widths[j]});
    beside_keys += widths[j] + kSeparation;
  }
  if (beside_keys + kLeastBesideKeys > width) width = std::string::npos;  // no block of columns could fit
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

}  // namespace kith::app
