// Rows of a chunked HDF5 dataset, read and decoded chunk by chunk without the library, within known sizes. HDF5 1.10
// itself reads past the end of a damaged chunk that inflates to too few bytes, and lets one that inflates to too many
// fill the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "data/io/input_bytes.h"

namespace kith::data {

struct StoredRows;

struct FilterStep {
  enum Kind { shuffle, deflate, fletcher32, lzf, zstd } kind = shuffle;
  std::int64_t element_bytes = 1;  // of shuffle
};
constexpr FilterStep::Kind last_value(FilterStep::Kind) { return FilterStep::zstd; }
template <class Archive>
void each_field(Archive& archive, FilterStep& step) {
  archive(step.kind, step.element_bytes);
}

/// The numbers that the HDF Group has registered for filters which the library lacks and ChunkDecoder decodes; zstd
/// only if kith was built with libzstd.
constexpr int kLzfFilter = 32000, kZstdFilter = 32015;

/// Decodes deflate, lzf or zstd to at most `max_bytes` bytes. Returns a description of the damage, or "".
std::string unpack(FilterStep::Kind kind, const std::vector<std::byte>& in, std::vector<std::byte>& out,
                   std::size_t max_bytes);

/// Decodes chunks one after another and reuses its memory.
class ChunkDecoder {
 public:
  /// The buffer for a chunk of `size` stored bytes; fill it before decode().
  std::byte* stored(std::int64_t size);
  /// Inverts the steps, last first, except those whose bit is set in `skipped`. Returns a description of the damage, or
  /// "" if the chunk decodes to exactly `expected` bytes.
  std::string decode(std::span<const FilterStep> steps, std::uint32_t skipped, std::int64_t expected);
  const std::byte* decoded() const { return bytes_.data(); }

 private:
  std::string invert(const FilterStep& step, std::size_t max_bytes);

  std::vector<std::byte> bytes_;
  std::vector<std::byte> other_;  // the output of a step
};

/// Where one chunk is stored.
struct ChunkPlace {
  std::int64_t begin = -1;    // -1: the chunk was never written
  std::int64_t size = 0;      // bytes
  std::uint32_t skipped = 0;  // bit i: step i was not applied to it
};
template <class Archive>
void each_field(Archive& archive, ChunkPlace& place) {
  archive(place.begin, place.size, place.skipped);
}

/// The answers of the process that uses the library.
struct ChunkIndex {
  std::function<std::vector<ChunkPlace>(std::int64_t first, std::int64_t count)> find_chunks;
  std::function<std::string()> read_fill_value;
};

class ChunkedRows {
 public:
  /// `rows` has steps, and refusal() accepts its facts. `name` is for messages.
  ChunkedRows(const StoredRows& rows, std::string name, ChunkIndex index);

  /// Rows first .. first + count - 1 of the dataset in `file`, bytes as in the file. Throws Error(data) with the
  /// damaged chunk.
  void read(const InputBytes& file, std::int64_t first, std::int64_t count, std::byte* out);
  /// Bytes of memory that read() takes.
  std::int64_t held_bytes() const;

 private:
  std::int64_t chunk_bytes() const { return chunk_rows_ * chunk_columns_ * element_bytes_; }
  bool keeps_bands() const;
  /// Decodes rows of one band, the chunks that share the same rows. `first` is a row of the dataset.
  void decode_rows(std::int64_t first, std::int64_t count, std::byte* out);
  /// Decodes the chunk whose first value is at (row, column). Valid until the next call.
  const std::byte* decode_chunk(std::int64_t row, std::int64_t column);
  ChunkPlace place_of(std::int64_t row, std::int64_t column);
  /// Fills a chunk that was never written with the dataset's fill value.
  const std::byte* fill_chunk();
  [[noreturn]] void fail(std::int64_t row, std::int64_t column, const std::string& problem) const;

  std::string name_;
  ChunkIndex index_;
  std::vector<FilterStep> steps_;
  std::int64_t element_bytes_ = 0, rows_ = 0, columns_ = 0, chunk_rows_ = 0, chunk_columns_ = 0;
  std::vector<ChunkPlace> places_;  // of chunks from first_place_ on, in row order
  std::int64_t first_place_ = 0;
  std::string fill_value_;  // empty: not needed so far
  const InputBytes* file_ = nullptr;
  ChunkDecoder decoder_;
  Matrix<std::byte> band_;       // the last band that was read in part
  std::int64_t band_held_ = -1;  // its number
};

/// Registers lzf and, if kith was built with libzstd, zstd. For texts and whatever else the library itself reads;
/// points are decoded by ChunkDecoder. Nothing is compressed with them: what kith writes stays as it is.
void register_filters();

}  // namespace kith::data
