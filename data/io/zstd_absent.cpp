// A build without libzstd: nothing compressed with zstd is read.
#include "core/error.h"
#include "data/io/zstd_bytes.h"

namespace kith::data {

bool has_zstd() { return false; }

InputBytes inflate_zstd(const InputBytes&, const std::string&) {
  throw Error(ExitCode::internal, "zstd: not in this build");
}

std::string zstd_begin(std::string_view, std::int64_t) { return ""; }

std::int64_t decode_zstd(std::span<const std::byte>, std::span<std::byte>) { return -1; }

std::int64_t zstd_content_bytes(std::span<const std::byte>) { return 0; }

}  // namespace kith::data
