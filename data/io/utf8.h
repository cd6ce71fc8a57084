// Characters of UTF-8 (RFC 3629), text in another encoding, and text from files as messages and tables show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // of the character; 0: the text does not begin with valid UTF-8
};
Character first_character(std::string_view text);

/// That some programs write before text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
/// The begin of a text, without such a mark.
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

/// Takes what stands before the first of these characters, and that character, from the front of the text.
std::string_view take_until(std::string_view& text, std::string_view ends);
/// The parts of a text between these characters, one at least; they may be empty.
std::vector<std::string> split_text(std::string_view text, char between);
/// The text in double quotes, with two for each that it has, as CSV and lists of columns have it.
std::string double_quoted(std::string_view text);

/// Appends the character with this code.
void append_utf8(std::string& text, std::uint32_t code);

bool is_utf8(std::string_view text);
/// The text with its letters of ASCII and of ISO 8859-1 in lower case.
std::string lower_case(std::string_view text);
/// The text in UTF-8, which it is, or else as text of Windows-1252, the most common other encoding, which contains
/// ISO 8859-1.
std::string utf8_of(std::string_view text);

/// `text` for people to read: control characters, invisible characters, also those that change the direction of text,
/// and bytes that are not UTF-8 become \n, \x1b, \u202e. A text of more than `most` bytes is cut off, with "..." after
/// it.
std::string quoted(std::string_view text, std::size_t most = 200);
/// The same; without these, a call with a std::string would find std::quoted.
inline std::string quoted(const std::string& text, std::size_t most = 200) {
  return quoted(std::string_view(text), most);
}
inline std::string quoted(std::string& text, std::size_t most = 200) { return quoted(std::string_view(text), most); }
inline std::string quoted(const char* text, std::size_t most = 200) { return quoted(std::string_view(text), most); }

}  // namespace kith
