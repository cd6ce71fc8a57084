// Decodes UTF-8 (RFC 3629) to find what a terminal would obey or what would mislead a reader.
#include "data/io/quoted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "data/io/utf8.h"

namespace kith {
namespace {

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
