// Inputs that can only be read from start to end, standard input and compressed files, in memory or in a scratch file.
#pragma once

#include <cstdint>
#include <string>

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

/// The content of a part of `input` that zlib deflated, with its header; at most `count` bytes of it. Throws as
/// open_stream() does.
InputBytes inflate_zlib(const InputBytes& input, std::int64_t at, std::int64_t stored, std::int64_t count,
                        const std::string& name, const std::string& scratch = {});

}  // namespace kith::data
