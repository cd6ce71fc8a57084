// Rows that are not on the device: in the memory of the host, or in a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/row_reader.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

template <class T>
struct HostRows {
  MatrixView<const T> values;   // (n, d); without memory if there is a reader
  RowReader* reader = nullptr;  // read() is called by several threads

  std::int64_t row_bytes() const { return values.columns * static_cast<std::int64_t>(sizeof(T)); }
  /// Uploads rows first .. first + count - 1. Their memory may be reused when this returns.
  void upload(const Stream& stream, T* device, std::int64_t first, std::int64_t count) const {
    if (reader == nullptr) return stream.upload(device, values.data + first * values.columns, count * values.columns);
    stream.upload_from(device, count * row_bytes(), row_bytes(),
                       [&](std::byte* to, std::int64_t byte, std::int64_t bytes) {
                         reader->read(first + byte / row_bytes(), bytes / row_bytes(), to);
                       });
  }
  /// Uploads rows first + chosen[i].
  void upload_chosen(const Stream& stream, T* device, std::int64_t first, std::span<const std::int32_t> chosen) const {
    stream.upload_from(device, std::ssize(chosen) * row_bytes(), row_bytes(),
                       [&](std::byte* to, std::int64_t byte, std::int64_t bytes) {
                         const std::int64_t begin = byte / row_bytes(), end = begin + bytes / row_bytes();
                         for (std::int64_t i = begin; i < end; ++i, to += row_bytes())
                           copy(first + chosen[static_cast<std::size_t>(i)], to);
                       });
  }
  /// Copies a row as float64.
  void copy_values(std::int64_t row, double* out) const {
    std::vector<T> copied(static_cast<std::size_t>(values.columns));
    copy(row, reinterpret_cast<std::byte*>(copied.data()));
    std::copy(copied.begin(), copied.end(), out);
  }

 private:
  void copy(std::int64_t row, std::byte* to) const {
    if (reader != nullptr) return reader->read(row, 1, to);
    std::memcpy(to, values.row(row).data(), static_cast<std::size_t>(row_bytes()));
  }
};

}  // namespace kith::cuda
