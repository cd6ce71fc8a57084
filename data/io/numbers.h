// Numbers in the bytes and in the texts of files, on any machine.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace kith::data {

/// The little-endian unsigned integer in the first `count` of `bytes`, at most 8.
inline std::uint64_t little_endian(const std::byte* bytes, int count) {
  std::uint64_t value = 0;
  for (int b = 0; b < count; ++b) value |= std::to_integer<std::uint64_t>(bytes[b]) << (8 * b);
  return value;
}

/// Reads the number that the whole text is, as std::from_chars() does; false: it is none of this type.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && stop == text.data() + text.size();
}

}  // namespace kith::data
