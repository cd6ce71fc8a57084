// Rows that are not on the device, and their blocks, which are sent to it in turn, each while the operation processes
// the one before.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/row_reader.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

/// Rows in the memory of the host, or in a file.
template <class T>
struct HostRows {
  MatrixView<const T> values;   // (n, d); without memory if there is a reader
  RowReader* reader = nullptr;  // read() is called by several threads

  std::int64_t row_bytes() const { return values.columns * static_cast<std::int64_t>(sizeof(T)); }
  /// Uploads rows first .. first + count - 1. Their memory may be reused when this returns.
  void upload(const Stream& stream, T* device, std::int64_t first, std::int64_t count) const {
    if (reader == nullptr) return stream.upload(device, values.data + first * values.columns, count * values.columns);
    if (const void* const memory = reader->gpu_memory()) {
      return stream.copy(device, static_cast<const T*>(memory) + first * values.columns, count * values.columns);
    }
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
  /// Copies rows as float64. out: (places.size(), d).
  void copy_values(std::span<const std::int64_t> places, MatrixView<double> out) const {
    if (places.empty()) return;
    if (reader != nullptr && reader->gpu_memory() != nullptr) {
      const PointsMatrix found = reader->gather(places);
      std::visit([&](const auto& matrix) { std::copy_n(matrix.data(), matrix.size(), out.data); }, found);
      return;
    }
    std::vector<T> copied(static_cast<std::size_t>(values.columns));
    for (std::size_t i = 0; i < places.size(); ++i) {
      copy(places[i], reinterpret_cast<std::byte*>(copied.data()));
      std::copy(copied.begin(), copied.end(), out.row(static_cast<std::int64_t>(i)).data());
    }
  }

 private:
  void copy(std::int64_t row, std::byte* to) const {
    if (reader != nullptr) return reader->read(row, 1, to);
    std::memcpy(to, values.row(row).data(), static_cast<std::size_t>(row_bytes()));
  }
};

/// Double buffering: while kernels read one place on the device, a thread with its own stream fills the other with the
/// next block, if the operation seems to need all; the first block follows the last, unless all are used once. A block
/// that is still in a place is not sent again.
template <class T>
class SentBlocks {
 public:
  /// Where the blocks come from and go to; the references outlive the object.
  struct Route {
    int device = 0;
    Pool& pool;
    const Stream& work;  // the stream that the kernels are queued on
    HostRows<T> rows;
    std::int64_t block_rows = 1;
    std::int64_t first = 0;          // the first row that is sent, of a block
    T* all = nullptr;                // (n, d): where every block stays, in its place; null: in two places in turn
    bool once = false;               // the first block does not follow the last
    const Stream* copies = nullptr;  // for the copies, of one object at a time; null: a stream of its own
  };

  /// Throws OutOfMemory.
  explicit SentBlocks(const Route& route);
  ~SentBlocks();
  SentBlocks(const SentBlocks&) = delete;
  SentBlocks& operator=(const SentBlocks&) = delete;

  /// The values of the block that begins at row `first`. Valid for kernels queued after this call and before the next.
  const T* on_device(std::int64_t first);
  /// Whether that block is on the device already, or on its way.
  bool holds(std::int64_t first) const { return places_[0].first == first || places_[1].first == first; }

 private:
  struct Place {
    Buffer<T> values;
    std::int64_t first = -1;  // first row of its block, -1: none
  };

  T* memory_of(const Place& place) const;
  /// Starts to send a block to a place, after all work that is queued now.
  void begin(Place& place, std::int64_t first);
  /// Waits until the started copy is queued; work queued after this call waits for it on the device.
  void land();
  Place* holder_of(std::int64_t first);

  Route route_;
  std::int64_t expected_;  // the block that follows the last one; -1: none
  std::optional<Stream> own_copies_;
  const Stream& copies_;
  std::array<Place, 2> places_;
  std::future<void> sending_;
  Place* sent_to_ = nullptr;  // the place of an unfinished copy
};

}  // namespace kith::cuda
