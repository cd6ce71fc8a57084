// Reads standard input and inflates gzip (RFC 1952), within what the machine has of memory.
#include "data/io/stream_bytes.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "data/io/file_kind.h"

namespace kith::data {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20;
constexpr std::size_t kLook = 4096;  // bytes that tell text from other things
constexpr const char* kStandardInput = "standard input";

/// Room for more bytes behind those that are there; refuses to take more than half of the memory.
void make_room(std::vector<std::byte>& bytes, std::size_t used, const std::string& name) {
  if (bytes.size() - used >= kStep) return;
  const std::int64_t most = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
  if (static_cast<std::int64_t>(used + kStep) > most) {
    throw Error(ExitCode::data, fmt::format("{}: more than {} bytes, half of the memory of this machine; give it as an "
                                            "uncompressed file, which is read in parts",
                                            name, most));
  }
  bytes.resize(std::max(used + kStep, used + used / 2));
}

/// zlib's state, ended with the object.
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
  static constexpr int kGzip = 16;  // zlib's word for: expect a gzip header, check its sum
  bool ready_ = false;
};

[[noreturn]] void refuse_gzip(const std::string& name, const std::string& why) {
  throw Error(ExitCode::data,
              fmt::format("{}: damaged gzip file: {}; copy or download it again, `gzip -t` tells more", name, why));
}

}  // namespace

InputBytes read_standard_input() {
  static bool was_read = false;
  std::vector<std::byte> bytes;
  std::size_t used = 0;
  while (true) {
    make_room(bytes, used, kStandardInput);
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ExitCode::data, fmt::format("{}: cannot be read: {}", kStandardInput, std::strerror(errno)));
    }
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  bytes.resize(used);
  if (used == 0 && was_read) {
    throw Error(ExitCode::usage, fmt::format("-: {} can be read once, and is needed twice (for two inputs, or for "
                                             "kith info --stats); give a file instead",
                                             kStandardInput));
  }
  was_read = true;
  InputBytes input = InputBytes::held(kStandardInput, std::move(bytes));
  if (is_gzip(input)) input = inflate_gzip(input);
  std::string begin(static_cast<std::size_t>(std::min(input.size(), static_cast<std::int64_t>(kLook))), '\0');
  input.read(0, static_cast<std::int64_t>(begin.size()), reinterpret_cast<std::byte*>(begin.data()));
  if (!is_text(begin)) {
    throw Error(ExitCode::data, fmt::format("{}: expected text, found {}; give other formats as files", kStandardInput,
                                            kind_of(begin)));
  }
  return input;
}

bool is_gzip(const InputBytes& input) {
  std::byte magic[2];
  if (input.size() < 2) return false;
  input.read(0, 2, magic);
  return magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b};
}

InputBytes inflate_gzip(const InputBytes& input) {
  std::vector<std::byte> in(kStep), out;
  std::size_t used = 0;
  Inflater inflater;
  z_stream& stream = inflater.stream;
  int status = Z_OK;
  for (std::int64_t at = 0; at < input.size() || stream.avail_in > 0;) {
    if (stream.avail_in == 0) {
      const std::int64_t count = std::min(static_cast<std::int64_t>(kStep), input.size() - at);
      input.read(at, count, in.data());
      at += count;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    if (status == Z_STREAM_END) {  // another member may follow, as bgzip and cat make them
      if (*stream.next_in == 0) {  // or padding
        --stream.avail_in;
        ++stream.next_in;
        continue;
      }
      inflateReset(&stream);
    }
    make_room(out, used, input.name());
    const std::size_t room = std::min<std::size_t>(out.size() - used, std::numeric_limits<uInt>::max());
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      refuse_gzip(input.name(), stream.msg != nullptr ? stream.msg : "it does not inflate");
    }
  }
  if (status != Z_STREAM_END) refuse_gzip(input.name(), "its end is missing");
  input.check_unchanged();
  out.resize(used);
  out.shrink_to_fit();
  return InputBytes::held(input.name(), std::move(out));
}

bool holds_text(const std::string& file) {
  std::string begin = first_bytes(file, kLook);
  if (begin.starts_with("\x1f\x8b")) {
    std::string text(kLook, '\0');
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
