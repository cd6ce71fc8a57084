// Memory that several devices reach: that of their peers, and page-locked memory of the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

/// Lets kernels of each device reach the memory of all others. False if some pair of them cannot.
bool make_peers(std::span<const int> devices);

/// `size` elements of host memory that kernels of all devices reach, at the rate of their links.
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

}  // namespace kith::cuda
