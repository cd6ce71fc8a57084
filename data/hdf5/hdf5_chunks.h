// Rows of a chunked HDF5 dataset, read and decoded chunk by chunk without the HDF5 library.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "data/hdf5/stored_rows.h"
#include "data/io/input_bytes.h"

namespace kith::data {

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

}  // namespace kith::data
