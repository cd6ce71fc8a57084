// Reads standard input and inflates gzip (RFC 1952), zlib (RFC 1950), zstd and the members of zip archives, which are
// found through their central directory (PKWARE, APPNOTE.TXT, with zip64), within the memory of the run.
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

#include "core/error.h"
#include "data/io/checksum.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/numbers.h"
#include "data/io/scratch_file.h"
#include "data/io/utf8.h"
#include "data/io/zstd_bytes.h"

namespace kith::data {
namespace {

constexpr const char* kStandardInput = "standard input";
constexpr std::string_view kGzip("\x1f\x8b");

/// Owns the state of zlib. bits: the largest window, with the format of the data: negative without a header.
struct Inflater {
  static constexpr int kGzip = 16 + MAX_WBITS, kZlib = MAX_WBITS, kRaw = -MAX_WBITS;

  explicit Inflater(int bits) { ready = inflateInit2(&stream, bits) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void give(std::span<std::byte> in) {
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
  }
  /// Inflates to the front of `out`. Returns the number of bytes.
  std::size_t take(std::span<std::byte> out) {
    const std::size_t capacity = std::min<std::size_t>(out.size(), std::numeric_limits<uInt>::max());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(capacity);
    status = inflate(&stream, Z_NO_FLUSH);
    return capacity - stream.avail_out;
  }
  /// What is wrong with the data; empty if nothing is.
  std::string problem() const {
    if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR) return "";
    return stream.msg != nullptr ? stream.msg : "its data do not inflate";
  }

