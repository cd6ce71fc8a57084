// Text from files in messages and tables: control and invisible characters and what is not UTF-8 escaped, the length
// limited.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kith {

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
