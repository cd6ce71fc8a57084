// Inverses of HDF5's shuffle, deflate (zlib, RFC 1950) and fletcher32 (J. Fletcher, An Arithmetic Checksum for Serial
// Transmissions, 1982), of lzf (M. Lehmann, LibLZF), which h5py has, and of zstd.
#include "data/hdf5/chunk_filters.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "data/io/little_endian.h"
#include "data/io/zstd_bytes.h"

namespace kith::data {
namespace {

constexpr std::size_t kChecksumBytes = 4;

/// Fletcher's two sums modulo 65535 over big-endian 16-bit words; a nonzero multiple of 65535 gives 65535, not 0.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t words_per_block = 4096;  // the sums stay far below 64 bits
  std::uint64_t sum = 0;
  std::uint64_t sum_of_sums = 0;
  const auto fold = [](std::uint64_t s) {
    while (s > 0xffff) s = (s & 0xffff) + (s >> 16);
    return s;
  };
  const auto byte = [&bytes](std::size_t i) { return i < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i]) : 0; };
  for (std::size_t begin = 0; begin < bytes.size(); begin += 2 * words_per_block) {
    const std::size_t end = std::min(begin + 2 * words_per_block, bytes.size());
    for (std::size_t i = begin; i < end; i += 2) {
      sum += byte(i) << 8 | byte(i + 1);
      sum_of_sums += sum;
    }
    sum = fold(sum);
    sum_of_sums = fold(sum_of_sums);
  }
  return static_cast<std::uint32_t>(sum_of_sums << 16 | sum);
}

std::string verify_checksum(std::vector<std::byte>& bytes) {
  if (bytes.size() < kChecksumBytes) return "too short for its checksum";
  const std::size_t size = bytes.size() - kChecksumBytes;
  const std::uint64_t stored = little_endian(bytes.data() + size, kChecksumBytes);
  bytes.resize(size);
  const std::uint32_t computed = fletcher32(bytes);
  return computed == stored ? "" : fmt::format("expected the checksum {:08x}, found {:08x}", stored, computed);
}

/// Inflates to at most `max_bytes` bytes.
std::string inflate_bytes(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t max_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return "zlib cannot start";
  out.resize(max_bytes);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  // zlib counts in 32 bits; a chunk just below 4 GiB with its checksum exceeds that.
  int status = Z_OK;
  for (std::size_t remaining = max_bytes; status == Z_OK && stream.avail_out == 0 && remaining > 0;) {
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(remaining, std::numeric_limits<uInt>::max()));
    remaining -= stream.avail_out;
    status = inflate(&stream, remaining > 0 ? Z_NO_FLUSH : Z_FINISH);
  }
  out.resize(stream.total_out);
  const std::string message = stream.msg != nullptr ? stream.msg : "its end is missing";
  const bool full = stream.avail_out == 0;
  inflateEnd(&stream);
  if (status == Z_STREAM_END) return "";
  if (status == Z_BUF_ERROR && full) return fmt::format("it inflates to more than {} bytes", max_bytes);
  return fmt::format("it does not inflate: {}", message);
}

/// Copies runs of bytes, new ones or earlier ones of the output.
std::string unpack_lzf(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t max_bytes) {
  constexpr std::size_t kLiterals = 32, kLongest = 7;  // the first byte below kLiterals: so many bytes and one follow
  out.resize(max_bytes);
  std::size_t used = 0;
  for (std::size_t at = 0; at < in.size();) {
    const auto next = [&] { return at < in.size() ? std::to_integer<std::size_t>(in[at++]) : (at = in.size() + 1, 0); };
    const std::size_t first = next();
    if (first < kLiterals) {
      const std::size_t count = first + 1;
      if (count > in.size() - at) return "it is not lzf: its end is missing";
      if (count > max_bytes - used) return fmt::format("it inflates to more than {} bytes", max_bytes);
      std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(at), count, out.begin() + static_cast<std::ptrdiff_t>(used));
      at += count;
      used += count;
      continue;
    }
    std::size_t count = first / kLiterals;
    if (count == kLongest) count += next();
    count += 2;
    const std::size_t back = first % kLiterals * 256 + next() + 1;
    if (at > in.size()) return "it is not lzf: its end is missing";
    if (back > used) return "it is not lzf: it refers to bytes before its beginning";
    if (count > max_bytes - used) return fmt::format("it inflates to more than {} bytes", max_bytes);
    for (const std::size_t end = used + count; used < end; ++used) out[used] = out[used - back];  // may overlap
  }
  out.resize(used);
  return "";
}

std::string unpack_zstd(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t max_bytes) {
  out.resize(max_bytes);
  const std::int64_t count = decode_zstd(in, out);
  if (count < 0) return fmt::format("it is no zstd frame of up to {} bytes", max_bytes);
  out.resize(static_cast<std::size_t>(count));
  return "";
}

/// Moves the bytes of equal significance, stored together, back to their elements. A last partial element stays as is.
void unshuffle(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t element_bytes) {
  constexpr std::size_t elements_per_block = 2048;  // their bytes stay in the first-level cache
  const std::size_t count = in.size() / element_bytes;
  out.resize(in.size());
  for (std::size_t begin = 0; begin < count; begin += elements_per_block) {
    const std::size_t end = std::min(begin + elements_per_block, count);
    for (std::size_t b = 0; b < element_bytes; ++b) {
      for (std::size_t i = begin; i < end; ++i) out[i * element_bytes + b] = in[b * count + i];
    }
  }
  const auto rest = static_cast<std::ptrdiff_t>(count * element_bytes);
  std::copy(in.begin() + rest, in.end(), out.begin() + rest);
}

}  // namespace

std::string unpack(FilterStep::Kind kind, const std::vector<std::byte>& in, std::vector<std::byte>& out,
                   std::size_t max_bytes) {
  if (kind == FilterStep::lzf) return unpack_lzf(in, out, max_bytes);
  return kind == FilterStep::zstd ? unpack_zstd(in, out, max_bytes) : inflate_bytes(in, out, max_bytes);
}

std::byte* ChunkDecoder::stored(std::int64_t size) {
  bytes_.resize(static_cast<std::size_t>(size));
  return bytes_.data();
}

std::string ChunkDecoder::invert(const FilterStep& step, std::size_t max_bytes) {
  if (step.kind == FilterStep::fletcher32) return verify_checksum(bytes_);
  std::string problem;
  if (step.kind == FilterStep::shuffle) {
    if (step.element_bytes <= 1) return "";
    unshuffle(bytes_, other_, static_cast<std::size_t>(step.element_bytes));
  } else {
    problem = unpack(step.kind, bytes_, other_, max_bytes);
  }
  std::swap(bytes_, other_);
  return problem;
}

std::string ChunkDecoder::decode(std::span<const FilterStep> steps, std::uint32_t skipped, std::int64_t expected) {
  // A checksum applied before deflate adds to the input of deflate.
  const auto checksums =
      std::count_if(steps.begin(), steps.end(), [](const auto& s) { return s.kind == FilterStep::fletcher32; });
  const std::size_t max_bytes =
      static_cast<std::size_t>(expected) + kChecksumBytes * static_cast<std::size_t>(checksums);
  for (std::size_t i = steps.size(); i-- > 0;) {
    if ((skipped >> i & 1u) != 0) continue;
    if (std::string problem = invert(steps[i], max_bytes); !problem.empty()) return problem;
  }
  if (bytes_.size() == static_cast<std::size_t>(expected)) return "";
  return fmt::format("it has {} bytes, expected {}", bytes_.size(), expected);
}

}  // namespace kith::data
