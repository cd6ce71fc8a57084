// Large copies between ordinary host memory and the device, through a ring of page-locked buffers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/runtime/threads.h"

namespace kith::cuda {

/// The device reads and writes page-locked memory at the full rate of its link, and while the host goes on. Threads
/// copy between it and the caller's memory; one buffer is copied while the others are on the link. Not thread-safe.
class Staging {
 public:
  static constexpr std::int64_t kBufferBytes = std::int64_t{16} << 20;
  /// Below this the driver's own way costs no more than making the buffers.
  static constexpr std::int64_t kWorthwhile = std::int64_t{32} << 20;
  /// The same once the buffers are there.
  static constexpr std::int64_t kWorthwhileAgain = std::int64_t{1} << 20;

  /// Null where page-locked memory cannot be had: the driver's own way still works then.
  static std::unique_ptr<Staging> make();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies are queued on a stream, in order. Host memory may be reused when this returns; the last buffers may still
  /// be on the link.
  void upload(cudaStream_t stream, void* device, const void* host, std::int64_t bytes);
  /// The same of numbers that travel as float32. False where one of them is none: then the device's are not to be used.
  bool upload_as_floats(cudaStream_t stream, float* device, const double* host, std::int64_t count);
  /// Waits for everything queued before, and for the copy.
  void download(cudaStream_t stream, void* host, const void* device, std::int64_t bytes);

 private:
  /// Parts of a buffer travel by themselves, so that threads and link work at the same time.
  static constexpr std::int64_t kParts = 4;
  struct PinnedBuffer {
    std::byte* memory = nullptr;
    cudaEvent_t there[kParts] = {};  // recorded behind each part; the last one also behind the buffer's last use
    cudaEvent_t free() const { return there[kParts - 1]; }
  };
  Staging();
  /// The next buffer of the ring, once the link is done with it.
  PinnedBuffer& next();
  /// work(part, first byte, bytes) on all tasks of a buffer's `bytes`, shared out among the threads, which wake up
  /// once.
  template <class Work>
  void for_tasks(std::int64_t bytes, const Work& work);
  /// Uploads what fill(to, first byte, bytes) writes.
  template <class Fill>
  void send(cudaStream_t stream, void* device, std::int64_t bytes, const Fill& fill);

  int device_ = 0;
  cpu::Threads threads_;
  std::vector<PinnedBuffer> ring_;
  std::size_t turn_ = 0;
};

}  // namespace kith::cuda
