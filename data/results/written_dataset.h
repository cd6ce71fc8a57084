// What the writer of a result remembers of a dataset: types, shape, and checksums of the written rows.
#pragma once

#include <hdf5.h>

#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_handle.h"
#include "data/io/checksum.h"

namespace kith::data {

/// The HDF5 types of a value in the file, the same on every machine, and in memory.
template <class T>
struct Stored;
template <>
struct Stored<float> {
  static hid_t file_type() { return H5T_IEEE_F32LE; }
  static hid_t memory_type() { return H5T_NATIVE_FLOAT; }
};
template <>
struct Stored<double> {
  static hid_t file_type() { return H5T_IEEE_F64LE; }
  static hid_t memory_type() { return H5T_NATIVE_DOUBLE; }
};
template <>
struct Stored<std::int32_t> {
  static hid_t file_type() { return H5T_STD_I32LE; }
  static hid_t memory_type() { return H5T_NATIVE_INT32; }
};
template <>
struct Stored<std::int64_t> {
  static hid_t file_type() { return H5T_STD_I64LE; }
  static hid_t memory_type() { return H5T_NATIVE_INT64; }
};
template <>
struct Stored<std::uint8_t> {
  static hid_t file_type() { return H5T_STD_U8LE; }
  static hid_t memory_type() { return H5T_NATIVE_UINT8; }
};

static_assert(std::endian::native == std::endian::little, "checksums are those of the bytes in memory and in the file");

/// Rows that were written one after another.
struct RowRange {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  Checksum checksum;
};

/// A dataset as the finished file must contain it.
struct Written {
  std::string name;
  hid_t file_type;
  hid_t memory_type;
  std::vector<hsize_t> shape;
  std::int64_t bytes;
  std::int64_t unwritten_rows;
  std::map<std::int64_t, RowRange> ranges;  // by their first rows
  Handle dataset;
  Handle checksum_attribute;

  void add(std::int64_t first_row, std::int64_t rows, const void* data, std::int64_t data_bytes) {
    auto next = ranges.upper_bound(first_row);
    const bool continues = next != ranges.begin() && std::prev(next)->first + std::prev(next)->second.rows == first_row;
    RowRange& range = continues ? std::prev(next)->second : ranges[first_row];
    range.rows += rows;
    range.bytes += data_bytes;
    range.checksum.add(data, static_cast<std::size_t>(data_bytes));
    unwritten_rows -= rows;
  }
  std::int64_t checksum() const {
    Checksum sum;
    for (const auto& [first, range] : ranges) sum.append(range.checksum, range.bytes);
    return sum.value();
  }
};

}  // namespace kith::data
