// Blocks of rows that are sent to the device in turn, each while the operation works on the one before.
#pragma once

#include <array>
#include <cstdint>
#include <future>

#include "core/matrix.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

/// Two places on the device take turns: while kernels read the one, a thread and a stream of its own fill the other
/// with the block that comes next, after the last one with the first. A block that is still in its place is not sent
/// again.
template <class T>
class SentBlocks {
 public:
  /// Where the blocks come from and where they are worked on; both outlive the object.
  struct Route {
    int device = 0;
    Pool& pool;
    const Stream& work;  // the stream that the kernels are queued on
    MatrixView<const T> values;
    std::int64_t block_rows = 1;
  };

  /// Throws OutOfMemory.
  explicit SentBlocks(const Route& route);
  ~SentBlocks();
  SentBlocks(const SentBlocks&) = delete;
  SentBlocks& operator=(const SentBlocks&) = delete;

  /// The values of the block that begins at row `first`, for kernels queued from now on, until the next block is asked
  /// for.
  const T* on_device(std::int64_t first);

 private:
  struct Place {
    Buffer<T> values;
    std::int64_t first = -1;  // row that its block begins at, -1: none
  };

  /// Begins to send a block to a place, behind all work that is queued now.
  void begin(Place& place, std::int64_t first);
  /// What was begun is on its way, and work queued from now on waits for it.
  void land();
  Place* holder_of(std::int64_t first);

  Route route_;
  Stream copies_;
  std::array<Place, 2> places_;
  std::future<void> sending_;
  Place* sent_to_ = nullptr;  // while `sending_` has not landed
};

}  // namespace kith::cuda
