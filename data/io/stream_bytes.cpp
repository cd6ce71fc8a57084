// Reads standard input and inflates gzip (RFC 1952), within the memory of the run.
#include "data/io/stream_bytes.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "data/io/byte_store.h"
#include "data/io/file_kind.h"

namespace kith::data {
namespace {

constexpr std::size_t kSampleBytes = 4096;  // at the start, to detect text
constexpr const char* kStandardInput = "standard input";

/// Owns the state of zlib.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream, kGzip + MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (ready_) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};

 private:
  static constexpr int kGzip = 16;  // makes zlib expect a gzip header and verify its checksum
  bool ready_ = false;
};

[[noreturn]] void refuse_gzip(const std::string& name, const std::string& why) {
  throw Error(ExitCode::data,
              fmt::format("{}: damaged gzip file: {}; copy or download it again; `gzip -t` shows details", name, why));
}

}  // namespace

InputBytes read_standard_input(const std::string& scratch) {
  static bool was_read = false;
  ByteStore bytes(kStandardInput, scratch);
  while (true) {
    const std::span<std::byte> next = bytes.next();
    const ssize_t got = ::read(STDIN_FILENO, next.data(), next.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ExitCode::data, fmt::format("{}: cannot be read: {}", kStandardInput, std::strerror(errno)));
    }
    if (got == 0) break;
    bytes.add(static_cast<std::size_t>(got));
  }
  if (bytes.size() == 0 && was_read) {
    throw Error(ExitCode::usage, fmt::format("-: {} can be read once, but is needed twice (for two inputs, or for "
                                             "kith info --stats); give a file instead",
                                             kStandardInput));
  }
  was_read = true;
  InputBytes input = bytes.finish();
  if (is_gzip(input)) input = inflate_gzip(input, scratch);
  const std::string begin = input.begin(kSampleBytes);
  if (!is_text(begin)) {
    throw Error(ExitCode::data, fmt::format("{}: expected text, found {}; give other formats as files", kStandardInput,
                                            describe_bytes(begin)));
  }
  return input;
}

bool is_gzip(const InputBytes& input) { return input.begin(2) == "\x1f\x8b"; }

InputBytes inflate_gzip(const InputBytes& input, const std::string& scratch) {
  std::vector<std::byte> in(ByteStore::kStep);
  ByteStore out(input.name(), scratch);
  Inflater inflater;
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

bool holds_text(const std::string& file) {
  std::string begin = first_bytes(file, kSampleBytes);
  if (begin.starts_with("\x1f\x8b")) {
    std::string text(kSampleBytes, '\0');
    Inflater inflater;
    inflater.stream.next_in = reinterpret_cast<Bytef*>(begin.data());
    inflater.stream.avail_in = static_cast<uInt>(begin.size());
    inflater.stream.next_out = reinterpret_cast<Bytef*>(text.data());
    inflater.stream.avail_out = static_cast<uInt>(text.size());
    const int status = inflate(&inflater.stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) return false;
    text.resize(text.size() - inflater.stream.avail_out);
    begin = text;
  }
  return !begin.empty() && is_text(begin);
}

}  // namespace kith::data
