// Decodes UTF-8, and text of Windows-1252; finds what a terminal would obey or what would mislead a reader.
#include "data/io/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::vector<std::string> split_text(std::string_view text, char between) {
  std::vector<std::string> parts(1);
  for (const char c : text) c == between ? void(parts.emplace_back()) : parts.back().push_back(c);
  return parts;
}

std::string double_quoted(std::string_view text) {
  return fmt::format("\"{}\"", fmt::join(split_text(text, '"'), "\"\""));
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes behind the first one
  constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

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

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : first_character(text.substr(at)).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const auto byte = static_cast<unsigned char>(lower[i]);
    // \u00c0 to \u00de, but for the sign of multiplication, in UTF-8
    const bool is_latin = i > 0 && lower[i - 1] == '\xc3' && byte >= 0x80 && byte <= 0x9e && byte != 0x97;
    if ((byte >= 'A' && byte <= 'Z') || is_latin) lower[i] = static_cast<char>(byte + 0x20);
    if (i == 0 || lower[i - 1] != '\xd0' || byte < 0x90 || byte > 0xaf) continue;  // Cyrillic
    lower[i] = static_cast<char>(byte < 0xa0 ? byte + 0x20 : byte - 0x20);
    if (byte >= 0xa0) lower[i - 1] = '\xd1';
  }
  return lower;
}

std::string utf8_of(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  // 0x80 to 0x9f; all other bytes are their own codes, as in ISO 8859-1.
  constexpr std::uint16_t kCodes[] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                      0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                      0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                      0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(out, byte >= 0x80 && byte < 0xa0 ? kCodes[byte - 0x80] : byte);
  }
  return out;
}

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
