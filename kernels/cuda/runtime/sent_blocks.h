// Blocks of rows that are sent to the device in turn, each while the operation processes the one before.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <optional>

#include "kernels/cuda/runtime/host_rows.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

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
