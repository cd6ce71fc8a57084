// Keeps the first value of each kind, and words the remarks.
#include "data/text/text_notes.h"

#include <fmt/format.h>

#include <utility>

#include "data/format/column_choice.h"
#include "data/io/quoted.h"

namespace kith::data {

void TextNotes::add(Kind kind, std::int64_t line, std::int64_t column, std::string text) {
  const std::lock_guard lock(mutex_);
  if (kind == unknown) unknown_lines_.insert(line);
  Noted& first = first_[kind];
  if (first.line > 0 && std::pair(first.line, first.column) <= std::pair(line, column)) return;
  first = {line, column, std::move(text)};
}

std::int64_t TextNotes::unknown_rows() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(unknown_lines_);
}

std::vector<std::string> TextNotes::remarks(const TextHead& head, std::int64_t rows) const {
  constexpr std::size_t kShownBytes = 40;
  const std::lock_guard lock(mutex_);
  std::vector<std::string> remarks;
  const auto remark = [&](Kind kind, const auto& words) {
    const Noted& noted = first_[kind];
    if (noted.line == 0) return;
    remarks.push_back(words(fmt::format("line {}, {}", noted.line, show_column(head.names, noted.column)),
                            quoted(noted.text, kShownBytes), option_text(head.names, noted.column)));
  };
  remark(open_end, [](const std::string& place, const std::string& text, const std::string&) {
    return fmt::format(
        "{} has the date {}, which databases write where there is none, and which is far from all others; "
        "--na-values '{}' makes a missing value of it",
        place, text, text);
  });
  remark(of_accounts, [](const std::string& place, const std::string& text, const std::string&) {
    return fmt::format("{}: '{}' and the like were read as negative, as accounts write numbers", place, text);
  });
  remark(rounded, [](const std::string& place, const std::string& text, const std::string& option) {
    return fmt::format(
        "{}: float64 cannot hold the whole number {}, which was rounded; if such numbers identify rows, "
        "leave them out with --drop-columns {}",
        place, text, option);
  });
  remark(unknown, [&](const std::string& place, const std::string& text, const std::string&) {
    const bool is_one = unknown_lines_.size() == 1;
    return fmt::format(
        "{} of {} rows {} a value that the model does not know, the first in {}: '{}'; {} no label (-1); "
        "--unknown error refuses such rows",
        unknown_lines_.size(), rows, is_one ? "has" : "have", place, text, is_one ? "it gets" : "they get");
  });
  return remarks;
}

}  // namespace kith::data