  z_stream stream{};
  int status = Z_OK;
  bool ready = false;
};

/// Inflates bytes at .. at + stored - 1 of the input until `most` bytes have come out, for which `next` gives memory
/// and of which `add` learns. Returns what is wrong with the data; empty if nothing is, though they may end early.
template <class Next, class Add>
std::string inflate_part(const InputBytes& input, std::int64_t at, std::int64_t stored, int bits, std::int64_t most,
                         const Next& next, const Add& add) {
  std::vector<std::byte> in(std::min<std::size_t>(ByteStore::kStep, static_cast<std::size_t>(stored)));
  Inflater inflater(bits);
  std::int64_t inflated = 0;
  for (const std::int64_t end = at + stored; inflated < most && inflater.status != Z_STREAM_END;) {
    if (inflater.stream.avail_in == 0) {
      const std::int64_t some = std::min(std::ssize(in), end - at);
      if (some == 0) break;
      input.read(at, some, in.data());
      at += some;
      inflater.give(std::span(in).first(static_cast<std::size_t>(some)));
    }
    const std::span<std::byte> out = next();
    const std::size_t count =
        inflater.take(out.first(std::min<std::size_t>(out.size(), static_cast<std::size_t>(most - inflated))));
    inflated += static_cast<std::int64_t>(count);
    add(out.first(count));
    if (std::string problem = inflater.problem(); !problem.empty()) return problem;
  }
  return "";
}

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
  Inflater inflater(Inflater::kGzip);
  z_stream& stream = inflater.stream;
  for (std::int64_t at = 0; at < input.size() || stream.avail_in > 0;) {
    if (stream.avail_in == 0) {
      const std::int64_t count = std::min(std::ssize(in), input.size() - at);
      input.read(at, count, in.data());
      at += count;
      inflater.give(std::span(in).first(static_cast<std::size_t>(count)));
    }
    if (inflater.status == Z_STREAM_END) {  // another member may follow, as from bgzip and cat
      if (*stream.next_in == 0) {           // padding
        --stream.avail_in;
        ++stream.next_in;
        continue;
      }
      inflateReset(&stream);
    }
    out.add(inflater.take(out.next()));
    if (const std::string problem = inflater.problem(); !problem.empty()) refuse_gzip(input.name(), problem);
  }
  if (inflater.status != Z_STREAM_END) refuse_gzip(input.name(), "its end is missing");
  input.check_unchanged();
  return out.finish(true);
}

std::string gzip_begin(std::string begin) {
  std::string text(kSampleBytes, '\0');
  Inflater inflater(Inflater::kGzip);
  inflater.give(std::as_writable_bytes(std::span(begin)));
  const std::size_t count = inflater.take(std::as_writable_bytes(std::span(text)));
  text.resize(inflater.status == Z_OK || inflater.status == Z_STREAM_END ? count : 0);
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

std::vector<std::string> filters_of(const std::string& file) {
  const std::string compression = compression_of(file);
  return compression.empty() ? std::vector<std::string>() : std::vector{compression};
}

InputBytes inflate_zlib(const InputBytes& input, std::int64_t at, std::int64_t stored, std::int64_t count,
                        const std::string& name, const std::string& scratch) {
  count = std::min(count, stored > count / kDeflateExpansion ? count : kDeflateExpansion * stored);
  ByteStore out(name, scratch, count);
  const std::string problem = inflate_part(
      input, at, stored, Inflater::kZlib, count, [&] { return out.next(); },
      [&](std::span<const std::byte> part) { out.add(part.size()); });
  if (!problem.empty())
    throw Error(ExitCode::data, fmt::format("{}: damaged: {}; copy or save it again", name, problem));
  return out.finish(true);
}

// Reads zip archives through their central directory (PKWARE, APPNOTE.TXT), including zip64.

namespace {

constexpr std::int64_t kEndBytes = 22;
constexpr std::int64_t kLocatorBytes = 20;
constexpr std::int64_t kEntryBytes = 46;
constexpr std::int64_t kLocalBytes = 30;
constexpr std::int64_t kMaxCommentBytes = 65535;

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  refuse_input(name, fmt::format("damaged zip archive: {}; copy or save it again; `unzip -t` shows details", what));
}

void require_checksum(const Checksum& sum, const ZipMember& member, const std::string& archive) {
  if (sum.value() != member.checksum) fail(archive, fmt::format("the checksum of {} is wrong", quoted(member.name)));
}

/// A part of the archive that contains little-endian numbers.
class Bytes {
 public:
  Bytes(const InputBytes& input, std::int64_t at, std::int64_t count) : name_(input.name()) {
    if (at < 0 || count < 0 || count > input.size() || at > input.size() - count) {
      fail(name_, "one of its parts lies beyond the end of the file");
    }
    bytes_.resize(static_cast<std::size_t>(count));
    input.read(at, count, bytes_.data());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  std::int64_t number(std::int64_t at, int bytes) const {
    if (at < 0 || at > size() - bytes) fail(name_, "a record is cut off");
    const std::uint64_t value = little_endian(bytes_.data() + at, bytes);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(name_, "a size is too large");
    return static_cast<std::int64_t>(value);
  }
  std::string text(std::int64_t at, std::int64_t count) const {
    if (at < 0 || count > size() - at) fail(name_, "a name is cut off");
    return {reinterpret_cast<const char*>(bytes_.data()) + at, static_cast<std::size_t>(count)};
  }

 private:
  const std::string& name_;
  std::vector<std::byte> bytes_;
};

struct Directory {
  std::int64_t at = 0, bytes = 0;
};

Directory find_directory(const InputBytes& input) {
  const std::int64_t tail_bytes = std::min(input.size(), kEndBytes + kMaxCommentBytes);
  const Bytes tail(input, input.size() - tail_bytes, tail_bytes);
  for (std::int64_t at = tail_bytes - kEndBytes; at >= 0; --at) {
    if (tail.number(at, 4) != 0x06054b50) continue;
    const std::int64_t locator_at = input.size() - tail_bytes + at - kLocatorBytes;
    if (locator_at >= 0) {
      const Bytes locator(input, locator_at, kLocatorBytes);
      if (locator.number(0, 4) == 0x07064b50) {  // zip64: a record of its own holds the numbers
        const Bytes end(input, locator.number(8, 8), 56);
        if (end.number(0, 4) != 0x06064b50) fail(input.name(), "its zip64 end record is missing");
        return {end.number(48, 8), end.number(40, 8)};
      }
    }
    return {tail.number(at + 16, 4), tail.number(at + 12, 4)};
  }
  fail(input.name(), "its directory at the end of the file is missing");
}

/// Replaces the sizes and the position that did not fit into 32 bits.
void read_zip64(const Bytes& directory, std::int64_t at, std::int64_t end, ZipMember& member) {
  constexpr std::int64_t stored_in_zip64 = 0xffffffff;
  while (at + 4 <= end) {
    const std::int64_t id = directory.number(at, 2), bytes = directory.number(at + 2, 2);
    at += 4;
    if (id == 1) {
      for (std::int64_t* value : {&member.size, &member.stored, &member.at}) {
        if (*value != stored_in_zip64) continue;
        *value = directory.number(at, 8);
        at += 8;
      }
      return;
    }
    at += bytes;
  }
}

/// The first `expected` bytes of a deflated member, for which `next` gives memory and of which `add` learns.
template <class Next, class Add>
void inflate_member(const InputBytes& input, const ZipMember& member, std::int64_t expected, const Next& next,
                    const Add& add) {
  std::int64_t inflated = 0;
  inflate_part(input, member.at, member.stored, Inflater::kRaw, expected, next, [&](std::span<const std::byte> part) {
    inflated += std::ssize(part);
    add(part);
  });
  if (inflated < expected) {
    fail(input.name(),
         fmt::format("expected {} to inflate to {} bytes, found {}", quoted(member.name), expected, inflated));
  }
}

/// The bytes of a member in the file, with its local header.
struct Extent {
  std::int64_t begin = 0, end = 0;
  std::size_t member = 0;
};

/// Members that share bytes can make a small file take very long: D. Fifield, A better zip bomb (2019).
void require_apart(std::vector<Extent> extents, const std::vector<ZipMember>& members, const std::string& name) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i - 1].end <= extents[i].begin) continue;
    fail(name, fmt::format("{} and {} overlap", quoted(members[extents[i - 1].member].name),
                           quoted(members[extents[i].member].name)));
  }
}

}  // namespace

