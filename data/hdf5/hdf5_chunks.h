// Rows of a chunked HDF5 dataset, decoded here chunk by chunk.
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
  /// Nothing when it is not chunked, or has filters that are not undone here: H5Dread has to read such a dataset.
  /// The dataset is borrowed, `name` is for messages.
  static std::optional<ChunkedRows> open(hid_t dataset, const DatasetFacts& facts, const std::string& name);

  /// Rows first .. first + count - 1, bytes as in the file. Throws Error(data) naming the damaged chunk.
  void read(std::int64_t first, std::int64_t count, std::byte* out);

 private:
  /// Rows of one band: all columns of a chunk's rows. `first` is counted in the dataset.
  void decode_rows(std::int64_t first, std::int64_t count, std::byte* out);
  /// The whole chunk whose first value is at (row, column); valid until the next call.
  const std::byte* decode_chunk(std::int64_t row, std::int64_t column);
  /// At the size that it must have, not at the one that the file claims for it: HDF5 must have no cache for chunks
  /// here.
  const std::byte* read_plain_chunk(std::int64_t row, std::int64_t column);
  const std::byte* read_filtered_chunk(std::int64_t row, std::int64_t column);
  /// A chunk that was never written: the dataset's fill value, 0 by default.
  void fill_chunk(std::byte* out, std::int64_t bytes) const;
  [[noreturn]] void fail(std::int64_t row, std::int64_t column, const std::string& why) const;

  std::string name_;
  hid_t dataset_ = H5I_INVALID_HID;
  std::vector<FilterStep> steps_;
  std::int64_t element_bytes_ = 0, rows_ = 0, columns_ = 0, chunk_rows_ = 0, chunk_columns_ = 0;
  ChunkDecoder decoder_;
  Matrix<std::byte> band_;  // the last one of which only a part was asked for
  std::int64_t band_held_ = -1;
};

}  // namespace kith::data
