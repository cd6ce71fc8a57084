// Computes CRC-32 with zlib; files are read in blocks.
#include "data/io/checksum.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace kith::data {

void Checksum::add(const void* bytes, std::size_t count) {
  value_ = static_cast<std::uint32_t>(crc32_z(value_, static_cast<const Bytef*>(bytes), count));
}

void Checksum::append(const Checksum& next, std::int64_t bytes) {
  value_ = static_cast<std::uint32_t>(crc32_combine(value_, next.value_, bytes));
}

std::optional<std::uint32_t> file_checksum(int descriptor, std::int64_t offset, std::int64_t count) {
  constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
  std::vector<unsigned char> block(static_cast<std::size_t>(std::min(count, kBlockBytes)));
  Checksum sum;
  while (count > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(count, kBlockBytes));
    errno = 0;
    const ssize_t got = pread(descriptor, block.data(), wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    sum.add(block.data(), static_cast<std::size_t>(got));
    offset += got;
    count -= got;
  }
  return sum.value();
}

}  // namespace kith::data
