// Large copies between ordinary host memory and the device, through a ring of page-locked buffers.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/runtime/threads.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

/// The device reads and writes page-locked memory at the full rate of its link while the host continues. Threads copy
/// between these buffers and the caller's memory, one buffer while the link transfers the others. Not thread-safe.
class Staging {
 public:
  static constexpr std::int64_t kBufferBytes = std::int64_t{16} << 20;
  /// Bytes below which a copy by the driver costs no more than making the buffers.
  static constexpr std::int64_t kWorthwhile = std::int64_t{32} << 20;
  /// The same once the buffers exist.
  static constexpr std::int64_t kWorthwhileAgain = std::int64_t{1} << 20;

  /// Null if page-locked memory is not available; the driver can still copy.
  static std::unique_ptr<Staging> make();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Queues copies of the bytes that `fill` writes, a multiple of `unit` each time. Rethrows its exceptions; the device
  /// memory is then undefined.
  void upload_from(cudaStream_t stream, void* device, std::int64_t bytes, std::int64_t unit, const Fill& fill);
  /// Queues copies on a stream, in order. Host memory may be reused when this returns; the link may still transfer the
  /// last buffers.
  void upload(cudaStream_t stream, void* device, const void* host, std::int64_t bytes);
  /// Waits for all work queued before, and for the copy.
  void download(cudaStream_t stream, void* host, const void* device, std::int64_t bytes);

 private:
  /// Parts of a buffer are sent separately, so that threads and link work at the same time.
  static constexpr std::int64_t kParts = 4;
  /// The bytes of a buffer in tasks, and these in parts.
  struct Division {
    Division(std::int64_t bytes, std::int64_t unit);
    std::int64_t bytes, task, tasks;
    std::int64_t part;  // bytes of each part except the last
    std::int64_t bytes_of(std::int64_t p) const { return std::clamp<std::int64_t>(bytes - p * part, 0, part); }
  };
  class Upload;
  struct PinnedBuffer {
    std::byte* memory = nullptr;
    bool is_locked = false;
    cudaEvent_t copied[kParts] = {};  // recorded after each part; the last one also after the last use of the buffer
    cudaEvent_t free() const { return copied[kParts - 1]; }
  };
  Staging();
  /// The next buffer of the ring. Waits until the link has finished with it.
  PinnedBuffer& next();
  /// Calls work(part, first byte, bytes) for all tasks of a buffer's `bytes` on the threads, which are woken once.
  template <class Work>
  void for_tasks(const Division& division, const Work& work);

  int device_ = 0;
  Threads threads_;
  std::vector<PinnedBuffer> ring_;
  std::size_t turn_ = 0;
};

}  // namespace kith::cuda
