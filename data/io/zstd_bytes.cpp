// Decodes zstd with libzstd, within the memory of the run.
#include "data/io/zstd_bytes.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <vector>

#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/scratch_file.h"

namespace kith::data {
namespace {

using Decoder = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

/// A decoder whose window takes at most a quarter of the memory that is left.
Decoder make_decoder() {
  Decoder decoder(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (decoder == nullptr) throw std::bad_alloc();
  constexpr int kLeast = 10, kMost = 27;  // of the logarithm of the window; 27 is what the zstd program takes
  const auto quarter = static_cast<std::uint64_t>(std::max<std::int64_t>(memory_limit() / 4, 1));
  ZSTD_DCtx_setParameter(decoder.get(), ZSTD_d_windowLogMax,
                         std::clamp(static_cast<int>(std::bit_width(quarter)) - 1, kLeast, kMost));
  return decoder;
}

[[noreturn]] void refuse(const std::string& name, std::size_t code) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
    refuse_input(name,
                 "compressed with a zstd window of more than 128 MiB or a quarter of the memory; compress it "
                 "without --long, or: zstd -dc --long=31 IN | kith COMMAND -");
  }
  refuse_input(name, fmt::format("damaged zstd file: {}; copy or download it again; `zstd -t` shows details",
                                 ZSTD_getErrorName(code)));
}

}  // namespace

bool has_zstd() { return true; }

InputBytes inflate_zstd(const InputBytes& input, const std::string& scratch) {
  const Decoder decoder = make_decoder();
  std::vector<std::byte> in(ByteStore::kStep);
  ByteStore out(input.name(), scratch);
  ZSTD_inBuffer source{in.data(), 0, 0};
  std::size_t status = 0;
  for (std::int64_t at = 0;;) {
    if (source.pos == source.size && at < input.size()) {
      source = {in.data(), static_cast<std::size_t>(std::min(std::ssize(in), input.size() - at)), 0};
      input.read(at, static_cast<std::int64_t>(source.size), in.data());
      at += static_cast<std::int64_t>(source.size);
    }
    const std::span<std::byte> next = out.next();
    ZSTD_outBuffer target{next.data(), next.size(), 0};
    status = ZSTD_decompressStream(decoder.get(), &target, &source);
    if (ZSTD_isError(status) != 0) refuse(input.name(), status);
    out.add(target.pos);
    const bool flushed = status == 0 || target.pos < target.size;
    if (source.pos == source.size && at == input.size() && flushed) break;
  }
  if (status != 0) refuse_input(input.name(), "damaged zstd file: its end is missing; copy or download it again");
  input.check_unchanged();
  return out.finish(true);
}

std::string zstd_begin(std::string_view bytes, std::int64_t count) {
  const Decoder decoder = make_decoder();
  std::string text(static_cast<std::size_t>(count), '\0');
  ZSTD_inBuffer source{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer target{text.data(), text.size(), 0};
  for (std::size_t before = text.size(); target.pos < target.size && source.pos + target.pos != before;) {
    before = source.pos + target.pos;
    if (ZSTD_isError(ZSTD_decompressStream(decoder.get(), &target, &source)) != 0) break;
  }
  text.resize(target.pos);
  return text;
}

std::int64_t zstd_content_bytes(std::span<const std::byte> in) {
  constexpr unsigned long long kMostPerByte = 1ULL << 17;  // a block
  const unsigned long long bytes = ZSTD_getFrameContentSize(in.data(), in.size());
  const bool is_known = bytes != ZSTD_CONTENTSIZE_UNKNOWN && bytes != ZSTD_CONTENTSIZE_ERROR;
  return is_known && bytes <= kMostPerByte * in.size() ? static_cast<std::int64_t>(bytes) : 0;
}

std::int64_t decode_zstd(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t count = ZSTD_decompress(out.data(), out.size(), in.data(), in.size());
  return ZSTD_isError(count) != 0 ? -1 : static_cast<std::int64_t>(count);
}

}  // namespace kith::data
