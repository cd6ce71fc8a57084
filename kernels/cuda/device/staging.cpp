// The ring of page-locked buffers: threads fill one while the others are on the link.
//
// A link of PCIe 5 moves 50 GB/s, one thread copies about 10: eight threads keep up with it.
#include "kernels/cuda/device/staging.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/device/memory.h"

namespace kith::cuda {
namespace {

constexpr int kBuffers = 3;                                 // one being copied, one on the link, one about to be
constexpr std::int64_t kTaskBytes = std::int64_t{1} << 18;  // of a buffer, per thread and turn
constexpr int kMostThreads = 8;

}  // namespace

Staging::Staging() : threads_(std::min(kMostThreads, cpu::usable_threads())) {}

std::unique_ptr<Staging> Staging::make() {
  std::unique_ptr<Staging> staging;
  try {
    staging.reset(new Staging());
  } catch (const Error&) {  // no more threads to be had
    return nullptr;
  }
  for (int i = 0; i < kBuffers; ++i) {
    PinnedBuffer& buffer = staging->ring_.emplace_back();
    check(cudaEventCreateWithFlags(&buffer.free, cudaEventDisableTiming));
    if (cudaHostAlloc(reinterpret_cast<void**>(&buffer.memory), kBufferBytes, cudaHostAllocDefault) != cudaSuccess) {
      (void)cudaGetLastError();  // a refused allocation is no damage
      return nullptr;
    }
  }
  return staging;
}

Staging::~Staging() {
  cudaError_t first_error = cudaSuccess;
  const auto keep_first = [&first_error](cudaError_t status) {
    if (first_error == cudaSuccess) first_error = status;
  };
  for (const PinnedBuffer& buffer : ring_) {
    if (buffer.free != nullptr) {
      keep_first(cudaEventSynchronize(buffer.free));  // of a run that fails between two copies
      keep_first(cudaEventDestroy(buffer.free));
    }
    if (buffer.memory != nullptr) keep_first(cudaFreeHost(buffer.memory));
  }
  report_in_destructor(first_error);
}

Staging::PinnedBuffer& Staging::next() {
  PinnedBuffer& buffer = ring_[turn_++ % ring_.size()];
  check(cudaEventSynchronize(buffer.free));  // at once when it was never recorded
  return buffer;
}

void Staging::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  threads_.run((bytes + kTaskBytes - 1) / kTaskBytes, [&](std::int64_t task, int) {
    const std::int64_t first = task * kTaskBytes;
    std::memcpy(to + first, from + first, static_cast<std::size_t>(std::min(kTaskBytes, bytes - first)));
  });
}

std::int64_t Staging::piece_bytes(std::int64_t bytes) {
  constexpr std::int64_t kPieces = 4, kLeast = std::int64_t{1} << 20;
  return std::clamp(bytes / kPieces, kLeast, kBufferBytes);
}

void Staging::upload(cudaStream_t stream, void* device, const void* host, std::int64_t bytes) {
  auto* to = static_cast<std::byte*>(device);
  const auto* from = static_cast<const std::byte*>(host);
  const std::int64_t most = piece_bytes(bytes);
  for (std::int64_t done = 0; done < bytes; done += most) {
    const std::int64_t piece = std::min(most, bytes - done);
    PinnedBuffer& buffer = next();
    copy(buffer.memory, from + done, piece);
    check(cudaMemcpyAsync(to + done, buffer.memory, static_cast<std::size_t>(piece), cudaMemcpyHostToDevice, stream));
    check(cudaEventRecord(buffer.free, stream));
  }
}

void Staging::download(cudaStream_t stream, void* host, const void* device, std::int64_t bytes) {
  auto* to = static_cast<std::byte*>(host);
  const auto* from = static_cast<const std::byte*>(device);
  const std::int64_t most = piece_bytes(bytes), pieces = (bytes + most - 1) / most;
  const auto size_of_piece = [&](std::int64_t piece) { return std::min(most, bytes - piece * most); };
  // The link runs ahead of the threads by all buffers but the one that they copy from.
  constexpr std::int64_t kAhead = kBuffers - 1;
  for (std::int64_t piece = 0; piece < pieces + kAhead; ++piece) {
    if (piece < pieces) {
      PinnedBuffer& buffer = ring_[static_cast<std::size_t>(piece % kBuffers)];
      check(cudaEventSynchronize(buffer.free));
      check(cudaMemcpyAsync(buffer.memory, from + piece * most, static_cast<std::size_t>(size_of_piece(piece)),
                            cudaMemcpyDeviceToHost, stream));
      check(cudaEventRecord(buffer.free, stream));
    }
    if (const std::int64_t arrived = piece - kAhead; arrived >= 0) {
      PinnedBuffer& buffer = ring_[static_cast<std::size_t>(arrived % kBuffers)];
      check(cudaEventSynchronize(buffer.free));
      copy(to + arrived * most, buffer.memory, size_of_piece(arrived));
    }
  }
}

}  // namespace kith::cuda
