// Lines of numbers that are no table: the words of each line, and the refusal of a line.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "data/io/input_bytes.h"
#include "data/text/text_index.h"

namespace kith::data {

/// The lines of a file without blank ones and those that begin with `comment`.
class NumberLines {
 public:
  NumberLines(InputBytes input, char comment);

  const InputBytes& input() const { return input_; }
  std::int64_t count() const { return index_.rows; }
  /// Calls visit(line, number) for each, with its number in the file, counted from 1.
  template <class Visit>
  void visit(const Visit& visit) const {
    Matrix<std::byte> buffer;
    for (const TextBlock& block : index_.blocks) {
      for_records(input_, syntax_, block, buffer,
                  [&visit](std::string_view text, std::int64_t, std::int64_t number) { visit(text, number); });
    }
    input_.check_unchanged();
  }
  /// Throws Error(data) about the line with this number.
  [[noreturn]] void refuse(std::int64_t number, const std::string& problem) const;

 private:
  InputBytes input_;
  TextSyntax syntax_;
  TextIndex index_;
};

/// Takes the first word from `text`, up to a blank; empty at the end.
inline std::string_view take_word(std::string_view& text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t begin = 0;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

/// Whether the whole text is a whole number.
inline bool to_whole_number(std::string_view text, std::int64_t& number) {
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && stop == text.data() + text.size();
}

}  // namespace kith::data
