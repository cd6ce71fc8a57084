// Inverses of HDF5's shuffle, deflate (zlib, RFC 1950) and fletcher32 (J. Fletcher, An Arithmetic Checksum for Serial
// Transmissions, 1982).
#include "data/hdf5/chunk_filters.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace kith::data {
namespace {

constexpr std::size_t kChecksumBytes = 4;

/// Fletcher's two sums modulo 65535 over big-endian 16-bit words, where a multiple of 65535 other than 0 is 65535.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t words_per_run = 4096;  // the sums stay far below 64 bits
  std::uint64_t sum = 0;
  std::uint64_t sum_of_sums = 0;
  const auto fold = [](std::uint64_t s) {
    while (s > 0xffff) s = (s & 0xffff) + (s >> 16);
    return s;
  };
  const auto byte = [&bytes](std::size_t i) { return i < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i]) : 0; };
  for (std::size_t begin = 0; begin < bytes.size(); begin += 2 * words_per_run) {
    const std::size_t end = std::min(begin + 2 * words_per_run, bytes.size());
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
  std::uint32_t stored = 0;
  for (std::size_t i = 0; i < kChecksumBytes; ++i) stored |= std::to_integer<std::uint32_t>(bytes[size + i]) << (8 * i);
  bytes.resize(size);
  const std::uint32_t found = fletcher32(bytes);
  return found == stored ? "" : fmt::format("its checksum should be {:08x} and is {:08x}", stored, found);
}

/// Inflates into at most `most` bytes.
std::string inflate_bytes(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t most) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return "zlib cannot start";
  out.resize(most);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  // zlib counts in 32 bits; a chunk just below 4 GiB and its checksum have more bytes.
  int status = Z_OK;
  for (std::size_t left = most; status == Z_OK && stream.avail_out == 0 && left > 0;) {
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
    left -= stream.avail_out;
    status = inflate(&stream, left > 0 ? Z_NO_FLUSH : Z_FINISH);
  }
  out.resize(stream.total_out);
  const std::string message = stream.msg != nullptr ? stream.msg : "its end is missing";
  const bool full = stream.avail_out == 0;
  inflateEnd(&stream);
  if (status == Z_STREAM_END) return "";
  if (status == Z_BUF_ERROR && full) return fmt::format("it inflates to more than {} bytes", most);
  return fmt::format("it does not inflate: {}", message);
}

/// Bytes of equal rank, stored together, go back to their elements; a last partial element was never moved.
void unshuffle(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t element_bytes) {
  constexpr std::size_t elements_per_run = 2048;  // whose bytes stay in the first-level cache
  const std::size_t count = in.size() / element_bytes;
  out.resize(in.size());
  for (std::size_t begin = 0; begin < count; begin += elements_per_run) {
    const std::size_t end = std::min(begin + elements_per_run, count);
    for (std::size_t b = 0; b < element_bytes; ++b) {
      for (std::size_t i = begin; i < end; ++i) out[i * element_bytes + b] = in[b * count + i];
    }
  }
  const auto rest = static_cast<std::ptrdiff_t>(count * element_bytes);
  std::copy(in.begin() + rest, in.end(), out.begin() + rest);
}

}  // namespace

std::byte* ChunkDecoder::stored(std::int64_t size) {
  bytes_.resize(static_cast<std::size_t>(size));
  return bytes_.data();
}

std::string ChunkDecoder::undo(const FilterStep& step, std::size_t most) {
  if (step.kind == FilterStep::fletcher32) return verify_checksum(bytes_);
  std::string wrong;
  if (step.kind == FilterStep::deflate) {
    wrong = inflate_bytes(bytes_, other_, most);
  } else {
    if (step.element_bytes <= 1) return "";
    unshuffle(bytes_, other_, static_cast<std::size_t>(step.element_bytes));
  }
  std::swap(bytes_, other_);
  return wrong;
}

std::string ChunkDecoder::decode(std::span<const FilterStep> steps, std::uint32_t skipped, std::int64_t expected) {
  // A checksum that was made before deflate lengthens what deflate was given.
  const auto checksums =
      std::count_if(steps.begin(), steps.end(), [](const auto& s) { return s.kind == FilterStep::fletcher32; });
  const std::size_t most = static_cast<std::size_t>(expected) + kChecksumBytes * static_cast<std::size_t>(checksums);
  for (std::size_t i = steps.size(); i-- > 0;) {
    if ((skipped >> i & 1u) != 0) continue;
    if (std::string wrong = undo(steps[i], most); !wrong.empty()) return wrong;
  }
  if (bytes_.size() == static_cast<std::size_t>(expected)) return "";
  return fmt::format("it has {} bytes, expected {}", bytes_.size(), expected);
}

}  // namespace kith::data
