// Reads the stored bytes of chunks from HDF5, and checks their size before decoding.
#include "data/hdf5/hdf5_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/io/input_error.h"

namespace kith::data {
namespace {

// Bands of chunks up to this size are kept, for requests that end within a chunk.
constexpr std::int64_t kMaxBandBytes = std::int64_t{256} << 20;

std::optional<FilterStep> step_of(hid_t creation, unsigned index) {
  unsigned flags = 0;
  unsigned config = 0;
  unsigned values[8] = {};
  std::size_t value_count = std::size(values);
  switch (H5Pget_filter2(creation, index, &flags, &value_count, values, 0, nullptr, &config)) {
    case H5Z_FILTER_DEFLATE:
      return FilterStep{FilterStep::deflate};
    case H5Z_FILTER_FLETCHER32:
      return FilterStep{FilterStep::fletcher32};
    case H5Z_FILTER_SHUFFLE:
      return FilterStep{FilterStep::shuffle, value_count > 0 ? std::int64_t{values[0]} : 1};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ChunkedRows> ChunkedRows::open(hid_t dataset, const DatasetFacts& facts, const std::string& name) {
  if (!facts.chunked) return std::nullopt;
  const Handle creation(H5Dget_create_plist(dataset));
  unsigned options = 0;
  // Partial chunks at the edge can be stored unfiltered, and nothing in the file marks them.
  if (H5Pget_chunk_opts(creation.get(), &options) < 0 || (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0)
    return std::nullopt;
  ChunkedRows result;
  for (std::size_t i = 0; i < facts.info.filters.size(); ++i) {
    const auto step = step_of(creation.get(), static_cast<unsigned>(i));
    if (!step) return std::nullopt;
    result.steps_.push_back(*step);
  }
  result.name_ = name;
  result.dataset_ = dataset;
  result.element_bytes_ = size_of(facts.element->number);
  result.rows_ = facts.rows();
  result.columns_ = facts.columns();
  result.chunk_rows_ = facts.chunk[0];
  result.chunk_columns_ = facts.chunk.size() == 2 ? facts.chunk[1] : 1;
  return result;
}

void ChunkedRows::read(std::int64_t first, std::int64_t count, std::byte* out) {
  const std::int64_t row_bytes = columns_ * element_bytes_;
  const std::int64_t end = first + count;
  for (std::int64_t row = first; row < end;) {
    const std::int64_t band = row / chunk_rows_;
    const std::int64_t band_begin = band * chunk_rows_;
    const std::int64_t band_end = std::min(rows_, band_begin + chunk_rows_);
    const std::int64_t rows = std::min(end, band_end) - row;
    const bool whole = rows == band_end - band_begin;
    if (whole || row_bytes > kMaxBandBytes / (band_end - band_begin)) {
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
  return steps_.empty() ? read_plain_chunk(row, column) : read_filtered_chunk(row, column);
}

const std::byte* ChunkedRows::read_plain_chunk(std::int64_t row, std::int64_t column) {
  const hsize_t start[2] = {static_cast<hsize_t>(row), static_cast<hsize_t>(column)};
  const hsize_t whole[2] = {static_cast<hsize_t>(chunk_rows_), static_cast<hsize_t>(chunk_columns_)};
  const hsize_t inside[2] = {static_cast<hsize_t>(std::min(chunk_rows_, rows_ - row)),
                             static_cast<hsize_t>(std::min(chunk_columns_, columns_ - column))};
  const hsize_t origin[2] = {0, 0};
  const Handle type(H5Dget_type(dataset_));
  const Handle in_file(H5Dget_space(dataset_));
  const Handle in_memory(H5Screate_simple(H5Sget_simple_extent_ndims(in_file.get()), whole, nullptr));
  if (H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, inside, nullptr) < 0 ||
      H5Sselect_hyperslab(in_memory.get(), H5S_SELECT_SET, origin, nullptr, inside, nullptr) < 0 ||
      H5Dread(dataset_, type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT,
              decoder_.stored(chunk_rows_ * chunk_columns_ * element_bytes_)) < 0) {
    fail(row, column, hdf5_reason());
  }
  return decoder_.decoded();
}

const std::byte* ChunkedRows::read_filtered_chunk(std::int64_t row, std::int64_t column) {
  const std::int64_t expected = chunk_rows_ * chunk_columns_ * element_bytes_;
  const hsize_t offset[2] = {static_cast<hsize_t>(row), static_cast<hsize_t>(column)};
  hsize_t size = 0;  // stays 0 for a chunk that was never written; some versions of HDF5 report an error for it
  if (H5Dget_chunk_storage_size(dataset_, offset, &size) < 0) {
    const std::string reason = hdf5_reason();
    if (reason.find("not allocated") == reason.npos) fail(row, column, reason);
    size = 0;
  }
  if (size == 0) {
    fill_chunk(decoder_.stored(expected), expected);
    return decoder_.decoded();
  }
  std::uint32_t skipped = 0;
  if (H5Dread_chunk(dataset_, H5P_DEFAULT, offset, &skipped, decoder_.stored(static_cast<std::int64_t>(size))) < 0) {
    fail(row, column, hdf5_reason());
  }
  const std::string problem = decoder_.decode(steps_, skipped, expected);
  if (!problem.empty()) fail(row, column, problem);
  return decoder_.decoded();
}

void ChunkedRows::fill_chunk(std::byte* out, std::int64_t bytes) const {
  // Read only when needed: HDF5 1.10 crashes on the fill values of some damaged files.
  std::vector<std::byte> value(static_cast<std::size_t>(element_bytes_));
  const Handle creation(H5Dget_create_plist(dataset_));
  H5D_fill_value_t kind = H5D_FILL_VALUE_DEFAULT;
  H5Pfill_value_defined(creation.get(), &kind);
  if (kind == H5D_FILL_VALUE_USER_DEFINED) {
    const Handle type(H5Dget_type(dataset_));
    H5Pget_fill_value(creation.get(), type.get(), value.data());
  }
  for (std::int64_t i = 0; i < bytes; i += element_bytes_) std::memcpy(out + i, value.data(), value.size());
}

void ChunkedRows::fail(std::int64_t row, std::int64_t column, const std::string& problem) const {
  refuse_input(name_,
               fmt::format("data damaged in chunk ({}, {}), rows {} to {}, columns {} to {} (counted from 0): {}; "
                           "copy or create the file again",
                           row / chunk_rows_, column / chunk_columns_, row, std::min(row + chunk_rows_, rows_) - 1,
                           column, std::min(column + chunk_columns_, columns_) - 1, problem));
}

}  // namespace kith::data
