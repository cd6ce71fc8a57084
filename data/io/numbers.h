// Little-endian integers in the bytes of a file, on any machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kith::data {

/// The unsigned integer in the first `count` of `bytes`, at most 8.
inline std::uint64_t little_endian(const std::byte* bytes, int count) {
  std::uint64_t value = 0;
  for (int b = 0; b < count; ++b) value |= std::to_integer<std::uint64_t>(bytes[b]) << (8 * b);
  return value;
}

}  // namespace kith::data
