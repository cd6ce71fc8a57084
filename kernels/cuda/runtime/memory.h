// Device memory and streams as values: a pool of allocations, buffers from the pool, streams with their copies, memory
// that several devices reach, and the check of every CUDA call.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"

namespace kith::cuda {

/// Throws Error(device), or Error(memory) if memory is short, with the name and text of the error and the source
/// location. The context is unusable afterwards.
void check(cudaError_t status, std::source_location where = std::source_location::current());
/// The same for destructors, which must not throw: prints the error to standard error.
void report_in_destructor(cudaError_t status) noexcept;

/// Device memory did not suffice; the message names needed and free bytes. The device stays usable.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::int64_t needed, std::int64_t free);
};

/// "139.8 GiB"
std::string readable_bytes(std::int64_t bytes);

/// Keeps freed allocations for the next buffer of about the same size: an iteration that repeats its sizes allocates
/// nothing. All work runs on one stream, so recycled memory can be reused at once.
class Pool {
 public:
  /// limit: bytes that the pool may allocate; 0: all free memory of the device.
  explicit Pool(std::int64_t limit) : limit_(limit) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Throws OutOfMemory. granted: the size of the allocation, out.
  void* allocate(std::int64_t bytes, std::int64_t& granted);
  void recycle(void* memory, std::int64_t granted) noexcept;
  std::int64_t available() const;              // bytes that can be allocated now
  std::int64_t peak() const { return peak_; }  // most bytes that were allocated at once

 private:
  cudaError_t release_idle() noexcept;

  std::int64_t limit_;
  std::int64_t held_ = 0;  // allocated, in use or idle
  std::int64_t peak_ = 0;
  std::int64_t idle_ = 0;
  std::multimap<std::int64_t, void*> idle_blocks_;
};

/// `size` uninitialised elements of device memory, mostly from a pool that outlives the buffer.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Pool& pool, std::int64_t size) : pool_(&pool), size_(size) {
    data_ = static_cast<T*>(pool.allocate(size * static_cast<std::int64_t>(sizeof(T)), granted_));
  }
  /// Memory of another owner, which outlives the buffer.
  Buffer(T* borrowed, std::int64_t size) : data_(borrowed), size_(size) {}
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
    if (data_ != nullptr && pool_ != nullptr) pool_->recycle(data_, granted_);
    data_ = nullptr;
    size_ = 0;
  }

 private:
  Pool* pool_ = nullptr;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t granted_ = 0;
};

/// Lets kernels of each device reach the memory of all others. False if some pair of them cannot.
bool make_peers(std::span<const int> devices);

/// `size` elements of page-locked host memory that kernels of all devices reach, at the rate of their links.
template <class T>
class PageLocked {
 public:
  PageLocked() = default;
  /// Throws Error(device) if there is no such memory.
  explicit PageLocked(std::int64_t size) : size_(size) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, static_cast<std::size_t>(size) * sizeof(T), cudaHostAllocPortable));
    data_ = static_cast<T*>(memory);
  }
  ~PageLocked() {
    if (data_ != nullptr) report_in_destructor(cudaFreeHost(data_));
  }
  PageLocked(PageLocked&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  PageLocked& operator=(PageLocked&&) = delete;

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

class Staging;

/// Writes bytes first .. first + count - 1 of what is uploaded.
using Fill = std::function<void(std::byte* to, std::int64_t first, std::int64_t count)>;

/// A queue of work on the device, with copies and fills. Large copies go through page-locked buffers.
class Stream {
 public:
  Stream();
  /// A stream that shares the page-locked buffers of another one, which outlives it.
  explicit Stream(const Stream* beside);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }  // NOLINT: a launch takes the raw stream
  void wait() const { check(cudaStreamSynchronize(stream_)); }
  /// Work queued after this call waits for the work that is on the other stream now.
  void wait_for(const Stream& other) const {
    other.mark();
    wait_for_mark(other);
  }
  /// Work queued after wait_for_mark() waits for the work that is on the other stream at its last mark().
  void mark() const { check(cudaEventRecord(reached_, stream_)); }
  void wait_for_mark(const Stream& other) const { check(cudaStreamWaitEvent(stream_, other.reached_, 0)); }

  /// Host memory may be reused when this returns.
  template <class T>
  void upload(T* device, const T* host, std::int64_t count) const {
    copy_to_device(device, host, bytes<T>(count));
  }
  /// Queues a copy of memory that some device of the process has.
  template <class T>
  void copy(T* to, const T* from, std::int64_t count) const {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes<T>(count)), cudaMemcpyDefault, stream_));
  }
  /// Uploads what `fill` writes, which several threads call, for a multiple of `unit` bytes each time. Rethrows its
  /// exceptions.
  void upload_from(void* device, std::int64_t bytes, std::int64_t unit, const Fill& fill) const;
  /// Waits for all work queued before, and for the copy.
  template <class T>
  void download(T* host, const T* device, std::int64_t count) const {
    copy_to_host(host, device, bytes<T>(count));
  }
  /// Sets every byte of `count` elements to `byte`.
  template <class T>
  void fill(T* device, int byte, std::int64_t count) const {
    check(cudaMemsetAsync(device, byte, static_cast<std::size_t>(bytes<T>(count)), stream_));
  }

 private:
  template <class T>
  static std::int64_t bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(T));
  }
  void copy_to_device(void* device, const void* host, std::int64_t bytes) const;
  void copy_to_host(void* host, const void* device, std::int64_t bytes) const;
  /// The buffers for a copy of this size, made for the first large copy; null when the driver should copy directly.
  Staging* staging_for(std::int64_t bytes) const;

  const Stream* beside_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;  // recorded where another stream waits for this one
  mutable std::unique_ptr<Staging> staging_;
  mutable bool staging_refused_ = false;
};

}  // namespace kith::cuda
