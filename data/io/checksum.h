// CRC-32 of bytes in memory and in files, as in zlib.crc32() of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kith::data {

/// The checksum of bytes that come in parts.
class Checksum {
 public:
  void add(const void* bytes, std::size_t count);
  /// Appends `bytes` bytes of which only the checksum is known.
  void append(const Checksum& next, std::int64_t bytes);
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

/// The checksum of `count` bytes of an open file from `offset` on; nullopt if they cannot be read. errno tells the
/// reason; 0: the file is shorter.
std::optional<std::uint32_t> file_checksum(int descriptor, std::int64_t offset, std::int64_t count);

}  // namespace kith::data
