// The name of an ICC colour profile (ICC.1:2022), from its tag `desc`.
#include <algorithm>

#include "data/io/quoted.h"
#include "data/picture/decoders.h"

namespace kith::data {
namespace {

constexpr std::uint32_t kDescription = 0x64657363;  // "desc": the tag, and the type of its text in version 2
constexpr std::uint32_t kLocalised = 0x6d6c7563;    // "mluc": the type in version 4, UTF-16 in several languages
constexpr std::size_t kLongest = 60;                // bytes of a name in a message

/// The number at this byte, 0 behind the end.
std::uint32_t number(std::span<const unsigned char> bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < 4) return 0;
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

std::span<const unsigned char> part(std::span<const unsigned char> bytes, std::size_t at, std::size_t length) {
  return at > bytes.size() ? bytes.first(0) : bytes.subspan(at, std::min(length, bytes.size() - at));
}

std::string text_of(std::span<const unsigned char> tag) {
  std::string text;
  if (number(tag, 0) == kDescription) {
    for (const unsigned char c : part(tag, 12, number(tag, 8))) text += static_cast<char>(c);
  } else if (number(tag, 0) == kLocalised && number(tag, 8) > 0) {
    const auto wide = part(tag, number(tag, 24), number(tag, 20));
    for (std::size_t i = 0; i + 1 < wide.size(); i += 2) {
      text += wide[i] == 0 ? static_cast<char>(wide[i + 1]) : '?';
    }
  }
  return text.substr(0, std::min(text.find('\0'), kLongest));
}

}  // namespace

std::string profile_note(std::span<const unsigned char> profile) {
  constexpr std::size_t kHead = 128, kEntry = 12;
  std::string name;
  const std::size_t tags = std::min<std::size_t>(number(profile, kHead), profile.size() / kEntry);
  for (std::size_t i = 0; i < tags && name.empty(); ++i) {
    const std::size_t at = kHead + 4 + i * kEntry;
    if (number(profile, at) == kDescription) {
      name = text_of(part(profile, number(profile, at + 4), number(profile, at + 8)));
    }
  }
  if (name.find("sRGB") != name.npos) return "";
  return "the colour profile" + (name.empty() ? "" : " '" + kith::quoted(name) + "'") +
         " is ignored, values are taken as sRGB; convert the picture to sRGB first if exact colours matter";
}

}  // namespace kith::data
