// The members of a zip archive, stored or deflated, as numpy.savez writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"

namespace kith::data {

struct ZipMember {
  std::string name;
  std::int64_t at = 0;      // position of its bytes in the file
  std::int64_t stored = 0;  // bytes in the file
  std::int64_t size = 0;    // inflated bytes
  std::uint32_t checksum = 0;
  bool deflated = false;
  std::string obstacle;  // why it cannot be read: encrypted, or another compression; else empty
};

/// In the order of the archive. Throws Error(data) if the archive is damaged.
std::vector<ZipMember> zip_members(const InputBytes& input);

/// The first bytes of a member, at most `count`.
std::vector<std::byte> extract_begin(const InputBytes& input, const ZipMember& member, std::int64_t count);

/// Throws Error(data) if these bytes are a whole member and its checksum differs from that in the archive.
void verify_whole(const InputBytes& input, const ZipMember& member, const std::vector<std::byte>& bytes);

/// A whole deflated member under `name`, in memory or in a file of the folder `scratch`. Throws Error(data) if its size
/// or checksum differs from that in the archive, and as ByteStore does.
InputBytes extract(const InputBytes& input, const ZipMember& member, const std::string& name,
                   const std::string& scratch);

/// Reads all bytes of a stored member, with several threads. Throws Error(data) if its checksum differs from that in
/// the archive.
void verify_stored(const InputBytes& input, const ZipMember& member, int threads);

}  // namespace kith::data