std::vector<ZipMember> zip_members(const InputBytes& input) {
  const Directory location = find_directory(input);
  // An entry of 46 bytes takes a few hundred here, and names are copied.
  require_memory(10 * std::min(location.bytes, input.size()), input.name() + " (its list of members)");
  const Bytes directory(input, location.at, location.bytes);
  std::vector<ZipMember> members;
  std::vector<Extent> extents;
  std::string other;  // the first member that has another name where it begins
  for (std::int64_t at = 0; at + kEntryBytes <= directory.size();) {
    if (directory.number(at, 4) != 0x02014b50) fail(input.name(), "an entry of its directory has a wrong signature");
    const std::int64_t flags = directory.number(at + 8, 2), method = directory.number(at + 10, 2);
    const std::int64_t name_bytes = directory.number(at + 28, 2), extra = directory.number(at + 30, 2);
    ZipMember member;
    member.checksum = static_cast<std::uint32_t>(directory.number(at + 16, 4));
    member.stored = directory.number(at + 20, 4);
    member.size = directory.number(at + 24, 4);
    member.at = directory.number(at + 42, 4);
    member.name = directory.text(at + kEntryBytes, name_bytes);
    member.deflated = method == 8;
    read_zip64(directory, at + kEntryBytes + name_bytes, at + kEntryBytes + name_bytes + extra, member);
    if ((flags & 1) != 0) member.obstacle = "it is encrypted; save it without a password";
    if (method != 0 && method != 8) {
      member.obstacle = fmt::format(
          "it is compressed with method {}, which kith does not support; save it with "
          "numpy.savez or numpy.savez_compressed",
          method);
    }
    const std::int64_t local_at = member.at;
    const Bytes local(input, local_at, kLocalBytes);
    if (local.number(0, 4) != 0x04034b50)
      fail(input.name(), fmt::format("{} is not at the position in its directory", quoted(member.name)));
    const std::int64_t local_name_bytes = local.number(26, 2);
    const std::string local_name = Bytes(input, local_at + kLocalBytes, local_name_bytes).text(0, local_name_bytes);
    if (other.empty() && local_name != member.name) {
      other = fmt::format("expected {} at byte {}, as in its directory, found {}", quoted(member.name), local_at,
                          quoted(local_name));
    }
    member.at += kLocalBytes + local_name_bytes + local.number(28, 2);
    if (member.stored > input.size() || member.at > input.size() - member.stored ||
        (!member.deflated && member.obstacle.empty() && member.stored != member.size) ||
        member.size / kDeflateExpansion > member.stored) {
      fail(input.name(), fmt::format("{} claims {} bytes, of which {} are stored, in a file of {}", quoted(member.name),
                                     member.size, member.stored, input.size()));
    }
    extents.push_back({local_at, member.at + member.stored, members.size()});
    members.push_back(member);
    at += kEntryBytes + name_bytes + extra + directory.number(at + 32, 2);
  }
  require_apart(std::move(extents), members, input.name());
  if (!other.empty()) fail(input.name(), other);
  return members;
}

std::vector<std::byte> extract_begin(const InputBytes& input, const ZipMember& member, std::int64_t count) {
  const std::int64_t available = std::min(count, member.size);
  std::vector<std::byte> bytes(static_cast<std::size_t>(available));
  std::size_t used = 0;
  if (member.deflated) {
    inflate_member(
        input, member, available, [&] { return std::span(bytes).subspan(used); },
        [&](std::span<const std::byte> part) { used += part.size(); });
  } else {
    input.read(member.at, available, bytes.data());
  }
  return bytes;
}

void verify_whole(const InputBytes& input, const ZipMember& member, const std::vector<std::byte>& bytes) {
  if (std::ssize(bytes) != member.size) return;
  Checksum sum;
  sum.add(bytes.data(), bytes.size());
  require_checksum(sum, member, input.name());
}

InputBytes extract(const InputBytes& input, const ZipMember& member, const std::string& name,
                   const std::string& scratch) {
  ByteStore store(name, scratch, member.size);
  Checksum sum;
  inflate_member(
      input, member, member.size, [&] { return store.next(); },
      [&](std::span<const std::byte> part) {
        sum.add(part.data(), part.size());
        store.add(part.size());
      });
  require_checksum(sum, member, input.name());
  return store.finish();
}

void verify_stored(const InputBytes& input, const ZipMember& member, int threads) {
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;
  std::vector<Checksum> sums(static_cast<std::size_t>((member.size + kBlock - 1) / kBlock));
  const auto bytes_of = [&](std::int64_t block) { return std::min(kBlock, member.size - block * kBlock); };
  read_in_blocks(std::ssize(sums), threads, [&](std::int64_t block, Matrix<std::byte>& buffer) {
    if (buffer.size() == 0) buffer = Matrix<std::byte>(1, kBlock);
    input.read(member.at + block * kBlock, bytes_of(block), buffer.data());
    sums[static_cast<std::size_t>(block)].add(buffer.data(), static_cast<std::size_t>(bytes_of(block)));
  });
  Checksum all;
  for (std::int64_t block = 0; block < std::ssize(sums); ++block) {
    all.append(sums[static_cast<std::size_t>(block)], bytes_of(block));
  }
  require_checksum(all, member, input.name());
}

}  // namespace kith::data
