// Decodes UTF-8 (RFC 3629) to find what a terminal would obey or what would mislead a reader.
#include "data/io/quoted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

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

/// What shows nothing itself, so that different texts look equal: Unicode's Default_Ignorable_Code_Point (zero-width
/// blanks and joiners, soft hyphens, fillers, selectors, tags; marks, embeddings, overrides and isolates of
/// bidirectional text), line and paragraph separators, and the annotations of notes and music.
bool is_invisible(std::uint32_t code) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
      {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},  {0x180b, 0x180f},
      {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},  {0xfeff, 0xfeff},
      {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  return std::ranges::any_of(kRanges,
                             [code](const auto& range) { return range.first <= code && code <= range.second; });
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
    } else if (is_invisible(next.code)) {
      out += next.code > 0xffff ? fmt::format("\\U{:08x}", next.code) : fmt::format("\\u{:04x}", next.code);
    } else {
      out += text.substr(at, bytes);
    }
    at += bytes;
  }
  return out;
}

}  // namespace kith
