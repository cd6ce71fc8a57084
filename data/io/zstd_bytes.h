// Data compressed with zstd (RFC 8878), if kith was built with libzstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/io/input_bytes.h"

namespace kith::data {

constexpr std::string_view kZstdSignature("\x28\xb5\x2f\xfd");
/// More than a block, of which nothing can be decoded before all of it is there.
constexpr std::int64_t kZstdBlockBytes = std::int64_t{256} << 10;

/// Whether kith was built with libzstd; the functions below need it.
bool has_zstd();

/// The content of all frames. Throws Error(data) if the input is damaged or cut off, and as ByteStore does if the
/// content does not fit. scratch: as for ByteStore.
InputBytes inflate_zstd(const InputBytes& input, const std::string& scratch = {});

/// The content of the first bytes of such data, at most `count` bytes of it; empty if they are damaged.
std::string zstd_begin(std::string_view bytes, std::int64_t count);

/// Decodes one frame or several into `out`. Returns the number of bytes, or -1 if they are damaged or do not fit.
std::int64_t decode_zstd(std::span<const std::byte> in, std::span<std::byte> out);

/// The number of bytes that the first frame says it decodes to; 0 if it does not say so or claims more than zstd can.
std::int64_t zstd_content_bytes(std::span<const std::byte> in);

}  // namespace kith::data
