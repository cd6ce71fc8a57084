// Rows of a chunked HDF5 dataset, decoded chunk by chunk without HDF5's filters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "data/hdf5/chunk_filters.h"
#include "data/hdf5/hdf5_inspect.h"

namespace kith::data {

class ChunkedRows {
 public:
  /// nullopt if it is not chunked, or has filters other than those of ChunkDecoder, so that H5Dread has to read it.
  /// `dataset` must stay open; `name` is for messages.
  static std::optional<ChunkedRows> open(hid_t dataset, const DatasetFacts& facts, const std::string& name);

  /// Rows first .. first + count - 1, bytes as in the file. Throws Error(data) with the damaged chunk.
  void read(std::int64_t first, std::int64_t count, std::byte* out);

 private:
  /// Decodes rows of one band, the chunks that share the same rows. `first` is a row of the dataset.
  void decode_rows(std::int64_t first, std::int64_t count, std::byte* out);
  /// Decodes the chunk whose first value is at (row, column). Valid until the next call.
  const std::byte* decode_chunk(std::int64_t row, std::int64_t column);
  /// Reads with the size that the chunk must have, not with the size in the file. HDF5 must not cache chunks then.
  const std::byte* read_plain_chunk(std::int64_t row, std::int64_t column);
  const std::byte* read_filtered_chunk(std::int64_t row, std::int64_t column);
  /// Fills a chunk that was never written with the dataset's fill value, 0 by default.
  void fill_chunk(std::byte* out, std::int64_t bytes) const;
  [[noreturn]] void fail(std::int64_t row, std::int64_t column, const std::string& problem) const;

  std::string name_;
  hid_t dataset_ = H5I_INVALID_HID;
  std::vector<FilterStep> steps_;
  std::int64_t element_bytes_ = 0, rows_ = 0, columns_ = 0, chunk_rows_ = 0, chunk_columns_ = 0;
  ChunkDecoder decoder_;
  Matrix<std::byte> band_;       // the last band that was read in part
  std::int64_t band_held_ = -1;  // its number
};

}  // namespace kith::data
