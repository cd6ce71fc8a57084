// Reads standard input and inflates gzip (RFC 1952), zlib (RFC 1950) and zstd, within the memory of the run.
#include "data/io/stream_bytes.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/io/byte_store.h"
#include "data/io/file_kind.h"
#include "data/io/zstd_bytes.h"

namespace kith::data {
namespace {

constexpr const char* kStandardInput = "standard input";
constexpr std::string_view kGzip("\x1f\x8b");

/// Owns the state of zlib.
class Inflater {
 public:
  /// format: kGzipFormat, or 0 for zlib's.
  explicit Inflater(int format) { ready_ = inflateInit2(&stream, format + MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (ready_) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
  static constexpr int kGzipFormat = 16;  // makes zlib expect a gzip header and verify its checksum

 private:
  bool ready_ = false;
};

[[noreturn]] void refuse_gzip(const std::string& name, const std::string& why) {
  throw Error(ExitCode::data,
              fmt::format("{}: damaged gzip file: {}; copy or download it again; `gzip -t` shows details", name, why));
}

/// Reads once, at most `count` bytes; 0 at the end.
std::size_t read_some(std::byte* out, std::size_t count) {
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, out, count);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw Error(ExitCode::data, fmt::format("{}: cannot be read: {}", kStandardInput, std::strerror(errno)));
  }
}

/// The first bytes of standard input, which remain to be read.
const std::string& standard_input_begin() {
  static const std::string begin = [] {
    std::string bytes;
    const auto extend = [&bytes](std::int64_t size) {
      std::size_t used = bytes.size();
      bytes.resize(static_cast<std::size_t>(size));
      for (std::size_t got = 1; used < bytes.size() && got > 0; used += got) {
        got = read_some(reinterpret_cast<std::byte*>(bytes.data()) + used, bytes.size() - used);
      }
      bytes.resize(used);
    };
    extend(kSampleBytes);
    if (bytes.starts_with(kZstdSignature) && std::ssize(bytes) == kSampleBytes) extend(kZstdBlockBytes);
    return bytes;
  }();
  return begin;
}

InputBytes read_standard_input(const std::string& scratch) {
  static bool was_read = false;
  if (was_read) {
    throw Error(ExitCode::usage, fmt::format("-: {} can be read once, but is needed twice (for two inputs, or for "
                                             "kith info --stats); give a file instead",
                                             kStandardInput));
  }
  was_read = true;
  const std::string& begin = standard_input_begin();
  ByteStore bytes(kStandardInput, scratch);
  std::memcpy(bytes.next().data(), begin.data(), begin.size());
  bytes.add(begin.size());
  while (true) {
    const std::span<std::byte> next = bytes.next();
    const std::size_t got = read_some(next.data(), next.size());
    if (got == 0) return bytes.finish();
    bytes.add(got);
  }
}

/// All members of a gzip file.
InputBytes inflate_gzip(const InputBytes& input, const std::string& scratch) {
  std::vector<std::byte> in(ByteStore::kStep);
  ByteStore out(input.name(), scratch);
  Inflater inflater(Inflater::kGzipFormat);
  z_stream& stream = inflater.stream;
  int status = Z_OK;
  for (std::int64_t at = 0; at < input.size() || stream.avail_in > 0;) {
    if (stream.avail_in == 0) {
      const std::int64_t count = std::min(std::ssize(in), input.size() - at);
      input.read(at, count, in.data());
      at += count;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    if (status == Z_STREAM_END) {  // another member may follow, as from bgzip and cat
      if (*stream.next_in == 0) {  // padding
        --stream.avail_in;
        ++stream.next_in;
        continue;
      }
      inflateReset(&stream);
    }
    const std::span<std::byte> next = out.next();
    const std::size_t capacity = std::min<std::size_t>(next.size(), std::numeric_limits<uInt>::max());
    stream.next_out = reinterpret_cast<Bytef*>(next.data());
    stream.avail_out = static_cast<uInt>(capacity);
    status = inflate(&stream, Z_NO_FLUSH);
    out.add(capacity - stream.avail_out);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      refuse_gzip(input.name(), stream.msg != nullptr ? stream.msg : "its data do not inflate");
    }
  }
  if (status != Z_STREAM_END) refuse_gzip(input.name(), "its end is missing");
  input.check_unchanged();
  return out.finish(true);
}

std::string gzip_begin(std::string begin) {
  std::string text(kSampleBytes, '\0');
  Inflater inflater(Inflater::kGzipFormat);
  inflater.stream.next_in = reinterpret_cast<Bytef*>(begin.data());
  inflater.stream.avail_in = static_cast<uInt>(begin.size());
  inflater.stream.next_out = reinterpret_cast<Bytef*>(text.data());
  inflater.stream.avail_out = static_cast<uInt>(text.size());
  const int status = inflate(&inflater.stream, Z_NO_FLUSH);
  text.resize(status == Z_OK || status == Z_STREAM_END ? text.size() - inflater.stream.avail_out : 0);
  return text;
}

std::string stored_begin(const std::string& file) {
  return is_standard_input(file) ? standard_input_begin() : first_bytes(file, kSampleBytes);
}

}  // namespace

bool is_standard_input(const std::string& file) { return file == "-"; }

InputBytes open_stream(const std::string& file, const std::string& expected, const std::string& scratch) {
  InputBytes input = is_standard_input(file) ? read_standard_input(scratch) : InputBytes::open(file, expected);
  const std::string begin = input.begin(4);
  if (begin.starts_with(kGzip)) return inflate_gzip(input, scratch);
  if (has_zstd() && begin == kZstdSignature) return inflate_zstd(input, scratch);
  return input;
}

std::string begin_of_stream(const std::string& file) {
  std::string begin = stored_begin(file);
  if (begin.starts_with(kGzip)) return gzip_begin(std::move(begin));
  if (!has_zstd() || !begin.starts_with(kZstdSignature)) return begin;
  if (!is_standard_input(file)) begin = first_bytes(file, kZstdBlockBytes);
  return zstd_begin(begin, kSampleBytes);
}

std::string compression_of(const std::string& file) {
  const std::string begin = stored_begin(file);
  return begin.starts_with(kGzip) ? "gzip" : begin.starts_with(kZstdSignature) ? "zstd" : "";
}

InputBytes inflate_zlib(const InputBytes& input, std::int64_t at, std::int64_t stored, std::int64_t count,
                        const std::string& name, const std::string& scratch) {
  count = std::min(count, stored > count / kDeflateExpansion ? count : kDeflateExpansion * stored);
  std::vector<std::byte> in(std::min<std::size_t>(ByteStore::kStep, static_cast<std::size_t>(stored)));
  ByteStore out(name, scratch, count);
  Inflater inflater(0);
  z_stream& stream = inflater.stream;
  for (const std::int64_t end = at + stored; out.size() < count && (at < end || stream.avail_in > 0);) {
    if (stream.avail_in == 0) {
      const std::int64_t some = std::min(std::ssize(in), end - at);
      input.read(at, some, in.data());
      at += some;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(some);
    }
    const std::span<std::byte> next = out.next();
    const std::int64_t capacity =
        std::min<std::int64_t>({count - out.size(), std::ssize(next), std::numeric_limits<uInt>::max()});
    stream.next_out = reinterpret_cast<Bytef*>(next.data());
    stream.avail_out = static_cast<uInt>(capacity);
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.add(static_cast<std::size_t>(capacity) - stream.avail_out);
    if (status == Z_STREAM_END) break;
    if (status != Z_OK && status != Z_BUF_ERROR) {
      throw Error(ExitCode::data, fmt::format("{}: damaged: {}; copy or save it again", name,
                                              stream.msg != nullptr ? stream.msg : "its data do not inflate"));
    }
  }
  return out.finish(true);
}

}  // namespace kith::data
