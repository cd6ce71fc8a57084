// The ring of page-locked buffers: threads fill one buffer while the link transfers the others.
//
// A link of PCIe 5 moves 50 GB/s; one thread copies about 10 from memory, and reads 3 to 6 from files in the page
// cache. Waking threads takes as long as copying a megabyte, so they are woken once for an upload.
#include "kernels/cuda/runtime/staging.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace kith::cuda {
namespace {

constexpr int kBuffers = 3;  // one that threads copy, one on the link, one that waits for it
constexpr std::int64_t kTaskBytes = std::int64_t{1} << 18;  // of a buffer, per thread and turn
constexpr int kMostThreads = 16;

}  // namespace

Staging::Division::Division(std::int64_t size, std::int64_t unit)
    : bytes(size),
      task(std::max(kTaskBytes / unit, std::int64_t{1}) * unit),
      tasks((size + task - 1) / task),
      part((tasks + kParts - 1) / kParts * task) {}

Staging::Staging() : threads_(std::min(kMostThreads, usable_threads())) { check(cudaGetDevice(&device_)); }

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
    buffer.memory = static_cast<std::byte*>(allocate_pages(kBufferBytes));
  }
  // Pages that threads have touched, and that are huge where the system has such, are locked in half the time of
  // cudaHostAlloc().
  staging->threads_.run(kBuffers * kParts, [&](std::int64_t task, int) {
    std::memset(staging->ring_[task / kParts].memory + task % kParts * (kBufferBytes / kParts), 0,
                kBufferBytes / kParts);
  });
  for (PinnedBuffer& buffer : staging->ring_) {
    if (cudaHostRegister(buffer.memory, kBufferBytes, cudaHostRegisterDefault) != cudaSuccess) {
      (void)cudaGetLastError();  // clears the error: the context remains usable
      return nullptr;
    }
    buffer.is_locked = true;
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
    if (buffer.is_locked) keep_first(cudaHostUnregister(buffer.memory));
    std::free(buffer.memory);
  }
  report_in_destructor(first_error);
}

Staging::PinnedBuffer& Staging::next() {
  PinnedBuffer& buffer = ring_[turn_++ % ring_.size()];
  check(cudaEventSynchronize(buffer.free()));  // returns at once if it was never recorded
  return buffer;
}

template <class Work>
void Staging::for_tasks(const Division& division, const Work& work) {
  threads_.run(division.tasks, [&](std::int64_t task, int) {
    const std::int64_t first = task * division.task;
    work(first / division.part, first, std::min(division.task, division.bytes - first));
  });
}

/// An upload in progress: threads claim tasks in order, and whoever fills the last byte of a part queues its copy.
class Staging::Upload {
 public:
  Upload(Staging& staging, cudaStream_t stream, std::byte* device, std::int64_t bytes, std::int64_t unit,
         const Fill& fill)
      : staging_(staging),
        stream_(stream),
        device_(device),
        fill_(fill),
        each_(kBufferBytes / unit * unit),
        whole_(each_, unit),
        last_(bytes - (bytes - 1) / each_ * each_, unit),
        progress_(static_cast<std::size_t>((bytes - 1) / each_ + 1)),
        tasks_((std::ssize(progress_) - 1) * whole_.tasks + last_.tasks) {}

  void run() {
    try {
      staging_.threads_.run(staging_.threads_.count(), [this](std::int64_t, int) { take_tasks(); });
    } catch (...) {
      (void)cudaStreamSynchronize(stream_);  // so that the buffers can be used again
      throw;
    }
    staging_.turn_ += progress_.size();
  }

 private:
  struct Progress {
    std::atomic<std::int64_t> filled[kParts] = {};
    std::atomic<std::int64_t> sent{0};   // bytes
    std::atomic<bool> recorded = false;  // the event behind its copies
  };

  const PinnedBuffer& buffer(std::int64_t number) const {
    return staging_.ring_[(staging_.turn_ + static_cast<std::size_t>(number)) % staging_.ring_.size()];
  }

  void take_tasks() {
    try {
      check(cudaSetDevice(staging_.device_));  // for this thread
      for (std::int64_t task = next_++; task < tasks_ && !failed_; task = next_++) work(task);
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        failed_ = true;
      }
      recorded_.notify_all();
      throw;
    }
  }
  void work(std::int64_t task) {
    const std::int64_t number = task / whole_.tasks;
    const Division& division = number + 1 == std::ssize(progress_) ? last_ : whole_;
    const std::int64_t first = task % whole_.tasks * division.task, part = first / division.part;
    const std::int64_t count = std::min(division.task, division.bytes - first);
    if (!wait_for_copy_of(number - kBuffers)) return;
    check(cudaEventSynchronize(buffer(number).free()));  // returns at once if it was never recorded
    std::byte* const memory = buffer(number).memory;
    fill_(memory + first, number * each_ + first, count);

    Progress& progress = progress_[static_cast<std::size_t>(number)];
    const std::int64_t begin = part * division.part, size = division.bytes_of(part);
    if (progress.filled[part].fetch_add(count) + count < size) return;
    check(cudaMemcpyAsync(device_ + number * each_ + begin, memory + begin, static_cast<std::size_t>(size),
                          cudaMemcpyHostToDevice, stream_));
    if (progress.sent.fetch_add(size) + size < division.bytes) return;
    check(cudaEventRecord(buffer(number).free(), stream_));
    {
      const std::lock_guard lock(mutex_);
      progress.recorded = true;
    }
    recorded_.notify_all();
  }
  /// Whether the buffer's event has been recorded; false if another thread has failed.
  bool wait_for_copy_of(std::int64_t number) {
    if (number < 0) return true;
    const Progress& progress = progress_[static_cast<std::size_t>(number)];
    if (progress.recorded) return true;
    std::unique_lock lock(mutex_);
    recorded_.wait(lock, [&] { return progress.recorded || failed_; });
    return !failed_;
  }
  Staging& staging_;
  cudaStream_t stream_;
  std::byte* device_;
  const Fill& fill_;
  std::int64_t each_;      // bytes in a buffer
  Division whole_, last_;  // of a whole buffer, and of the last one
  std::vector<Progress> progress_;
  std::int64_t tasks_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable recorded_;
};

void Staging::upload_from(cudaStream_t stream, void* device, std::int64_t bytes, std::int64_t unit, const Fill& fill) {
  if (bytes > 0) Upload(*this, stream, static_cast<std::byte*>(device), bytes, unit, fill).run();
}

void Staging::upload(cudaStream_t stream, void* device, const void* host, std::int64_t bytes) {
  upload_from(stream, device, bytes, 1, [&](std::byte* to, std::int64_t first, std::int64_t count) {
    std::memcpy(to, static_cast<const std::byte*>(host) + first, static_cast<std::size_t>(count));
  });
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
      const Division division(size_of(turn), 1);
      for (std::int64_t part = 0; part < kParts; ++part) {
        const std::int64_t begin = part * division.part, count = division.bytes_of(part);
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
      for_tasks(Division(size_of(arrived), 1), [&](std::int64_t part, std::int64_t first, std::int64_t count) {
        check(cudaEventSynchronize(buffer.copied[part]));
        std::memcpy(to + arrived * kBufferBytes + first, buffer.memory + first, static_cast<std::size_t>(count));
      });
    }
  }
}

}  // namespace kith::cuda
