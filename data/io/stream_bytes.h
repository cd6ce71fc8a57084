// Inputs that can only be read from start to end, standard input and compressed files, and the members of zip archives:
// inflated in memory or in a scratch file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"

namespace kith::data {

/// Whether this name stands for standard input.
bool is_standard_input(const std::string& file);

/// A file, or standard input, inflated if it is compressed with gzip or zstd. expected: as for InputBytes::open().
/// scratch: as for ByteStore. Throws as both do, Error(data) if the compressed data are damaged or cut off, and
/// Error(usage) if standard input has been read before.
InputBytes open_stream(const std::string& file, const std::string& expected, const std::string& scratch = {});

constexpr std::int64_t kSampleBytes = 4096;

/// The first bytes of that, at most kSampleBytes; empty if there are none or they cannot be read. Those of standard
/// input remain to be read.
std::string begin_of_stream(const std::string& file);

/// Deflate makes at most this many bytes of one. A file that declares more is damaged, or made to fill the memory.
constexpr std::int64_t kDeflateExpansion = 1032;

/// The compression of a file, "gzip" or "zstd", as its first bytes say; empty for none.
std::string compression_of(const std::string& file);

/// The same as DatasetInfo::filters.
std::vector<std::string> filters_of(const std::string& file);

/// The content of a part of `input` that zlib deflated, with its header; at most `count` bytes of it. Throws as
/// open_stream() does.
InputBytes inflate_zlib(const InputBytes& input, std::int64_t at, std::int64_t stored, std::int64_t count,
                        const std::string& name, const std::string& scratch = {});

// The members of a zip archive, stored or deflated, as numpy.savez writes them.

struct ZipMember {
  std::string name;
  std::int64_t at = 0;      // position of its bytes in the file
  std::int64_t stored = 0;  // bytes in the file
  std::int64_t size = 0;    // inflated bytes
  std::uint32_t checksum = 0;
  bool deflated = false;
  std::string obstacle;  // why it cannot be read: encrypted, or another compression; else empty
};

/// The members in the order of the archive. Throws Error(data) if the archive is damaged.
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
