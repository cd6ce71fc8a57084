// Inverses of HDF5's shuffle, deflate (zlib, RFC 1950) and fletcher32 (J. Fletcher, An Arithmetic Checksum for Serial
// Transmissions, 1982), of lzf (M. Lehmann, LibLZF), which h5py has, and of zstd.
#include "data/hdf5/hdf5_chunks.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "data/hdf5/stored_rows.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/numbers.h"
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
  const auto checksums = std::ranges::count_if(steps, [](const auto& s) { return s.kind == FilterStep::fletcher32; });
  const std::size_t max_bytes =
      static_cast<std::size_t>(expected) + kChecksumBytes * static_cast<std::size_t>(checksums);
  for (std::size_t i = steps.size(); i-- > 0;) {
    if ((skipped >> i & 1u) != 0) continue;
    if (std::string problem = invert(steps[i], max_bytes); !problem.empty()) return problem;
  }
  if (bytes_.size() == static_cast<std::size_t>(expected)) return "";
  return fmt::format("it has {} bytes, expected {}", bytes_.size(), expected);
}

// Reads the stored bytes of chunks, whose places the HDF5 library gives, and checks their size before decoding.

namespace {

// Bands of chunks up to this size are kept, for requests that end within a chunk.
constexpr std::int64_t kMaxBandBytes = std::int64_t{256} << 20;

constexpr std::int64_t kPlacesAtOnce = 1024;  // that one question asks for

}  // namespace

ChunkedRows::ChunkedRows(const StoredRows& rows, std::string name, ChunkIndex index)
    : name_(std::move(name)),
      index_(std::move(index)),
      steps_(*rows.steps),
      element_bytes_(rows.facts.element_bytes()),
      rows_(rows.facts.rows()),
      columns_(rows.facts.columns()),
      chunk_rows_(rows.facts.chunk[0]),
      chunk_columns_(rows.facts.chunk.size() == 2 ? rows.facts.chunk[1] : 1) {}

bool ChunkedRows::keeps_bands() const {
  return columns_ * element_bytes_ <= kMaxBandBytes / std::min(rows_, chunk_rows_);
}

std::int64_t ChunkedRows::held_bytes() const {
  const std::int64_t band = keeps_bands() ? std::min(rows_, chunk_rows_) * columns_ * element_bytes_ : 0;
  return chunk_bytes() * (steps_.empty() ? 1 : 2) + band;
}

void ChunkedRows::read(const InputBytes& file, std::int64_t first, std::int64_t count, std::byte* out) {
  file_ = &file;
  const std::int64_t row_bytes = columns_ * element_bytes_;
  const std::int64_t end = first + count;
  for (std::int64_t row = first; row < end;) {
    const std::int64_t band = row / chunk_rows_;
    const std::int64_t band_begin = band * chunk_rows_;
    const std::int64_t band_end = std::min(rows_, band_begin + chunk_rows_);
    const std::int64_t rows = std::min(end, band_end) - row;
    const bool whole = rows == band_end - band_begin;
    if (whole || !keeps_bands()) {
      decode_rows(row, rows, out);
    } else {
      if (band_held_ != band) {
        band_held_ = -1;
        if (band_.size() < (band_end - band_begin) * row_bytes)
          band_ = Matrix<std::byte>(band_end - band_begin, row_bytes);
        decode_rows(band_begin, band_end - band_begin, band_.data());
        band_held_ = band;
      }
      std::memcpy(out, band_.data() + (row - band_begin) * row_bytes, static_cast<std::size_t>(rows * row_bytes));
    }
    out += rows * row_bytes;
    row += rows;
  }
}

void ChunkedRows::decode_rows(std::int64_t first, std::int64_t count, std::byte* out) {
  const std::int64_t chunk_row_bytes = chunk_columns_ * element_bytes_;
  const std::int64_t skipped_rows = first % chunk_rows_;
  for (std::int64_t column = 0; column < columns_; column += chunk_columns_) {
    const std::byte* from = decode_chunk(first - skipped_rows, column) + skipped_rows * chunk_row_bytes;
    std::byte* to = out + column * element_bytes_;
    const auto copied_bytes = static_cast<std::size_t>(std::min(chunk_columns_, columns_ - column) * element_bytes_);
    if (chunk_columns_ == columns_) {
      std::memcpy(to, from, copied_bytes * static_cast<std::size_t>(count));
      continue;
    }
    for (std::int64_t row = 0; row < count; ++row) {
      std::memcpy(to + row * columns_ * element_bytes_, from + row * chunk_row_bytes, copied_bytes);
    }
  }
}

