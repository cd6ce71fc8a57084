// Decodes UTF-8, and text of Windows-1252.
#include "data/io/utf8.h"

namespace kith {

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

}  // namespace kith
