// Reads the stored bytes of chunks, whose places the HDF5 library gives, and checks their size before decoding.
#include "data/hdf5/hdf5_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "data/io/input_error.h"

namespace kith::data {
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

}  // namespace kith::data