const std::byte* ChunkedRows::decode_chunk(std::int64_t row, std::int64_t column) {
  const ChunkPlace place = place_of(row, column);
  if (place.begin < 0) return fill_chunk();
  // A chunk without filters has the size that it must have, whatever the file says.
  const std::int64_t size = steps_.empty() ? chunk_bytes() : place.size;
  constexpr std::int64_t kMostOverhead = 4096;  // of filters for values that they cannot compress, beside the values
  if (size <= 0 || size > 2 * chunk_bytes() + kMostOverhead || size > file_->size() - place.begin) {
    fail(
        row, column,
        fmt::format("it is declared as {} bytes from byte {} of a file of {} bytes", size, place.begin, file_->size()));
  }
  file_->read(place.begin, size, decoder_.stored(size));
  if (const std::string problem = decoder_.decode(steps_, place.skipped, chunk_bytes()); !problem.empty())
    fail(row, column, problem);
  return decoder_.decoded();
}

ChunkPlace ChunkedRows::place_of(std::int64_t row, std::int64_t column) {
  const std::int64_t across = (columns_ + chunk_columns_ - 1) / chunk_columns_;
  const std::int64_t down = (rows_ + chunk_rows_ - 1) / chunk_rows_;
  const std::int64_t chunk = row / chunk_rows_ * across + column / chunk_columns_;
  if (chunk < first_place_ || chunk >= first_place_ + std::ssize(places_)) {
    const std::int64_t count = std::min(kPlacesAtOnce, down * across - chunk);
    places_ = index_.find_chunks(chunk, count);
    first_place_ = chunk;
    if (std::ssize(places_) != count) fail(row, column, "its place in the file is unknown");
  }
  return places_[static_cast<std::size_t>(chunk - first_place_)];
}

const std::byte* ChunkedRows::fill_chunk() {
  // Read only when needed: HDF5 1.10 crashes on the fill values of some damaged files.
  if (fill_value_.empty()) fill_value_ = index_.read_fill_value();
  if (std::ssize(fill_value_) != element_bytes_)
    refuse_input(name_, "the value of chunks that were never written is damaged; copy or create the file again");
  std::byte* out = decoder_.stored(chunk_bytes());
  for (std::int64_t i = 0; i < chunk_bytes(); i += element_bytes_)
    std::memcpy(out + i, fill_value_.data(), fill_value_.size());
  return out;
}

void ChunkedRows::fail(std::int64_t row, std::int64_t column, const std::string& problem) const {
  refuse_input(name_, fmt::format("data damaged in the chunk of rows {} to {}, columns {} to {} (counted from 1): {}; "
                                  "copy or create the file again",
                                  row + 1, std::min(row + chunk_rows_, rows_), column + 1,
                                  std::min(column + chunk_columns_, columns_), problem));
}

// Decodes chunks for the HDF5 library, in memory whose size the chunk itself bounds.

namespace {

/// The most bytes that a chunk can have; 0 if it is damaged. values: those of the filter in the file.
std::int64_t decoded_limit(FilterStep::Kind kind, std::span<const std::byte> in, std::span<const unsigned> values) {
  constexpr std::int64_t kRun = 264, kRunBytes = 3;  // of lzf: the longest run, and its bytes
  if (kind == FilterStep::zstd) return zstd_content_bytes(in);
  const std::int64_t most = std::ssize(in) / kRunBytes * kRun + kRun;
  return values.size() > 2 && values[2] > 0 ? std::min<std::int64_t>(most, values[2]) : most;
}

/// H5Z_func_t: replaces the chunk in `*buffer`; returns its new size, 0 for failure.
template <FilterStep::Kind kind>
std::size_t decode(unsigned flags, std::size_t value_count, const unsigned* values, std::size_t bytes,
                   std::size_t* capacity, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;  // an optional filter then leaves the chunk as it is
  try {
    const auto* begin = static_cast<const std::byte*>(*buffer);
    const std::vector<std::byte> in(begin, begin + bytes);
    const std::int64_t limit = decoded_limit(kind, in, {values, value_count});
    if (limit <= 0 || limit > memory_limit() / 4) return 0;
    std::vector<std::byte> out;
    if (!unpack(kind, in, out, static_cast<std::size_t>(limit)).empty() || out.empty()) return 0;
    void* decoded = H5allocate_memory(out.size(), false);
    if (decoded == nullptr) return 0;
    std::memcpy(decoded, out.data(), out.size());
    H5free_memory(*buffer);
    *buffer = decoded;
    *capacity = out.size();
    return out.size();
  } catch (...) {  // no memory; nothing may be thrown through the library
    return 0;
  }
}

template <FilterStep::Kind kind>
void add(H5Z_filter_t number, const char* name) {
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, number, 1, 1, name, nullptr, nullptr, &decode<kind>};
  H5Zregister(&filter);
}

}  // namespace

void register_filters() {
  add<FilterStep::lzf>(kLzfFilter, "lzf");
  if (has_zstd()) add<FilterStep::zstd>(kZstdFilter, "zstd");
}

}  // namespace kith::data
