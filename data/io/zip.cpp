// Reads zip archives through their central directory (PKWARE, APPNOTE.TXT), including zip64.
#include "data/io/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "data/io/block_readers.h"
#include "data/io/byte_store.h"
#include "data/io/checksum.h"
#include "data/io/input_error.h"
#include "data/io/little_endian.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"

namespace kith::data {
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
  constexpr std::int64_t kStep = std::int64_t{1} << 20;
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail(input.name(), "zlib cannot start");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  std::vector<std::byte> in(static_cast<std::size_t>(std::min(kStep, member.stored)));
  std::int64_t consumed = 0, inflated = 0;
  int status = Z_OK;
  while (status == Z_OK && inflated < expected) {
    if (stream.avail_in == 0) {
      const std::int64_t count = std::min(kStep, member.stored - consumed);
      if (count == 0) break;
      input.read(member.at + consumed, count, in.data());
      consumed += count;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    const std::span<std::byte> out = next();
    const std::int64_t capacity =
        std::min<std::int64_t>({expected - inflated, std::ssize(out), std::numeric_limits<uInt>::max()});
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(capacity);
    status = inflate(&stream, Z_NO_FLUSH);
    const std::int64_t count = capacity - stream.avail_out;
    inflated += count;
    add(out.first(static_cast<std::size_t>(count)));
  }
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
