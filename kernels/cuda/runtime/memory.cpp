// The pool of device allocations, the copies of a stream, and the translation of CUDA errors.
#include "kernels/cuda/runtime/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/cuda/runtime/injected_fault.h"
#include "kernels/cuda/runtime/staging.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMinBytes = 16;  // of an allocation
// The pool keeps at most kMinIdleBytes and 1 / kIdleShare of the bytes in use allocated for later requests.
constexpr std::int64_t kMinIdleBytes = std::int64_t{1} << 30;  // releasing and allocating again takes 5 ms
constexpr std::int64_t kIdleShare = 16;

std::int64_t free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

cudaError_t allocate_on_device(void** memory, std::int64_t bytes) {
  if (injects_allocation_failure()) return cudaErrorMemoryAllocation;
  return cudaMalloc(memory, static_cast<std::size_t>(bytes));
}

}  // namespace

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) status = injected_call_error();
  if (status == cudaSuccess) return;
  const char* file = std::strstr(where.file_name(), "kernels/");
  // Pinned memory of the host too.
  const ExitCode code = status == cudaErrorMemoryAllocation ? ExitCode::memory : ExitCode::device;
  throw Error(code, fmt::format("cuda: {} ({}) at {}:{}; the device cannot be used further in this run",
                                cudaGetErrorName(status), cudaGetErrorString(status),
                                file != nullptr ? file : where.file_name(), where.line()));
}

void report_in_destructor(cudaError_t status) noexcept {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "kith: cuda: %s while releasing the device: %s\n", cudaGetErrorName(status),
               cudaGetErrorString(status));
}

std::string readable_bytes(std::int64_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < std::size(units); ++unit) value /= 1024.0;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

OutOfMemory::OutOfMemory(std::int64_t needed, std::int64_t free)
    : Error(ExitCode::memory,
            fmt::format("cuda: out of device memory: needed {} ({} bytes), free {} ({} bytes); stop other users of the "
                        "device, choose another one with --device, or use --backend cpu",
                        readable_bytes(needed), needed, readable_bytes(free), free)) {}

Pool::~Pool() {
  report_in_destructor(release_idle());
  if (held_ > 0)
    std::fprintf(stderr, "kith: cuda: %lld bytes of device memory outlive their pool\n", static_cast<long long>(held_));
}

void* Pool::allocate(std::int64_t bytes, std::int64_t& granted) {
  bytes = std::max(bytes, kMinBytes);
  const auto idle = idle_blocks_.lower_bound(bytes);
  if (idle != idle_blocks_.end() && idle->first / 2 <= bytes) {
    granted = idle->first;
    void* memory = idle->second;
    idle_ -= granted;
    idle_blocks_.erase(idle);
    return memory;
  }
  const std::int64_t most_idle = kMinIdleBytes + (held_ - idle_) / kIdleShare;
  if (idle_ > most_idle || (limit_ > 0 && bytes > limit_ - held_)) check(release_idle());
  if (limit_ > 0 && bytes > limit_ - held_) throw OutOfMemory(bytes, limit_ - held_);

  void* memory = nullptr;
  cudaError_t status = allocate_on_device(&memory, bytes);
  if (status == cudaErrorMemoryAllocation && idle_ > 0) {
    (void)cudaGetLastError();  // clears the error: a failed allocation leaves the context usable
    check(release_idle());
    status = allocate_on_device(&memory, bytes);
  }
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw OutOfMemory(bytes, free_bytes());
  }
  check(status);
  held_ += bytes;
  peak_ = std::max(peak_, held_);
  granted = bytes;
  return memory;
}

void Pool::recycle(void* memory, std::int64_t granted) noexcept {
  try {
    idle_blocks_.emplace(granted, memory);
    idle_ += granted;
  } catch (...) {
    held_ -= granted;
    report_in_destructor(cudaFree(memory));
  }
}

std::int64_t Pool::available() const {
  const std::int64_t free = free_bytes() + idle_;
  return limit_ > 0 ? std::min(free, limit_ - held_ + idle_) : free;
}

cudaError_t Pool::release_idle() noexcept {
  cudaError_t first_error = cudaSuccess;
  for (const auto& [bytes, memory] : idle_blocks_) {
    held_ -= bytes;
    const cudaError_t status = first_error == cudaSuccess ? cudaFree(memory) : cudaSuccess;
    if (first_error == cudaSuccess) first_error = status;
  }
  idle_blocks_.clear();
  idle_ = 0;
  return first_error;
}

Stream::Stream() : Stream(nullptr) {}

Stream::Stream(const Stream* beside) : beside_(beside) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming));
}

Stream::~Stream() {
  staging_.reset();
  report_in_destructor(cudaEventDestroy(reached_));
  report_in_destructor(cudaStreamDestroy(stream_));
}

Staging* Stream::staging_for(std::int64_t bytes) const {
  if (beside_ != nullptr) return beside_->staging_for(bytes);
  if (staging_refused_ || bytes < (staging_ ? Staging::kWorthwhileAgain : Staging::kWorthwhile)) return nullptr;
  if (!staging_) {
    staging_ = Staging::make();
    staging_refused_ = !staging_;
  }
  return staging_.get();
}

void Stream::copy_to_device(void* device, const void* host, std::int64_t bytes) const {
  if (Staging* staging = staging_for(bytes)) return staging->upload(stream_, device, host, bytes);
  check(cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream_));
}

void Stream::upload_from(void* device, std::int64_t bytes, std::int64_t unit, const Fill& fill) const {
  Staging* const staging = unit <= Staging::kBufferBytes ? staging_for(bytes) : nullptr;
  if (staging != nullptr) return staging->upload_from(stream_, device, bytes, unit, fill);
  std::vector<std::byte> host(static_cast<std::size_t>(bytes));
  fill(host.data(), 0, bytes);
  check(cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, stream_));
}

void Stream::copy_to_host(void* host, const void* device, std::int64_t bytes) const {
  if (Staging* staging = staging_for(bytes)) return staging->download(stream_, host, device, bytes);
  check(cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream_));
  wait();
}

bool make_peers(std::span<const int> devices) {
  for (const int from : devices) {
    for (const int to : devices) {
      int can = 1;
      if (from != to) check(cudaDeviceCanAccessPeer(&can, from, to));
      if (can == 0) return false;
    }
  }
  for (const int from : devices) {
    check(cudaSetDevice(from));
    for (const int to : devices) {
      if (from == to) continue;
      const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();  // clears the error, so that a later call does not report it
      } else if (status == cudaErrorTooManyPeers) {
        (void)cudaGetLastError();
        return false;
      } else {
        check(status);
      }
    }
  }
  return true;
}

}  // namespace kith::cuda
