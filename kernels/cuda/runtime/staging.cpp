// The ring of page-locked buffers: threads fill one buffer while the link transfers the others.
//
// A link of PCIe 5 moves 50 GB/s, one thread copies about 10: eight threads keep up with it. Waking them takes as long
// as copying a megabyte, so they are woken once for a whole buffer.
#include "kernels/cuda/runtime/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {
namespace {

constexpr int kBuffers = 3;  // one that threads copy, one on the link, one that waits for it
constexpr std::int64_t kTaskBytes = std::int64_t{1} << 17;  // of a buffer, per thread and turn
constexpr int kMostThreads = 8;

std::int64_t tasks_of(std::int64_t bytes) { return (bytes + kTaskBytes - 1) / kTaskBytes; }

/// Tasks of each part of a buffer's `bytes`, except the last.
std::int64_t part_tasks(std::int64_t bytes, std::int64_t parts) { return (tasks_of(bytes) + parts - 1) / parts; }

}  // namespace

Staging::Staging() : threads_(std::min(kMostThreads, cpu::usable_threads())) { check(cudaGetDevice(&device_)); }

std::unique_ptr<Staging> Staging::make() {
  std::unique_ptr<Staging> staging;
  try {
    staging.reset(new Staging());
  } catch (const Error&) {  // no more threads are available
    return nullptr;
  }
  for (int i = 0; i < kBuffers; ++i) {
    PinnedBuffer& buffer = staging->ring_.emplace_back();
    for (cudaEvent_t& copied : buffer.copied) check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    if (cudaHostAlloc(reinterpret_cast<void**>(&buffer.memory), kBufferBytes, cudaHostAllocDefault) != cudaSuccess) {
      (void)cudaGetLastError();  // clears the error: a failed allocation leaves the context usable
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
    for (const cudaEvent_t copied : buffer.copied) {
      if (copied == nullptr) continue;
      keep_first(cudaEventSynchronize(copied));  // a run may fail between two copies
      keep_first(cudaEventDestroy(copied));
    }
    if (buffer.memory != nullptr) keep_first(cudaFreeHost(buffer.memory));
  }
  report_in_destructor(first_error);
}

Staging::PinnedBuffer& Staging::next() {
  PinnedBuffer& buffer = ring_[turn_++ % ring_.size()];
  check(cudaEventSynchronize(buffer.free()));  // returns at once if it was never recorded
  return buffer;
}

template <class Work>
void Staging::for_tasks(std::int64_t bytes, const Work& work) {
  const std::int64_t in_part = part_tasks(bytes, kParts);
  threads_.run(tasks_of(bytes), [&](std::int64_t task, int) {
    const std::int64_t first = task * kTaskBytes;
    work(task / in_part, first, std::min(kTaskBytes, bytes - first));
  });
}

template <class Fill>
void Staging::send(cudaStream_t stream, void* device, std::int64_t bytes, const Fill& fill) {
  for (std::int64_t done = 0; done < bytes; done += kBufferBytes) {
    auto* to = static_cast<std::byte*>(device) + done;
    const std::int64_t here = std::min(kBufferBytes, bytes - done), in_part = part_tasks(here, kParts) * kTaskBytes;
    const PinnedBuffer& buffer = next();
    std::atomic<std::int64_t> filled[kParts] = {};
    for_tasks(here, [&](std::int64_t part, std::int64_t first, std::int64_t count) {
      fill(buffer.memory + first, done + first, count);
      const std::int64_t begin = part * in_part, whole = std::min(in_part, here - begin);
      if (filled[part].fetch_add(count) + count < whole) return;
      check(cudaSetDevice(device_));  // for this thread
      check(cudaMemcpyAsync(to + begin, buffer.memory + begin, static_cast<std::size_t>(whole), cudaMemcpyHostToDevice,
                            stream));
    });
    check(cudaEventRecord(buffer.free(), stream));
  }
}

void Staging::upload(cudaStream_t stream, void* device, const void* host, std::int64_t bytes) {
  send(stream, device, bytes, [&](std::byte* to, std::int64_t first, std::int64_t count) {
    std::memcpy(to, static_cast<const std::byte*>(host) + first, static_cast<std::size_t>(count));
  });
}

bool Staging::upload_as_floats(cudaStream_t stream, float* device, const double* host, std::int64_t count) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(float));
  std::atomic<bool> exact = true;
  send(stream, device, count * kBytes, [&](std::byte* to, std::int64_t first, std::int64_t bytes) {
    const double* from = host + first / kBytes;
    auto* values = reinterpret_cast<float*>(to);
    bool same = true;
    for (std::int64_t i = 0; i < bytes / kBytes; ++i) {
      values[i] = static_cast<float>(from[i]);
      same = same & (static_cast<double>(values[i]) == from[i]);  // & avoids a branch
    }
    if (!same) exact = false;
  });
  return exact;
}

void Staging::download(cudaStream_t stream, void* host, const void* device, std::int64_t bytes) {
  auto* to = static_cast<std::byte*>(host);
  const auto* from = static_cast<const std::byte*>(device);
  const std::int64_t turns = (bytes + kBufferBytes - 1) / kBufferBytes;
  const auto size_of = [&](std::int64_t turn) { return std::min(kBufferBytes, bytes - turn * kBufferBytes); };
  const auto buffer_of = [&, first = turn_](std::int64_t turn) -> const PinnedBuffer& {
    return ring_[(first + static_cast<std::size_t>(turn)) % ring_.size()];
  };
  // The link runs ahead of the threads by all buffers except the one that they copy from.
  constexpr std::int64_t kAhead = kBuffers - 1;
  for (std::int64_t turn = 0; turn < turns + kAhead; ++turn) {
    if (turn < turns) {
      const PinnedBuffer& buffer = next();
      const std::int64_t here = size_of(turn), in_part = part_tasks(here, kParts) * kTaskBytes;
      for (std::int64_t part = 0; part < kParts; ++part) {
        const std::int64_t begin = std::min(part * in_part, here), count = std::min(in_part, here - begin);
        if (count > 0) {
          check(cudaMemcpyAsync(buffer.memory + begin, from + turn * kBufferBytes + begin,
                                static_cast<std::size_t>(count), cudaMemcpyDeviceToHost, stream));
        }
        check(cudaEventRecord(buffer.copied[part], stream));
      }
    }
    if (const std::int64_t arrived = turn - kAhead; arrived >= 0) {
      const PinnedBuffer& buffer = buffer_of(arrived);
      check(cudaEventSynchronize(buffer.copied[0]));  // before the threads are woken
      for_tasks(size_of(arrived), [&](std::int64_t part, std::int64_t first, std::int64_t count) {
        check(cudaEventSynchronize(buffer.copied[part]));
        std::memcpy(to + arrived * kBufferBytes + first, buffer.memory + first, static_cast<std::size_t>(count));
      });
    }
  }
}

}  // namespace kith::cuda
