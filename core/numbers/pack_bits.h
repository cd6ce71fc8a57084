// Rows of bits, packed in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kith {

/// Packs a row of 0 and 1 as numpy.packbits() does: eight values in each byte of `out` (d / 8, rounded up), the first
/// in the most significant place, and zeros behind the last. Returns the place of the first value that is neither, or
/// d.
template <class T>
std::size_t pack_bits(std::span<const T> values, std::span<std::uint8_t> out) {
  constexpr std::size_t kOfByte = 8;
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  for (std::size_t j = 0; j < values.size(); ++j) {
    const bool is_set = values[j] == T{1};
    if (!is_set && values[j] != T{0}) return j;
    out[j / kOfByte] = static_cast<std::uint8_t>(out[j / kOfByte] | (is_set ? 0x80U >> (j % kOfByte) : 0U));
  }
  return values.size();
}

}  // namespace kith
