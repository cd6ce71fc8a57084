// Decodes UTF-8 (RFC 3629) to find what a terminal would obey or what would mislead a reader.
#include "core/quoted.h"

#include <fmt/format.h>

#include <cstdint>

namespace kith {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // of the character; 0: the text does not begin with valid UTF-8
};

Character first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // a code in more bytes than needed is not UTF-8
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (lead < 0xc0 || lead > 0xf4 || code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// Marks, embeddings, overrides and isolates of bidirectional text, and line and paragraph separators.
bool changes_direction_or_line(std::uint32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string quoted(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    if (at + bytes > most) return out + "...";
    if (next.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    } else if (next.code == '\n') {
      out += "\\n";
    } else if (is_control(next.code)) {
      out += fmt::format("\\x{:02x}", next.code);
    } else if (changes_direction_or_line(next.code)) {
      out += fmt::format("\\u{:04x}", next.code);
    } else {
      out += text.substr(at, bytes);
    }
    at += bytes;
  }
  return out;
}

}  // namespace kith
