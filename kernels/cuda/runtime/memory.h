// Device memory and streams as values: a pool of allocations, buffers taken from it, streams and their copies, and the
// check of every CUDA call.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include "core/error.h"

namespace kith::cuda {

/// Throws Error(device) with the name and text of the error and the place. After it the context is not used again.
void check(cudaError_t status, std::source_location where = std::source_location::current());
/// The same where nothing may be thrown: says so on standard error.
void report_in_destructor(cudaError_t status) noexcept;

/// Device memory did not suffice; the message names needed and free bytes. Nothing is lost: smaller work may succeed.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::int64_t needed, std::int64_t free);
};

/// "139.8 GiB"
std::string readable_bytes(std::int64_t bytes);

/// Allocations that are kept for the next buffer of about their size: an iteration that repeats its sizes allocates
/// nothing. All work runs on one stream, so memory given back may be taken again at once.
class Pool {
 public:
  /// limit: bytes that may be held, 0: what the device has free.
  explicit Pool(std::int64_t limit) : limit_(limit) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Throws OutOfMemory. `granted` is the size of what was taken.
  void* take(std::int64_t bytes, std::int64_t& granted);
  void give(void* memory, std::int64_t granted) noexcept;
  std::int64_t available() const;              // bytes that could be taken now
  std::int64_t peak() const { return peak_; }  // most bytes that were allocated at a time

 private:
  cudaError_t release_idle() noexcept;

  std::int64_t limit_;
  std::int64_t held_ = 0;  // allocated, in use or idle
  std::int64_t peak_ = 0;
  std::int64_t idle_ = 0;
  std::multimap<std::int64_t, void*> idle_blocks_;
};

/// `size` elements of device memory, uninitialised, taken from a pool that outlives it.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Pool& pool, std::int64_t size) : pool_(&pool), size_(size) {
    data_ = static_cast<T*>(pool.take(size * static_cast<std::int64_t>(sizeof(T)), granted_));
  }
  ~Buffer() { release(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(granted_, other.granted_);
    return *this;
  }

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  void release() noexcept {
    if (data_ != nullptr) pool_->give(data_, granted_);
    data_ = nullptr;
    size_ = 0;
  }

 private:
  Pool* pool_ = nullptr;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t granted_ = 0;
};

class Staging;

/// A queue of work on the device, and the copies and fills queued there. Large copies go through page-locked buffers.
class Stream {
 public:
  Stream();
  /// One whose copies go through the buffers of another one, which outlives it.
  explicit Stream(const Stream* beside);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }  // NOLINT: a launch takes the raw stream
  void wait() const { check(cudaStreamSynchronize(stream_)); }
  /// What is queued from now on waits for what is queued on the other stream now.
  void wait_for(const Stream& other) const;

  /// Host memory may be reused when this returns.
  template <class T>
  void upload(T* device, const T* host, std::int64_t count) const {
    copy_up(device, host, bytes<T>(count));
  }
  /// Uploads numbers as float32, in half of the time. False where one of them is none, or the copy is not worth it:
  /// then the device's are not to be used.
  bool upload_as_floats(float* device, const double* host, std::int64_t count) const;
  /// Waits for everything queued before, and for the copy.
  template <class T>
  void download(T* host, const T* device, std::int64_t count) const {
    copy_down(host, device, bytes<T>(count));
  }
  /// Every byte of `count` elements becomes `byte`.
  template <class T>
  void fill(T* device, int byte, std::int64_t count) const {
    check(cudaMemsetAsync(device, byte, static_cast<std::size_t>(bytes<T>(count)), stream_));
  }

 private:
  template <class T>
  static std::int64_t bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(T));
  }
  void copy_up(void* device, const void* host, std::int64_t bytes) const;
  void copy_down(void* host, const void* device, std::int64_t bytes) const;
  /// The buffers for a copy of this size, made for the first large one; null when the driver's own way will do.
  Staging* staging_for(std::int64_t bytes) const;

  const Stream* beside_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;  // where another stream waits for this one
  mutable std::unique_ptr<Staging> staging_;
  mutable bool staging_refused_ = false;
};

}  // namespace kith::cuda
